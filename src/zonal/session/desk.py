"""One session whose publishers' memories are asked: how much is under way at a time."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.session.backlog import Answer, Part

T = TypeVar("T")

_AT_FIRST, _AT_MOST = 256, 4096
"""How many messages are under way. Zenoh takes 10 to 60 µs for one: 4096 are 40 to 250 ms."""
_QUICK_S, _SLOW_S = 0.15, 0.6
"""When answering took so little, more is asked for, when so much, less, down to a message."""


class Desk(Generic[T]):
    """Those who wait for this session's answers, in turn.

    One thread of it gives all its answers: what is under way of all of them together is bounded.
    """

    def __init__(self) -> None:
        self.at_most = _AT_FIRST
        self._waiting: deque[T] = deque()
        self._weight = 0

    @property
    def is_idle(self) -> bool:
        """Whether nobody waits, and nothing is under way."""
        return not self._waiting and not self._weight

    def wait(self, one: T) -> None:
        """Stand in line."""
        self._waiting.append(one)

    def due(self, part_of: Callable[[T], Part | None]) -> list[tuple[T, Part]]:
        """Who may ask now, for which part; who has none any more leaves."""
        due: list[tuple[T, Part]] = []
        while self._waiting:
            part = part_of(self._waiting[0])
            if part is not None and self._weight and self._weight + part.weight > self.at_most:
                break
            one = self._waiting.popleft()
            if part is not None:
                self._weight += part.weight
                due.append((one, part))
        return due

    def done(self, part: Part, answer: Answer | None) -> None:
        """The answer to a part is complete; None: it did not come."""
        was_full = 2 * self._weight > self.at_most
        self._weight -= part.weight
        if answer is None or answer.seconds > _SLOW_S:
            self.at_most = max(self.at_most // 2, 1)
        elif answer.seconds < _QUICK_S and was_full and answer.messages:
            self.at_most = min(2 * self.at_most, _AT_MOST)
