"""Reading what arrived: its geo-context, and whether it is a copy of what was read before."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from zonal.runtime import Recent, Tally
from zonal.session.sample import Sample, context_of, copy_mark

if TYPE_CHECKING:
    from collections.abc import Sequence

    import zenoh

logger = logging.getLogger(__name__)


class Reading:
    """Reads samples one by one and counts what it leaves out; one thread at a time.

    Whatever is malformed is left out, counted, and told in the log now and then.
    """

    def __init__(self) -> None:
        self._copies: Recent[int] = Recent()
        self._malformed = Tally(logger, "dropped a message (%(count)d so far): %(why)s")
        self.duplicates = 0

    @property
    def malformed(self) -> int:
        """How many could not be read."""
        return self._malformed.count

    def read(self, raw: zenoh.Sample, *, unique: bool) -> Sample | None:
        """The sample with its context; None where it is malformed, or a copy.

        `unique`: whether any message may come twice now; else only those that say so.
        """
        mark = copy_mark(raw) if unique else None
        if self.was_read(mark):
            return None
        try:
            context = context_of(raw)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other messages are read
            self._malformed.add(error)
            return None
        if context is None:
            return Sample(raw, raw.payload, None, None)
        may_come_again = mark is None and (unique or context.may_come_again)
        if may_come_again and self.was_read(copy_mark(raw, context.identity)):
            return None
        return Sample(raw, raw.payload, context.place, context)

    def were_read(self, marks: Sequence[int]) -> list[bool]:
        """`was_read` for each of them, one after another."""
        found = self._copies.check_all(marks)
        self.duplicates += sum(found)
        return found

    def was_read(self, mark: int | None) -> bool:
        """Whether a message with this mark (see `copy_mark`) was read before; from now on it was.

        One without a mark was not.
        """
        if mark is None or not self._copies.check(mark):
            return False
        self.duplicates += 1
        return True
