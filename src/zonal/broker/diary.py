"""Who came, went and was refused, and why: a line each in the log; a flood is cut short."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from zonal.runtime import SparingLog

if TYPE_CHECKING:
    from zonal.broker.connection import Connection


class Diary:
    """Writes what happens to clients; names of clients' making are quoted and escaped."""

    def __init__(self) -> None:
        self._log = SparingLog(logging.getLogger("zonal.broker"))

    def came(self, connection: Connection, now: float, *, present: bool) -> None:
        """A client was let in."""
        version = "5" if connection.version == 5 else "3.1" if connection.reader.is_31 else "3.1.1"
        told = {
            "event": "came",
            "client": connection.client_id,
            "address": connection.peer.address or "?",
            "user": connection.user.name if connection.user else None,
            "version": version,
            "keep_alive": connection.keep_alive,
            "session": "its session goes on" if present else "new session",
        }
        self._log.write(
            logging.INFO,
            "%(client)r connected from %(address)s, user %(user)r, MQTT %(version)s, "
            "keep-alive %(keep_alive)s s, %(session)s",
            told,
            now,
        )

    def left(self, connection: Connection, why: str, now: float) -> None:
        """A client is gone."""
        told = {"event": "left", "client": connection.client_id, "reason": why}
        self._log.write(logging.INFO, "%(client)r left: %(reason)s", told, now)

    def sent_away(self, connection: Connection, code: int, reason: str, now: float) -> None:
        """A client that was connected is disconnected by the broker."""
        told = {
            "event": "sent away", "client": connection.client_id, "code": code, "reason": reason,
            "user": connection.user.name if connection.user else None,
        }  # fmt: skip
        shown = "%(client)r is disconnected: 0x%(code)02x %(reason)s"
        self._log.write(logging.INFO, shown, told, now)

    def refused(self, connection: Connection, code: int, reason: str, now: float) -> None:
        """A connection was not let in."""
        packet = connection.connect
        told = {
            "event": "refused",
            "address": connection.peer.address or "?",
            "client": packet.client_id if packet else None,
            "user": packet.username if packet else None,
            "code": code,
            "reason": reason,
        }
        self._log.write(
            logging.WARNING,
            "a connection from %(address)s is refused (client %(client)r, user %(user)r): "
            "0x%(code)02x %(reason)s",
            told,
            now,
        )

    def denied(self, client_id: str, what: str, code: int, reason: str, now: float) -> None:
        """A publication or subscription was not accepted."""
        told = {
            "event": "denied", "client": client_id, "what": what, "code": code, "reason": reason,
        }  # fmt: skip
        shown = "%(client)r: %(what)s refused: 0x%(code)02x %(reason)s"
        self._log.write(logging.INFO, shown, told, now)

    def narrowed(self, client_id: str, pattern: str, rule: str, now: float) -> None:
        """A subscription gets less than it asked for."""
        told = {"event": "narrowed", "client": client_id, "filter": pattern[:80], "rule": rule}
        shown = "%(client)r: %(filter)r is narrowed by %(rule)s"
        self._log.write(logging.INFO, shown, told, now)

    def implausible(self, client_id: str, user: str | None, what: str, now: float) -> None:
        """A client cannot have come to where it says it is."""
        told = {"event": "implausible", "client": client_id, "user": user, "reason": what}
        shown = "%(client)r (user %(user)r) says that it is %(reason)s"
        self._log.write(logging.INFO, shown, told, now)
