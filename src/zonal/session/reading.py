"""Reading what arrived: its geo-context, and whether it is a copy of what was read before."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from zonal.errors import ZonalError
from zonal.runtime import Recent
from zonal.session.sample import Sample, context_of, copy_mark

if TYPE_CHECKING:
    from collections.abc import Sequence

    import zenoh

logger = logging.getLogger(__name__)

_TELL_EVERY_S = 10.0


class Reading:
    """Reads samples one by one and counts what it leaves out; one thread at a time.

    Whatever is malformed is left out, counted, and told in the log now and then.
    """

    def __init__(self) -> None:
        self._copies: Recent[int] = Recent()
        self._told_at = -_TELL_EVERY_S
        self.malformed = 0
        self.duplicates = 0

    def read(self, raw: zenoh.Sample, *, unique: bool) -> Sample | None:
        """The sample with its context; None where it is malformed, or a copy.

        `unique`: whether any message may come twice now; else only those that say so.
        """
        mark = copy_mark(raw) if unique else None
        if self.was_read(mark):
            return None
        try:
            context = context_of(raw)
        except ZonalError as error:
            self._tell(error)
            return None
        except Exception:  # whatever it is, the other messages are read
            self.malformed += 1
            logger.exception("a message could not be read: %s", raw.key_expr)
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

    def _tell(self, error: ZonalError) -> None:
        self.malformed += 1
        now = time.monotonic()
        if now - self._told_at >= _TELL_EVERY_S:
            self._told_at = now
            logger.warning("dropped a message (%d so far): %s", self.malformed, error)
