"""Looking for more bytes for a moment before the event loop sleeps, while that has paid."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

RECENT = 8
"""About as many gaps between arrivals decide whether looking is worth a try."""
LONG_GAP = 8
"""A longer gap than so many times the bound counts as this: a broker in use tries again soon."""
WRITTEN = 2
"""Rounds of the event loop after bytes came until what came of them is written."""
SHRINK, SHORTEST = 4, 16
"""Looking that was not needed makes the next looks so many times shorter; below one part in
`SHORTEST` of the bound there are none."""
FIRST_PAUSE, LONGEST_PAUSE = 0.01, 0.64
"""Seconds until looking is tried again after it did not pay: twice as many each time, unless it
found bytes `RECENT` times in a row."""


class BusyPolling:
    """Keeps the event loop awake for a short time after bytes came, where more come meanwhile.

    To be woken takes longer than to look again, if somebody answers within microseconds. Whether
    that is so is found out: once bytes come closer together than the bound it looks for as long,
    and goes on while some come as it looks. Looks become shorter and end, and are tried again
    rarely, where none do, because clients have gone quiet or because they wait for the very
    processor on which it looks; and where some have come before it looks, as nobody waits for it
    then, and whoever looks at once takes apart what would have come together.

    Args:
        loop: the event loop.
        bound: seconds for which it looks at most after the last bytes.
        clock: seconds that never jump.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, bound: float,
        clock: Callable[[], float] = perf_counter,
    ) -> None:  # fmt: skip
        self._loop = loop
        self._bound = bound
        self._clock = clock
        self._heard_at = -LONG_GAP * bound
        self._gap = LONG_GAP * bound
        self._window = 0.0
        self._pause = FIRST_PAUSE
        self._try_at = 0.0
        self._looking = False
        self._rounds = 0
        self._found = 0  # so many times in a row
        self._until = 0.0

    def heard(self, now: float) -> None:
        """Bytes came."""
        gap = min(now - self._heard_at, LONG_GAP * self._bound)
        self._heard_at = now
        self._gap += (gap - self._gap) / RECENT
        if self._looking:
            if self._rounds > WRITTEN:
                self._window = min(2 * self._window, self._bound)
                self._found += 1
                if self._found >= RECENT:
                    self._pause = FIRST_PAUSE
            else:
                self._shorten(now)
            self._rounds = 0
            return
        if self._window == 0.0 and self._gap < self._bound and now >= self._try_at:
            self._window = self._bound
        if self._window > 0.0:
            self._looking = True
            self._rounds = 0
            self._loop.call_soon(self._look)

    def _look(self) -> None:
        """Comes again in the next round of the event loop, which then does not wait."""
        if self._window == 0.0:
            self._looking = False
            return
        self._rounds += 1
        if self._rounds >= WRITTEN:
            now = self._clock()
            if self._rounds == WRITTEN:
                self._until = now + self._window
            elif now >= self._until:
                self._looking = False
                self._shorten(now)
                return
        self._loop.call_soon(self._look)

    def _shorten(self, now: float) -> None:
        """Looking was not needed."""
        if self._window == 0.0:  # more of what has ended it
            return
        self._found = 0
        self._window /= SHRINK
        if self._window * SHORTEST < self._bound:
            self._window = 0.0
            self._try_at = now + self._pause
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
