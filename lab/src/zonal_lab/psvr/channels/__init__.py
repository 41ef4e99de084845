"""Channels of the simulator: a model of radio, recorded links, and nodes that move."""

from zonal_lab.psvr.channels.moving import (
    MovingChannel,
    Way,
    link_ratios,
    random_waypoints,
    recorded_ways,
)
from zonal_lab.psvr.channels.radio import RadioChannel, RadioConfig, packet_ratio
from zonal_lab.psvr.channels.trace_channel import LinkSeries, TraceChannel, connected_nodes
from zonal_lab.psvr.channels.traces import read_intel_lab, read_k7, read_trace, write_k7

__all__ = [
    "LinkSeries",
    "MovingChannel",
    "RadioChannel",
    "RadioConfig",
    "TraceChannel",
    "Way",
    "connected_nodes",
    "link_ratios",
    "packet_ratio",
    "random_waypoints",
    "read_intel_lab",
    "read_k7",
    "read_trace",
    "recorded_ways",
    "write_k7",
]
