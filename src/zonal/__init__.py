"""Location-aware publish/subscribe, query and history on stock Eclipse Zenoh.

```python
import zonal

with zonal.open(position=(45.4642, 9.19)) as session:
    session.put("city/airquality", {"pm10": 21})
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal.face import loaded_late

if TYPE_CHECKING:
    from zonal.border import FenceEvent
    from zonal.errors import (
        AttachmentError,
        AttestationError,
        ClosedError,
        ConfigurationError,
        ContentEncodingError,
        EncodingError,
        FenceError,
        GeometryError,
        LocationKeyError,
        NetworkError,
        PayloadError,
        PositionError,
        SealError,
        StoreError,
        TopicError,
        TrustError,
        ZonalError,
    )
    from zonal.geo import Area, Box, Circle, Everywhere, MultiPolygon, Point, Polygon
    from zonal.keys import BloomDomain, BloomEncoding, register_encoding
    from zonal.session import (
        Memory,
        Overflow,
        PastMessages,
        Recovery,
        Router,
        Sample,
        Security,
        Session,
        Subscriber,
        config,
        open,  # noqa: A004
    )
    from zonal.store import Store
else:
    __getattr__ = loaded_late(__name__)

__version__ = "0.2.0"

__all__ = [
    "Area",
    "AttachmentError",
    "AttestationError",
    "BloomDomain",
    "BloomEncoding",
    "Box",
    "Circle",
    "ClosedError",
    "ConfigurationError",
    "ContentEncodingError",
    "EncodingError",
    "Everywhere",
    "FenceError",
    "FenceEvent",
    "GeometryError",
    "LocationKeyError",
    "Memory",
    "MultiPolygon",
    "NetworkError",
    "Overflow",
    "PastMessages",
    "PayloadError",
    "Point",
    "Polygon",
    "PositionError",
    "Recovery",
    "Router",
    "Sample",
    "SealError",
    "Security",
    "Session",
    "Store",
    "StoreError",
    "Subscriber",
    "TopicError",
    "TrustError",
    "ZonalError",
    "__version__",
    "config",
    "open",
    "register_encoding",
]


def __dir__() -> list[str]:
    """The face, loaded or not."""
    return sorted({*globals(), *__all__})
