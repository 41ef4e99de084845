"""Following the position: one thread a session asks for it when its lifetime is over."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

import zenoh

from zonal.errors import ZonalError

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.session.position import Position

logger = logging.getLogger(__name__)

_SLOWEST_STEP_S = 60.0
_FASTEST_STEP_S = 0.05


class Mover:
    """Calls `follow` whenever the position's lifetime is over, from `start` to `close`."""

    def __init__(self, position: Position, follow: Callable[[], object]) -> None:
        self._position = position
        self._follow = follow
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._stopped = False

    def start(self) -> None:
        """Begin, if the position moves at all; safe to call again."""
        with self._lock:
            if self._thread is not None or self._stopped or not self._position.moves:
                return
            self._thread = threading.Thread(target=self._run, name="zonal-mover", daemon=True)
            self._thread.start()

    def wake(self) -> None:
        """The lifetime changed: reckon anew."""
        self._wake.set()

    def close(self) -> None:
        """End the thread; it may be the caller's own."""
        with self._lock:
            self._stopped = True
            thread = self._thread
        self._wake.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self) -> None:
        while not self._stopped:
            step = min(_SLOWEST_STEP_S, max(_FASTEST_STEP_S, self._position.lifetime))
            if self._wake.wait(step):
                self._wake.clear()
                continue
            if not self._position.moves:
                continue
            try:
                self._follow()
            except (ZonalError, zenoh.ZError) as error:
                if not self._stopped:
                    logger.warning("could not follow the position: %s", error)
