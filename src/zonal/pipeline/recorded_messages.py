"""Which messages a recorder has: their numbers, and what tells them from others with the same."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from zonal.pipeline.recorded_numbers import LAST_NUMBER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from zonal.pipeline.recorded_numbers import RecordedNumbers

REMEMBERED = 131_072
"""Messages of which more is known than the number."""
CLAIMS = 8
"""Different messages of one number that are told apart."""

StampedNumber = tuple[str, int, str]
"""A message's source, its number there, and its time stamp."""


class RecordedClaim(NamedTuple):
    """One of the messages that claimed a number."""

    stamp: str | None
    content: int | None

    def is_same(self, stamp: str | None, content: int) -> bool:
        """Whether this is the same message, as far as is known."""
        if self.stamp is not None and stamp is not None and self.stamp != stamp:
            return False
        return self.content is None or self.content == content


class RecordedMessages:
    """Tells a message that comes again from a new one.

    Anybody can claim another's source and its next numbers. So a number that is known makes a
    message a double only if stamp and content are those of the message that was recorded with it;
    where neither is remembered any more, the number decides.
    """

    def __init__(self, numbers: RecordedNumbers, stamped: Iterable[StampedNumber] = ()) -> None:
        self._numbers = numbers
        self._claims: OrderedDict[int, tuple[RecordedClaim, ...]] = OrderedDict()
        for source, sequence, stamp in stamped:
            self._remember(hash((source, sequence)), RecordedClaim(stamp, None))

    def add(self, source: str, sequence: int, stamp: str | None, content: int) -> bool:
        """Remember a message; False where it is there already.

        One whose number is a time stamp is not remembered (see `RecordedNumbers`).
        """
        if sequence > LAST_NUMBER:
            return True
        name = hash((source, sequence))
        claims = self._claims.get(name, ())
        is_new = self._numbers.add(source, sequence) or (
            bool(claims) and not any(claim.is_same(stamp, content) for claim in claims)
        )
        if is_new:
            self._remember(name, RecordedClaim(stamp, content))
        return is_new

    def _remember(self, name: int, claim: RecordedClaim) -> None:
        self._claims[name] = (*self._claims.get(name, ())[1 - CLAIMS :], claim)
        if len(self._claims) > REMEMBERED:
            self._claims.popitem(last=False)
