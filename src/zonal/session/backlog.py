"""What one publisher's memory holds, asked for in bounded parts; pure.

Zenoh's advanced publishers answer a question on the thread that reads their link: as long as an
answer takes, nothing else reaches them, and a router that has something for them closes the link
after 5 s. For each question they look through all they hold. `_sn=first..last` and `_time` go
together; `_max` gives the newest of what is left, so nobody tells the oldest.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from zonal.session.sequence import NUMBERS

_HALF = NUMBERS >> 1
"""A number that lies further back than this would lie ahead."""
_LIGHTEST = 32
"""What a question weighs at least, in messages: it has to be read and looked up."""


class Part(NamedTuple):
    """What is asked for at once."""

    wanted: str
    """The question's parameters but for the time."""
    messages: int
    """How many the answer has at most."""
    until: str = ""
    """The end of the time asked about, by RFC 3339; empty: open."""
    hands_on: bool = True
    """Whether the answer is for subscribers, not only to find something out."""

    @property
    def weight(self) -> int:
        """What the answer costs the one who gives it, in messages."""
        return max(self.messages, _LIGHTEST)


class Answer(NamedTuple):
    """What came of a part, from the one who was asked."""

    messages: int
    oldest: str = ""
    """The time stamp of the first one, by RFC 3339; empty: it had none."""
    seconds: float = 0.0
    """From the first to the last one: what went before is the way there and back."""


class PublisherBacklog(Protocol):
    """The memory of one publisher on one key."""

    def part(self, at_most: int) -> Part | None:
        """What to ask for next, so many messages at most; None: nothing any more.

        The same again as long as nothing was answered.
        """

    def answered(self, answer: Answer) -> None:
        """All came of the last part."""


class NumberedBacklog:
    """Messages with numbers: in order, from the first that is held to the one that was the last.

    A publisher forgets its oldest messages first. So the first is searched for by halving, down to
    the length of a part; and again where a part was forgotten before it was asked for. Inside,
    numbers are places, counted back from the last, which has place 0.

    Args:
        last: the number of the publisher's last message; the first it ever sent has number 0.
        messages: so many at most, the newest; None: all.
    """

    def __init__(self, last: int, messages: int | None = None) -> None:
        self._last = last
        self._held = 0
        self._gone = self._wanted = min(messages or _HALF, _HALF)
        """From this place on all are forgotten, or not wanted."""
        self._probed: int | None = None
        self._next: int | None = None
        self._count = 0

    def part(self, at_most: int) -> Part | None:
        """A single number while the first is searched for, then what follows."""
        if self._last < min(at_most, self._gone):  # it can hold no more than it ever sent
            self._gone = self._last + 1
        if self._next is None and self._gone - self._held > at_most:
            self._probed = self._probe()
            number = (self._last - self._probed) % NUMBERS
            return Part(f"_sn={number}..{number}", 1, hands_on=False)
        self._probed = None
        self._next = self._gone - 1 if self._next is None else self._next
        if self._next < 0:
            return None
        first = (self._last - self._next) % NUMBERS
        # Older publishers know no part that begins before the numbers begin anew and ends behind.
        self._count = min(at_most, self._next + 1, NUMBERS - first)
        return Part(f"_sn={first}..{first + self._count - 1}", self._count)

    def _probe(self) -> int:
        """Mostly nothing was forgotten, and nothing lies before the number 0: looked at first."""
        if self._gone == self._wanted:
            oldest = min(self._last, self._wanted - 1)
            if self._held < oldest:
                return oldest
            if self._held == self._last:
                return self._held + 1
        return (self._held + self._gone) // 2

    def answered(self, answer: Answer) -> None:
        """Go on behind it."""
        if self._probed is not None:
            if answer.messages:
                self._held = self._probed
            else:
                self._gone = self._probed
        elif self._next is not None:
            self._next -= self._count
            if not answer.messages and self._next >= 0:
                self._held, self._gone = 0, self._next + 1
                self._wanted, self._next = self._gone, None


class StampedBacklog:
    """Messages without numbers: the newest part first, each next one up to the oldest of the last.

    Messages may share a time stamp's nanosecond, so the end is included: it comes again.
    """

    def __init__(self, messages: int | None = None) -> None:
        self._left = messages
        self._until = ""
        self._is_over = False

    def part(self, at_most: int) -> Part | None:
        """The newest of what did not come yet."""
        if self._is_over:
            return None
        again = 1 if self._until else 0
        count = max(at_most, 2) if self._left is None else min(at_most, self._left) + again
        return Part(f"_max={count}", count, self._until)

    def answered(self, answer: Answer) -> None:
        """Go on before it."""
        if self._left is not None:
            self._left -= answer.messages - (1 if self._until else 0)
        if answer.oldest in {"", self._until} or (self._left is not None and self._left <= 0):
            self._is_over = True
        self._until = answer.oldest
