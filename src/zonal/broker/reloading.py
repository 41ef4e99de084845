"""What a broker reads anew while it runs: passwords, rules and certificates.

Files are read in the thread that watches them; what they say is put in force in the broker's own.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from zonal.broker import reason_codes
from zonal.broker.changed_rules import change_rules
from zonal.broker.credentials import Credentials, read_passwords
from zonal.trust import read_rules

if TYPE_CHECKING:
    from zonal.broker.access import Access
    from zonal.broker.core import Broker
    from zonal.broker.server import Server
    from zonal.runtime import Reloads


class BrokerFiles:
    """Watches the files of a broker, from the event loop that it runs in."""

    def __init__(self, reloads: Reloads, broker: Broker, server: Server) -> None:
        self._reloads = reloads
        self._broker = broker
        self._server = server
        self._loop = asyncio.get_running_loop()

    def watch_access(self, access: Access, passwords: Path | None, rules: Path | None) -> None:
        """Watches what says who is let in and may do what."""
        if passwords is not None and isinstance(access, Credentials):
            self._watch_passwords(access, passwords)
        if rules is not None:
            self._watch_rules(access, rules)

    def _watch_passwords(self, access: Credentials, path: Path) -> None:
        """Clients whose user is gone, or has another password now, are disconnected."""

        def reload() -> None:
            found = read_passwords(path)
            self._loop.call_soon_threadsafe(lambda: self._send_away(access, access.change(found)))

        self._reloads.watch(f"passwords {path}", [path], reload)

    def _watch_rules(self, access: Access, path: Path) -> None:
        """Users and subscriptions are held to the new rules."""

        def reload() -> None:
            found = read_rules(path)

            def hold() -> None:
                change_rules(self._broker, found, access)
                self._server.schedule()

            self._loop.call_soon_threadsafe(hold)

        areas = () if access.rules is None else access.rules.files
        self._reloads.watch(f"rules {path}", [path, *map(Path, areas)], reload)

    def _send_away(self, access: Access, users: frozenset[str]) -> None:
        now = self._server.clock()
        for connection, session in list(self._broker.attached.items()):
            by_certificate = connection.peer.certificate_name is not None
            came_by = connection.entrance.access is access
            if came_by and session.user_name in users and not by_certificate:
                self._broker.drop(
                    connection, reason_codes.NOT_AUTHORIZED, "the password holds no more", now
                )
        self._server.schedule()
