"""Whose turn it is: clients with much to say are heard a little at a time, the others at once."""

from __future__ import annotations

from collections import deque
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from zonal.broker.polling import BusyPolling

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

TURN, SHORT_TURN = 0.0003, 0.0001
"""Seconds that those who wait for a turn may take together, each time the event loop goes round:
fewer while others are heard as well."""
LATELY = 0.02
"""Seconds in which others are expected again."""
BURST = 32 * 1024
"""Bytes from clients after which answers and deliveries are written at once."""


class Worker(Protocol):
    """Somebody whose bytes are worked off in turns."""

    def work(self) -> bool:
        """Does a little; whether there is more to do at once."""


class Turns:
    """Shares the event loop's time between clients.

    What arrives is processed at once as far as a turn allows. Whoever has more waits in a row with
    others of that kind, in which each gets a turn after the other, and between two rounds everybody
    else's bytes are read and processed. So a client that floods the broker waits for itself alone.

    Args:
        loop: the event loop.
        flush: makes changes last and writes what came of them.
        busy_poll: seconds for which more bytes are looked for at most before the loop sleeps
            (`polling`); 0: none.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, flush: Callable[[], None], busy_poll: float = 0.0
    ) -> None:
        self._loop = loop
        self._flush = flush
        self._polling = BusyPolling(loop, busy_poll) if busy_poll > 0 else None
        self._row: deque[Worker] = deque()
        self._going_round = False
        self._flushing = False
        self._processed = 0
        self._end = 0.0
        self._heard: Worker | None = None
        self._heard_until = self._others_until = 0.0

    def begin(self, worker: Worker) -> None:
        """A turn begins of somebody who does not stand in the row."""
        now = perf_counter()
        if self._polling is not None:
            self._polling.heard(now)
        self._end = now + TURN
        if worker is not self._heard:
            if self._heard is not None:
                self._others_until = self._heard_until
            self._heard = worker
        self._heard_until = now + LATELY

    def expects_others(self, worker: Worker) -> bool:
        """Whether somebody else was heard lately, who does not stand in the row either."""
        until = self._others_until if worker is self._heard else self._heard_until
        return perf_counter() < until

    def forget(self, worker: Worker) -> None:
        """Somebody is gone."""
        if worker is self._heard:
            self._heard = None

    def hears_somebody(self) -> bool:
        """Whether somebody was heard lately, and is not gone since."""
        return perf_counter() < (self._others_until if self._heard is None else self._heard_until)

    def spent(self) -> bool:
        """Whether the turn is over."""
        return perf_counter() >= self._end

    def line_up(self, worker: Worker) -> None:
        """Has somebody wait for its next turn."""
        self._row.append(worker)
        if not self._going_round:
            self._going_round = True
            self._loop.call_soon(self._go_round)

    def _go_round(self) -> None:
        if self._flushing:
            self.flush()  # nobody's messages wait for the work of those in the row
        row = self._row
        now = perf_counter()
        self._end = now + (SHORT_TURN if now < self._heard_until else TURN)
        for _ in range(len(row)):
            worker = row.popleft()
            if worker.work():
                row.append(worker)
            if self.spent():
                break
        self._going_round = bool(row)
        if row:
            self._loop.call_soon(self._go_round)

    def taken(self, size: int) -> None:
        """Bytes were processed: what came of them is written at the end of the turn.

        After `BURST` bytes it is written at once, so that receivers have something to do while
        the rest is processed.
        """
        self._processed += size
        if self._processed >= BURST:
            self.flush()
        else:
            self.schedule()

    def schedule(self) -> None:
        """Has everything written before the event loop waits again."""
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._flush_scheduled)

    def _flush_scheduled(self) -> None:
        if self._flushing:
            self.flush()

    def flush(self) -> None:
        """Has everything written now."""
        self._flushing = False
        self._processed = 0
        self._flush()
