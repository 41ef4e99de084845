"""A made-up Wi-Fi link in Mahimahi's format, for want of a recorded one."""

from __future__ import annotations

import numpy as np

from zonal.lab.trace import Trace

_SLOTS_PER_MS = 3
_FREE = 0.8
_BURST = 0.001
_LONGEST_BURST_MS = 20


def made_up_wifi(seed: int = 1, seconds: int = 60) -> Trace:
    """An 802.11n station that shares its channel.

    In four of five milliseconds the channel is free and carries three frames of 1500 bytes (29
    Mbit/s on average); in the fifth, others have it. Once a second on average they keep it for up
    to 20 ms. A lone small frame waits about 1.2 ms for its turn.
    """
    random = np.random.default_rng(seed)
    length = seconds * 1000
    free = random.random(length) < _FREE
    for start in np.flatnonzero(random.random(length) < _BURST):
        free[start : start + int(random.integers(2, _LONGEST_BURST_MS + 1))] = False
    times = np.repeat(np.flatnonzero(free), _SLOTS_PER_MS)
    return Trace(f"made-up-wifi-{seed}", np.append(times, length).astype(np.int64))
