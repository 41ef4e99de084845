"""Which subscriptions want this message? A topic tree and a raster answer."""

from zonal.index.chunks import sequences_meet
from zonal.index.fences import Fences
from zonal.index.filters import Syntax, TopicFilter, read_filter, split_share
from zonal.index.interest import CoverChange, InterestCover
from zonal.index.raster import Raster
from zonal.index.subscriptions import Subscription, SubscriptionIndex
from zonal.index.tree import TopicTree

__all__ = [
    "CoverChange",
    "Fences",
    "InterestCover",
    "Raster",
    "Subscription",
    "SubscriptionIndex",
    "Syntax",
    "TopicFilter",
    "TopicTree",
    "read_filter",
    "sequences_meet",
    "split_share",
]
