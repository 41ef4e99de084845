"""Turns the signals that ask a program to end into exceptions, so that teardown runs."""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    del frame
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


@contextlib.contextmanager
def ending_in_order(*, also_ignored: bool = False) -> Iterator[None]:
    """Let SIGINT, SIGTERM and SIGHUP unwind the stack; other threads than the main one cannot.

    Args:
        also_ignored: a signal that is ignored here stays ignored, unless this is true. A shell
            starts background jobs with SIGINT ignored, `nohup` ignores SIGHUP, and both are meant.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may install handlers
        return
    taken = [
        number
        for number in _ENDING
        if also_ignored or signal.getsignal(number) is not signal.SIG_IGN
    ]
    before = {number: signal.signal(number, _leave) for number in taken}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
