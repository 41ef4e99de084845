"""The location-aware Zenoh session: the same operations, with places.

```python
with zonal.open(position=(45.4642, 9.19)) as session:
    session.put("city/airquality", {"pm10": 21})
```
"""

from zonal.runtime import Overflow
from zonal.session.announcements import AnnouncementCounters
from zonal.session.config import ZENOH_PATHS, Mode, check_mode, config, zenoh_value
from zonal.session.content import LONGEST_ENCODING
from zonal.session.fence import Fence
from zonal.session.gathering import Gathering
from zonal.session.geo_context import GeoContext
from zonal.session.interest import Detail, Interest
from zonal.session.keyring import Keyring
from zonal.session.liveliness import (
    Liveliness,
    Presence,
    PresenceSubscriber,
    PresenceToken,
)
from zonal.session.moment import rfc3339
from zonal.session.nearest import NearSample, Neighbours
from zonal.session.opening import open  # noqa: A004  (Zenoh's own name)
from zonal.session.past_messages import PastMessages
from zonal.session.position import Position
from zonal.session.publisher import Memory, Publisher
from zonal.session.querier import DEFAULT_TIMEOUT_S, Querier, is_admin
from zonal.session.queryable import Query, Queryable
from zonal.session.recovery import Recovery
from zonal.session.replies import Replies, ReplyFailure
from zonal.session.router import DEFAULT_ENDPOINT, Router
from zonal.session.sample import Sample, Source
from zonal.session.sample_columns import SampleColumns
from zonal.session.scope import Scope
from zonal.session.security import Security, read_users, refuse_open_listeners
from zonal.session.services import AttestationService, KeyService
from zonal.session.session import Session
from zonal.session.stamps import micros_of_stamp, ntp64_of, stamp_from_parts, stamp_parts
from zonal.session.subscriber import Counters, PullSubscriber, Subscriber
from zonal.session.wish import Wish

__all__ = [
    "DEFAULT_ENDPOINT",
    "DEFAULT_TIMEOUT_S",
    "LONGEST_ENCODING",
    "ZENOH_PATHS",
    "AnnouncementCounters",
    "AttestationService",
    "Counters",
    "Detail",
    "Fence",
    "Gathering",
    "GeoContext",
    "Interest",
    "KeyService",
    "Keyring",
    "Liveliness",
    "Memory",
    "Mode",
    "NearSample",
    "Neighbours",
    "Overflow",
    "PastMessages",
    "Position",
    "Presence",
    "PresenceSubscriber",
    "PresenceToken",
    "Publisher",
    "PullSubscriber",
    "Querier",
    "Query",
    "Queryable",
    "Recovery",
    "Replies",
    "ReplyFailure",
    "Router",
    "Sample",
    "SampleColumns",
    "Scope",
    "Security",
    "Session",
    "Source",
    "Subscriber",
    "Wish",
    "check_mode",
    "config",
    "is_admin",
    "micros_of_stamp",
    "ntp64_of",
    "open",
    "read_users",
    "refuse_open_listeners",
    "rfc3339",
    "stamp_from_parts",
    "stamp_parts",
    "zenoh_value",
]
