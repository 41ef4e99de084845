"""Looking for more bytes for a moment before the event loop sleeps."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

RECENT = 8
"""About as many gaps between arrivals decide whether looking pays."""
LONG_GAP = 8
"""A longer gap than so many times the bound counts as this: a broker in use looks again soon."""


class BusyPolling:
    """Keeps the event loop awake for a bounded time after bytes came.

    To be woken takes longer than to look again, if somebody answers within microseconds. So it
    looks only while bytes have lately come closer together than the bound: an idle broker sleeps,
    and so does one whose clients send now and then.

    Args:
        loop: the event loop.
        seconds: how long it looks after the last bytes; 0: never.
        clock: seconds that never jump.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, seconds: float,
        clock: Callable[[], float] = perf_counter,
    ) -> None:  # fmt: skip
        self._loop = loop
        self._seconds = seconds
        self._clock = clock
        self._heard_at = -LONG_GAP * seconds
        self._gap = LONG_GAP * seconds
        self._until = 0.0
        self._looking = False

    def heard(self, now: float) -> None:
        """Bytes came."""
        gap = min(now - self._heard_at, LONG_GAP * self._seconds)
        self._heard_at = now
        self._gap += (gap - self._gap) / RECENT
        if self._gap < self._seconds:
            self._until = now + self._seconds
            if not self._looking:
                self._looking = True
                self._loop.call_soon(self._look)

    def _look(self) -> None:
        """Comes again in the next round of the event loop, which then does not wait."""
        if self._clock() < self._until:
            self._loop.call_soon(self._look)
        else:
            self._looking = False
