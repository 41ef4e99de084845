"""Deadlines: what is to be called, and from when on."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator

Due = Callable[[float], None]


class Timers:
    """A heap of deadlines; none is removed, so what is called checks whether it still applies."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Due]] = []
        self._count = 0

    def at(self, when: float, due: Due) -> None:
        """Calls `due(now)` at the first tick not before `when`."""
        self._count += 1
        heapq.heappush(self._heap, (when, self._count, due))

    def due(self, now: float) -> Iterator[Due]:
        """What is due by now, in order; it is taken out."""
        while self._heap and self._heap[0][0] <= now:
            yield heapq.heappop(self._heap)[2]
