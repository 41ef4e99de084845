"""Channels of the simulator: a model of radio, and links as they were recorded."""

from zonal_lab.psvr.channels.radio import RadioChannel, RadioConfig, packet_ratio
from zonal_lab.psvr.channels.trace_channel import LinkSeries, TraceChannel, connected_nodes
from zonal_lab.psvr.channels.traces import read_intel_lab, read_k7, read_trace, write_k7

__all__ = [
    "LinkSeries",
    "RadioChannel",
    "RadioConfig",
    "TraceChannel",
    "connected_nodes",
    "packet_ratio",
    "read_intel_lab",
    "read_k7",
    "read_trace",
    "write_k7",
]
