"""The numbered messages of one publisher, put into order; what is missing can be asked for."""

from __future__ import annotations

from bisect import bisect_right
from typing import Generic, TypeVar

T = TypeVar("T")

NUMBERS = 1 << 32
"""How many there are before they begin anew."""

_HALF = NUMBERS >> 1
_LATELY = 16_384
_GIVEN_UP_AT_MOST = 64


class Sequence(Generic[T]):
    """Numbers begin anywhere, increase by one, and wrap at 2³²; each is given out once.

    What follows a gap is held back until the gap is filled or given up. Inside, messages are
    counted by position from the first one on, which never wraps.
    """

    def __init__(self, first: int) -> None:
        self.first = first % NUMBERS
        """Where it began."""
        self._next = self.first
        self._position = 0
        self._held: dict[int, T] = {}
        # Gaps between messages that came: where they begin and end. The first begins at the
        # position. What a heartbeat tells of lies behind them all, from heard_end to end.
        self._gap_starts: list[int] = []
        self._gap_ends: list[int] = []
        self._heard_end = 0
        self._end = 0
        self._given_up: list[tuple[int, int]] = []

    @property
    def has_gap(self) -> bool:
        """Whether a number is known to exist that has not come."""
        return self._end > self._position

    @property
    def heard(self) -> int:
        """How far it has been heard, gaps or not."""
        return self._heard_end

    @property
    def held(self) -> int:
        """How many messages wait for an earlier one."""
        return len(self._held)

    def has_to_wait(self, number: int) -> bool:
        """Whether a message with this number would be held back until earlier ones have come."""
        at = self._at(number)
        return at > self._position and at not in self._held

    def hear(self, number: int, message: T) -> list[T]:
        """A message came; what is in order now.

        One that was given up and comes after all is late, not lost.
        """
        if number == self._next and not self._gap_starts:  # as nearly always
            self._next = (number + 1) % NUMBERS
            self._position += 1
            self._heard_end = self._position
            self._end = max(self._end, self._position)
            return [message]
        at = self._at(number)
        if at < self._position:
            return [message] if self._takes_back(at) else []
        if at in self._held:
            return []
        if at >= self._heard_end:
            if at > self._heard_end:
                self._gap_starts.append(self._heard_end)
                self._gap_ends.append(at)
            self._heard_end = at + 1
            self._end = max(self._end, self._heard_end)
        else:
            self._fill(at)
        self._held[at] = message
        return self._in_order()

    def hear_next(self, first: int, count: int) -> bool:
        """So many messages came, numbered one after another: whether they are next in order.

        Then they were heard, and are given out as they came; otherwise nothing happened.
        """
        if first != self._next or self._gap_starts or self._held:
            return False
        self._next = (first + count) % NUMBERS
        self._position += count
        self._heard_end = self._position
        self._end = max(self._end, self._position)
        return True

    def was_heard_lately(self, number: int) -> bool:
        """Whether one of the last messages came with this number."""
        at = self._at(number)
        if at >= self._position:
            return at in self._held
        return at >= max(self._position - _LATELY, 0) and not self._was_given_up(at)

    def _was_given_up(self, at: int) -> bool:
        return any(start <= at < end for start, end in self._given_up)

    def _takes_back(self, at: int) -> bool:
        """Whether a message was given up; from now on it came."""
        for index, (start, end) in enumerate(self._given_up):
            if start <= at < end:
                self._given_up[index : index + 1] = _without(at, start, end)
                return True
        return False

    def _fill(self, at: int) -> None:
        """One message of a gap came."""
        starts, ends = self._gap_starts, self._gap_ends
        gap = bisect_right(starts, at) - 1
        rest = _without(at, starts[gap], ends[gap])
        starts[gap : gap + 1] = [start for start, _ in rest]
        ends[gap : gap + 1] = [end for _, end in rest]

    def tell(self, last: int) -> None:
        """The publisher says that its last message has this number."""
        self._end = max(self._end, self._at(last) + 1)

    def lacks(self, number: int) -> bool:
        """Whether this number exists and has not come."""
        at = self._at(number)
        return self._position <= at < self._end and at not in self._held

    def is_before_first(self, number: int) -> bool:
        """Whether it is older than the number that this began with: a history, not a gap."""
        return self._at(number) < 0

    def is_behind(self, number: int) -> bool:
        """Whether it is further than anything that was heard: it may just be on its way."""
        return self._at(number) >= self._heard_end

    def missing(self, most: int) -> list[int]:
        """The first numbers that have not come, `most` of them at most."""
        numbers: list[int] = []
        offset = self._next - self._position
        starts, ends = (*self._gap_starts, self._heard_end), (*self._gap_ends, self._end)
        for start, end in zip(starts, ends, strict=True):
            room = most - len(numbers)
            if room <= 0:
                break
            positions = range(start, min(end, start + room))
            numbers.extend((position + offset) % NUMBERS for position in positions)
        return numbers

    def first_gap(self) -> tuple[int, int]:
        """Its first number and its length; a length of 0 if nothing is missing."""
        end = self._gap_ends[0] if self._gap_ends else self._end
        return self._next, end - self._position

    def give_up(self, count: int) -> list[T]:
        """Wait no longer for the first so many numbers of the first gap: what follows."""
        start = self._position
        if self._given_up and self._given_up[-1][1] == start:
            start = self._given_up.pop()[0]
        self._given_up.append((start, self._position + count))
        del self._given_up[:-_GIVEN_UP_AT_MOST]
        self._position += count
        self._next = (self._next + count) % NUMBERS
        if self._gap_starts:
            self._gap_starts[0] = self._position
            if self._gap_ends[0] == self._position:
                del self._gap_starts[0], self._gap_ends[0]
        else:
            self._heard_end = self._position
        return self._in_order()

    def _in_order(self) -> list[T]:
        ready: list[T] = []
        held, position = self._held, self._position
        while position in held:
            ready.append(held.pop(position))
            position += 1
        self._next = (self._next + position - self._position) % NUMBERS
        self._position = position
        return ready

    def _at(self, number: int) -> int:
        """The position of a number: half of all numbers lie ahead, half behind."""
        ahead = (number - self._next + _HALF) % NUMBERS - _HALF
        return self._position + ahead


def _without(at: int, start: int, end: int) -> list[tuple[int, int]]:
    """What is left of a range without one of its numbers."""
    return [(low, high) for low, high in ((start, at), (at + 1, end)) if high > low]
