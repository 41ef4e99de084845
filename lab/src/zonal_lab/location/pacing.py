"""Sends at an even rate, measured against a schedule instead of the last sending."""

from __future__ import annotations

import ctypes
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

_PR_SET_TIMERSLACK = 29


@dataclass(frozen=True)
class Pace:
    """How well a schedule was kept."""

    sent: int
    seconds: float
    late_mean_us: float
    late_p99_us: float
    late_max_us: float

    @property
    def rate_hz(self) -> float:
        """Messages a second, over the whole schedule."""
        return self.sent / self.seconds


def wake_punctually() -> None:
    """Ask the kernel to end this thread's sleeps on time instead of up to 50 µs later."""
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)


def send_paced(
    send: Callable[[int, int], None], *, rate_hz: float, start_ns: int, seconds: float
) -> Pace:
    """Call `send(number, now_ns)` at every point of the schedule; a late one follows at once.

    The schedule never shifts: after a hold-up the missed messages are sent in a row, so that the
    number of messages is always rate × seconds.
    """
    wake_punctually()
    count = round(rate_hz * seconds)
    late_ns = np.zeros(count, dtype=np.int64)
    clock, sleep = time.monotonic_ns, time.sleep
    for number in range(count):
        due_ns = start_ns + int(number * 1e9 / rate_hz)
        now_ns = clock()
        if now_ns < due_ns:
            sleep((due_ns - now_ns) / 1e9)
            now_ns = clock()
        send(number, now_ns)
        late_ns[number] = now_ns - due_ns
    late_us = late_ns / 1000
    return Pace(
        sent=count,
        seconds=seconds,
        late_mean_us=float(late_us.mean()),
        late_p99_us=float(np.percentile(late_us, 99)),
        late_max_us=float(late_us.max()),
    )
