"""A made-up Wi-Fi link in the format of Mahimahi's traces."""

from __future__ import annotations

import numpy as np

from zonal_lab.emulation.trace import Trace

_FRAMES_A_TURN = 3
_MEAN_WAIT_MS = 1.25
_BURSTS_PER_MS = 0.001
_LONGEST_BURST_MS = 20


def made_up_wifi(seed: int = 1, seconds: int = 60) -> Trace:
    """An 802.11n station that shares its channel.

    It gets the channel at random moments, 1.25 ms apart on average, and then sends up to three
    frames of 1500 bytes (29 Mbit/s). Once a second on average others keep the channel for up to 20
    ms. A lone small frame waits 1.3 ms for its turn on average, at no grain: what a stack costs
    itself comes on top of that, however little it is.
    """
    random = np.random.default_rng(seed)
    length = seconds * 1000
    turns = np.sort(random.uniform(0, length, round(length / _MEAN_WAIT_MS)))
    begin = np.sort(random.uniform(0, length, random.poisson(length * _BURSTS_PER_MS)))
    end = begin + random.uniform(2, _LONGEST_BURST_MS, len(begin))
    before = np.searchsorted(begin, turns, side="right")
    # Bursts hardly ever overlap; the latest end so far tells whether one is still going on.
    until = np.concatenate(([0.0], np.maximum.accumulate(end)))[before]
    times = np.repeat(turns[turns >= until], _FRAMES_A_TURN)
    return Trace(f"made-up-wifi-{seed}", np.append(times, float(length)))
