"""What clients' packet traces alone cost a message: no technique can be faster than that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from zonal_lab.emulation import NS_PER_MS, TraceGate

if TYPE_CHECKING:
    from zonal_lab.emulation import Trace

_PACKET_BYTES = 150


def trace_floor_ms(trace: Trace, *, rate_hz: float, seconds: float, rounds: int) -> float:
    """The mean wait of evenly sent messages for the publisher's trace, then the subscriber's.

    Each message is a packet of its own and the network between the two takes no time; round n
    plays the trace from n × seconds on, as the evaluation does.
    """
    waits = []
    for number in range(rounds):
        outward, inward = TraceGate(trace), TraceGate(trace)
        for gate in (outward, inward):
            gate.restart(0, skip_ms=round(number * seconds * 1000))
        for message in range(round(rate_hz * seconds)):
            sent = round(message * 1e9 / rate_hz)
            there = inward.departure_ns(_PACKET_BYTES, outward.departure_ns(_PACKET_BYTES, sent))
            waits.append((there - sent) / NS_PER_MS)
    return float(np.mean(waits))
