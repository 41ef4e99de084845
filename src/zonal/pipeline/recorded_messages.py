"""Which messages a recorder has: their numbers, and what tells them from others with the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal.pipeline.recorded_numbers import LAST_NUMBER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from zonal.pipeline.recorded_numbers import RecordedNumbers
    from zonal.pipeline.rows import MessageColumns

REMEMBERED = 65_536
"""Messages of which more is known than the number; at most twice as many, and those of one call."""
MOST_CLAIMS = 8
"""Different messages of one number that are told apart, beside the first."""

Claim = tuple[int | None, str | None, int | None]
"""A message's time stamp and its clock, and what it says, in a number; None: not known."""


class RecordedMessages:
    """Tells a message that comes again from a new one.

    Anybody can claim another's source and its next numbers. So a number that is known makes a
    message a double only if stamp and content are those of the message that was recorded with it;
    where neither is remembered any more, the number decides.

    Args:
        numbers: what was recorded, and is told what will be.
        stamped: sources, numbers, time stamps and their clocks of what was recorded last.
    """

    def __init__(
        self, numbers: RecordedNumbers, stamped: Iterable[tuple[str, int, int, str]] = ()
    ) -> None:
        self._numbers = numbers
        # Two generations: forgetting one by one would cost more than remembering.
        self._first: dict[int, Claim] = {}
        self._older: dict[int, Claim] = {}
        self._further: dict[int, list[Claim]] = {}
        for source, sequence, ntp64, clock in stamped:
            self._first[hash((source, sequence))] = (ntp64, clock, None)
            self._forget_old()

    def add(self, messages: MessageColumns) -> list[bool]:
        """Remember messages; tells of each whether it is new.

        One without a number, or whose number is a time stamp, is new and not remembered (see
        `RecordedNumbers`).
        """
        names = map(hash, zip(messages.source, messages.sequence, strict=True))
        claims = zip(messages.ntp64, messages.clock, messages.contents(), strict=True)
        if self._follow(messages.source, messages.sequence):
            self._first.update(zip(names, claims, strict=True))
            self._forget_old()
            return [True] * messages.rows
        add = self._numbers.add
        are_new = []
        for source, sequence, name, claim in zip(
            messages.source, messages.sequence, names, claims, strict=True
        ):
            if source is None or sequence is None or sequence > LAST_NUMBER:
                are_new.append(True)
            elif add(source, sequence):
                self._first[name] = claim
                are_new.append(True)
            else:
                are_new.append(self._is_another(name, claim))
        self._forget_old()
        return are_new

    def _follow(self, sources: list[str | None], numbers: list[int | None]) -> bool:
        """Whether these are the next numbers of one source, as nearly always; then they are known.

        The ranges of one source are looked at once then.
        """
        source, first = sources[0], numbers[0]
        if source is None or first is None or sources.count(source) < len(sources):
            return False
        if numbers != list(range(first, first + len(numbers))):
            return False
        return self._numbers.add_next(source, first, first + len(numbers) - 1)

    def _is_another(self, name: int, claim: Claim) -> bool:
        """Whether a message of a known number is none of those that had it."""
        first = self._first.get(name) or self._older.get(name)
        further = self._further.get(name, ())
        if first is None or any(_is_same(known, claim) for known in (first, *further)):
            return False
        self._further[name] = [*further, claim][-MOST_CLAIMS:]
        return True

    def _forget_old(self) -> None:
        if len(self._first) >= REMEMBERED:
            self._older, self._first = self._first, {}
            self._further = {
                name: claims for name, claims in self._further.items() if name in self._older
            }


def _is_same(known: Claim, claim: Claim) -> bool:
    """Whether two claims are of the same message, as far as is known."""
    if known[0] is not None and claim[0] is not None and known[:2] != claim[:2]:
        return False
    return known[2] is None or known[2] == claim[2]
