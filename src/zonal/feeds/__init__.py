"""Feeds: the world's data onto the network, with places. `zonal feed` is on top of it.

Each format is a reader from bytes to observations (`gtfs`, `air`, `moving`, `files`), or from what
a receiver or a broker says by itself (`receiver`, `owntracks`). `kinds` names them and reads files
and addresses, the latter by `polite`; `publishing` puts observations on a session.
"""

from zonal.feeds.gtfs import read_routes
from zonal.feeds.kinds import KINDS, LIVE, FeedKind, FeedSource
from zonal.feeds.observation import Observation
from zonal.feeds.publishing import FeedPublisher, value_of_observation
from zonal.feeds.receiver import ReceiverPosition, read_gpsd, read_nmea

__all__ = [
    "KINDS",
    "LIVE",
    "FeedKind",
    "FeedPublisher",
    "FeedSource",
    "Observation",
    "ReceiverPosition",
    "read_gpsd",
    "read_nmea",
    "read_routes",
    "value_of_observation",
]
