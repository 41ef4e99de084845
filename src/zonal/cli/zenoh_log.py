"""Zenoh's own log, which it writes to standard output, as records of ours: whom it refused, too."""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
from typing import TYPE_CHECKING, Self

import zenoh

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger("zenoh")

_FILTER = (
    "warn,zenoh_transport::unicast::establishment::accept=debug,"
    "zenoh_transport::unicast::manager=trace"
)
_LINE = re.compile(r"\S+Z\s+([A-Z]+)\s.*?ThreadId\(\d+\)\s+([a-z0-9_:]+): (.*)")
_SOURCE_PLACE = re.compile(r"\s*\bat /\S*?\.rs:\d+\.?")
_ACCEPTING = re.compile(r"Accepting link\.\.\. \S+ => (\S+)")
_ACCEPTED = "New transport link accepted"
_MOST_PENDING = 1_000
_LEVELS = {"ERROR": logging.ERROR, "WARN": logging.WARNING}
_REASONS = {
    "Invalid password": "user or password is wrong",
    "UsrPwd extension - Recv OpenSyn. Invalid user": "user or password is wrong",
    "peer closed connection": "it went before it said who it is",
}


class ZenohLog:
    """Takes over standard output for Zenoh's log, while ours goes where it always did.

    Use it as a context manager before anything of Zenoh is opened. What is set in `RUST_LOG` stays
    so; then whom Zenoh refuses is not told.
    """

    def __init__(self) -> None:
        self.on_refused: Callable[[str | None, str], None] = lambda *_: None
        """Is told who was not let in, where that is known, and why."""
        self._pending: dict[str, None] = {}
        """Those who are being looked at, in their order."""
        self._lock = threading.Lock()

    def came(self, address: str) -> None:
        """Somebody was let in."""
        with self._lock:
            self._pending.pop(address, None)

    def __enter__(self) -> Self:
        os.environ.setdefault("RUST_LOG", _FILTER)
        os.environ["NO_COLOR"] = "1"
        sys.stdout.flush()
        ours = os.dup(1)
        reading, writing = os.pipe()
        os.dup2(writing, 1)
        os.close(writing)
        sys.stdout = os.fdopen(ours, "w", buffering=1)
        zenoh.try_init_log_from_env()
        threading.Thread(target=self._read, args=(reading,), name="zenoh-log", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        sys.stdout.flush()
        os.dup2(sys.stdout.fileno(), 1)

    def _read(self, reading: int) -> None:
        with os.fdopen(reading, errors="replace") as lines:
            for line in lines:
                self.take(line)

    def take(self, line: str) -> None:
        """One line that Zenoh has written."""
        read = _LINE.match(line)
        if read is None:
            return
        level, source, text = read[1], read[2], _SOURCE_PLACE.sub("", read[3]).strip()
        if accepting := _ACCEPTING.match(text):
            with self._lock:
                self._pending[accepting[1]] = None
                while len(self._pending) > _MOST_PENDING:
                    del self._pending[next(iter(self._pending))]
        elif source.endswith("establishment::accept") and level == "DEBUG":
            if not text.startswith(_ACCEPTED):
                self._refused(text)
        elif source.startswith("zenoh_link") and level == "WARN" and "certificate" in text:
            self.on_refused(None, text.partition(". Hint")[0])
        elif level in _LEVELS:
            logger.log(_LEVELS[level], "%s", text)

    def _refused(self, text: str) -> None:
        reason = next((said for part, said in _REASONS.items() if part in text), text)
        with self._lock:
            # Of several that come at the same time, Zenoh does not say whom it means.
            address = next(iter(self._pending)) if len(self._pending) == 1 else None
            self._pending.clear()
        self.on_refused(address, reason)
