"""A thread that takes one step after the other, and survives what a step raises."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)

_FAILURES = 8  # in a row; then nothing is to be hoped for
_PAUSE_S = 0.01  # after a failure, doubled with each in a row


class Supervisor:
    """Repeats a step on a thread of its own until it is stopped.

    What a step raises is logged, and the next one is taken; after eight failures in a row (within
    about 1.3 s) the thread ends, `error` is the last of them, and `stopped` is called.
    """

    def __init__(self, name: str, step: Callable[[], None], *, stopped: Callable[[], None]) -> None:
        self.error: Exception | None = None
        self.failures = 0
        self._step = step
        self._stopped = stopped
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Take the first step."""
        self._thread.start()

    def stop(self) -> None:
        """Take no further step."""
        self._end.set()

    def join(self, timeout_s: float) -> None:
        """Wait for the step under way, unless it is the one that calls."""
        if self._thread is not threading.current_thread():
            self._thread.join(timeout_s)

    def _run(self) -> None:
        in_a_row = 0
        while not self._end.is_set():
            try:
                self._step()
                in_a_row = 0
            except Exception as error:
                if self._end.is_set():
                    return
                self.failures += 1
                in_a_row += 1
                if in_a_row >= _FAILURES:
                    self._give_up(error)
                    return
                logger.exception("%s goes on after a failure", self._thread.name)
                self._end.wait(_PAUSE_S * 2 ** (in_a_row - 1))

    def _give_up(self, error: Exception) -> None:
        self.error = error
        logger.critical(
            "%s stops after %d failures in a row", self._thread.name, _FAILURES, exc_info=error
        )
        self._stopped()
