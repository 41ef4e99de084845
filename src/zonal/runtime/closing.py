"""Closing several things, whatever one of them raises, and how long user code is waited for."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

logger = logging.getLogger(__name__)


class Patience:
    """How long whoever closes waits for user code that still runs: without end, as a rule."""

    seconds: float | None = None


patience = Patience()


def close_all(closings: Iterable[Callable[[], object]]) -> None:
    """Call each in order; what one raises is logged and does not keep the others open."""
    for close in closings:
        try:
            close()
        except Exception:
            logger.exception("closing failed")
