"""Waiting for something that happens elsewhere, never longer than asked."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from zonal_lab.errors import EmulationError

if TYPE_CHECKING:
    from collections.abc import Callable

_STEP_S = 0.05


def wait_until(condition: Callable[[], bool], patience_s: float, otherwise: str) -> None:
    """Ask twenty times a second until the condition holds; an `EmulationError` if it never does."""
    deadline = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > deadline:
            raise EmulationError(f"{otherwise} within {patience_s:g} s")
        time.sleep(_STEP_S)
