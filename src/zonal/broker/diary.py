"""Who came, went and was refused, and why: a line each in the log; a flood is cut short."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zonal.broker.connection import Connection

logger = logging.getLogger("zonal.broker")

A_SECOND, AT_ONCE = 20.0, 200.0
"""Lines that are written a second, and at once; how many more there would have been is said."""


class Diary:
    """Writes what happens to clients; names of clients' making are quoted and escaped."""

    def __init__(self) -> None:
        self._left = AT_ONCE
        self._at = 0.0
        self._kept_back = 0

    def came(self, connection: Connection, now: float, *, present: bool) -> None:
        """A client was let in."""
        version = "5" if connection.version == 5 else "3.1" if connection.reader.is_31 else "3.1.1"
        kind = "its session goes on" if present else "new session"
        self._write(
            now, "%r connected from %s, user %r, MQTT %s, keep-alive %s s, %s",
            connection.client_id, connection.peer.address or "?",
            connection.user.name if connection.user else None, version, connection.keep_alive, kind,
        )  # fmt: skip

    def left(self, connection: Connection, why: str, now: float) -> None:
        """A client is gone."""
        self._write(now, "%r left: %s", connection.client_id, why)

    def sent_away(self, connection: Connection, code: int, reason: str, now: float) -> None:
        """A client that was connected is disconnected by the broker."""
        self._write(now, "%r is disconnected: 0x%02x %s", connection.client_id, code, reason)

    def refused(self, connection: Connection, code: int, reason: str, now: float) -> None:
        """A connection was not let in."""
        packet = connection.connect
        self._write(
            now, "a connection from %s is refused (client %r, user %r): 0x%02x %s",
            connection.peer.address or "?", packet.client_id if packet else None,
            packet.username if packet else None, code, reason, level=logging.WARNING,
        )  # fmt: skip

    def denied(self, client_id: str, what: str, code: int, reason: str, now: float) -> None:
        """A publication or subscription was not accepted."""
        self._write(now, "%r: %s refused: 0x%02x %s", client_id, what, code, reason)

    def narrowed(self, client_id: str, pattern: str, rule: str, now: float) -> None:
        """A subscription gets less than it asked for."""
        self._write(now, "%r: %r is narrowed by %s", client_id, pattern[:80], rule)

    def implausible(self, client_id: str, user: str | None, what: str, now: float) -> None:
        """A client cannot have come to where it says it is."""
        self._write(now, "%r (user %r) says that it is %s", client_id, user, what)

    def _write(self, now: float, text: str, *values: object, level: int = logging.INFO) -> None:
        if not logger.isEnabledFor(level):
            return
        self._left = min(AT_ONCE, self._left + max(0.0, now - self._at) * A_SECOND)
        self._at = now
        if self._left < 1:
            self._kept_back += 1
            return
        self._left -= 1
        if self._kept_back:
            logger.warning("%d lines like the next were not written", self._kept_back)
            self._kept_back = 0
        logger.log(level, text, *values)
