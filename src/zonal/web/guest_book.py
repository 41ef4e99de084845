"""Who came to a web server, left, or was refused: lines of the log.

What was asked for is not told: it may say where somebody is.
"""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from zonal.runtime import SparingLog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import Scope

    from zonal.web.problem import Problem

_log = SparingLog(logging.getLogger("zonal.web"))
_REFUSALS = frozenset({401, 403, 421, 429})


def note_refusal(scope: Scope, problem: Problem) -> None:
    """Log whom a request was refused, and why, if it is a refusal and no mistake."""
    if problem.status in _REFUSALS:
        told = {
            "event": "refused",
            "address": scope.get("visitor"),
            "method": scope.get("method"),
            "status": problem.status,
            "reason": problem.detail,
        }
        shown = "%(method)s from %(address)s is refused: %(status)s %(reason)s"
        _log.write(logging.WARNING, shown, told, time.monotonic())


@contextmanager
def noted_stream(address: str, user: str | None) -> Iterator[None]:
    """Log that somebody reads an event stream, with a token or without, and that it ended."""
    told = {"address": address, "user": user}
    who = "somebody" if user is None else "%(user)r"
    shown = f"{who} reads a stream from %(address)s"
    _log.write(logging.INFO, shown, told | {"event": "came"}, time.monotonic())
    try:
        yield
    finally:
        shown = f"a stream of {who} from %(address)s has ended"
        _log.write(logging.INFO, shown, told | {"event": "left"}, time.monotonic())
