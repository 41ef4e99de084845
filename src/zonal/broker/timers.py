"""Deadlines: what is to be called, and from when on."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator

Due = Callable[[float], None]

FEW = 64
"""Cancelled deadlines that are not worth a look at the whole heap."""


class Deadline:
    """Something that is due once, unless it is cancelled."""

    __slots__ = ("_number", "due", "when")

    def __init__(self, when: float, number: int, due: Due) -> None:
        self.when = when
        self._number = number
        self.due: Due | None = due

    def __lt__(self, other: Deadline) -> bool:
        return (self.when, self._number) < (other.when, other._number)


class Timers:
    """A heap of deadlines; what is cancelled is forgotten at once, its place in the heap soon."""

    def __init__(self) -> None:
        self._heap: list[Deadline] = []
        self._count = 0
        self._cancelled = 0

    def __len__(self) -> int:
        return len(self._heap)

    def at(self, when: float, due: Due) -> Deadline:
        """Calls `due(now)` at the first tick not before `when`."""
        self._count += 1
        deadline = Deadline(when, self._count, due)
        heapq.heappush(self._heap, deadline)
        return deadline

    def cancel(self, deadline: Deadline | None) -> None:
        """Has a deadline never come; one that came or was cancelled may be given too."""
        if deadline is None or deadline.due is None:
            return
        deadline.due = None
        self._cancelled += 1
        if self._cancelled > FEW and self._cancelled * 2 > len(self._heap):
            self._heap = [each for each in self._heap if each.due is not None]
            heapq.heapify(self._heap)
            self._cancelled = 0

    def due(self, now: float) -> Iterator[Due]:
        """What is due by now, in order; it is taken out."""
        while self._heap and self._heap[0].when <= now:
            deadline = heapq.heappop(self._heap)
            due, deadline.due = deadline.due, None
            if due is None:
                self._cancelled -= 1
            else:
                yield due
