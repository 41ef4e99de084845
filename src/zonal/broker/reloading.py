"""What a broker reads anew while it runs: passwords, rules and certificates.

Files are read in the thread that watches them; what they say is put in force in the broker's own.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING

from zonal.broker import reason_codes
from zonal.broker.changed_rules import change_rules
from zonal.broker.credentials import Credentials, read_passwords
from zonal.trust import read_rules

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Sequence

    from zonal.broker.core import Broker
    from zonal.broker.server import Server
    from zonal.runtime import Reloads

_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----")


class BrokerFiles:
    """Watches the files of a broker, from the event loop that it runs in."""

    def __init__(self, reloads: Reloads, broker: Broker, server: Server) -> None:
        self._reloads = reloads
        self._broker = broker
        self._server = server
        self._loop = asyncio.get_running_loop()

    def watch_passwords(self, path: Path) -> None:
        """Clients whose user is gone, or has another password now, are disconnected."""

        def reload() -> None:
            found = read_passwords(path)
            access = self._broker.access
            assert isinstance(access, Credentials)
            self._loop.call_soon_threadsafe(lambda: self._send_away(access.change(found)))

        self._reloads.watch(f"passwords {path}", [path], reload)

    def watch_rules(self, path: Path) -> None:
        """Users and subscriptions are held to the new rules."""

        def reload() -> None:
            found = read_rules(path)

            def hold() -> None:
                change_rules(self._broker, found)
                self._server.schedule()

            self._loop.call_soon_threadsafe(hold)

        rules = self._broker.access.rules
        areas = () if rules is None else rules.files
        self._reloads.watch(f"rules {path}", [path, *map(Path, areas)], reload)

    def watch_certificates(
        self, files: Sequence[Path], client_ca: Path | None, make: Callable[[], ssl.SSLContext]
    ) -> None:
        """Who connects from now on meets what the files hold.

        Where an authority of clients is gone, those who came by a certificate have to come again.
        """
        trusted = _authorities(client_ca)

        def reload() -> None:
            nonlocal trusted
            context, found = make(), _authorities(client_ca)
            gone, trusted = trusted - found, found
            renewing = self._renew(context, send_away=bool(gone))
            asyncio.run_coroutine_threadsafe(renewing, self._loop)

        self._reloads.watch("TLS certificates", files, reload)

    async def _renew(self, context: ssl.SSLContext, *, send_away: bool) -> None:
        await self._server.renew(context)
        if not send_away:
            return
        now = self._server.clock()
        for connection in list(self._broker.attached):
            if connection.peer.certificate_name is not None:
                self._broker.drop(
                    connection, reason_codes.NOT_AUTHORIZED, "authorities have changed", now
                )
        self._server.schedule()

    def _send_away(self, users: frozenset[str]) -> None:
        now = self._server.clock()
        for connection, session in list(self._broker.attached.items()):
            by_certificate = connection.peer.certificate_name is not None
            if session.user_name in users and not by_certificate:
                self._broker.drop(
                    connection, reason_codes.NOT_AUTHORIZED, "the password holds no more", now
                )
        self._server.schedule()


def _authorities(path: Path | None) -> frozenset[bytes]:
    """The certificates of a file."""
    return frozenset() if path is None else frozenset(_CERTIFICATE.findall(path.read_bytes()))
