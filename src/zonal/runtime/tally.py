"""What happens again and again, often since somebody else makes it: counted, and told seldom."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from zonal.errors import ZonalError

if TYPE_CHECKING:
    import logging

TELL_EVERY_S = 10.0
_TOLD_AT_MOST = 500
"""Characters of a reason, which may be as long as what somebody sent."""


class Tally:
    """How often something happened: a warning in the log the first time, then now and then.

    For any thread. Other than a `SparingLog`, which writes the lines of a flood as long as it can,
    it says how many there were, and why the last one was.

    Args:
        logger: where it is told.
        text: what is told, with `%(count)d` for how many so far and `%(why)s` for the last one.
        every_s: so many seconds lie between two times that it is told.
    """

    def __init__(self, logger: logging.Logger, text: str, every_s: float = TELL_EVERY_S) -> None:
        self._logger = logger
        self._text = text
        self._every_s = every_s
        self._lock = threading.Lock()
        self._told_at = -every_s
        self.count = 0

    def add(self, why: str | Exception = "", number: int = 1) -> None:
        """It happened again, or so often at once; an error that is none of ours has its trace."""
        with self._lock:
            self.count += number
            count, now = self.count, time.monotonic()
            if now - self._told_at < self._every_s:
                return
            self._told_at = now
        foreign = why if isinstance(why, Exception) and not isinstance(why, ZonalError) else None
        told = {"count": count, "why": str(why)[:_TOLD_AT_MOST]}
        self._logger.warning(self._text, told, exc_info=foreign)
