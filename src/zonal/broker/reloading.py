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
from zonal.broker.listeners import tls_context
from zonal.trust import read_rules

if TYPE_CHECKING:
    import ssl

    from zonal.broker.access import Access
    from zonal.broker.core import Broker
    from zonal.broker.listeners import MqttListener
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

    def watch_certificates(self, listener: MqttListener, port: int) -> None:
        """Who connects to this listener from now on meets what its files hold.

        Where an authority of clients is gone, those who came by a certificate have to come again.
        """
        trusted = _authorities(listener.client_ca)

        def reload() -> None:
            nonlocal trusted
            context, found = tls_context(listener), _authorities(listener.client_ca)
            gone, trusted = trusted - found, found
            renewing = self._renew((listener.host, port), context, send_away=bool(gone))
            asyncio.run_coroutine_threadsafe(renewing, self._loop)

        own = (listener.certificate, listener.key, listener.client_ca)
        files = [path for path in own if path is not None]
        self._reloads.watch(f"TLS certificates of {listener.name}", files, reload)

    async def _renew(
        self, place: tuple[str, int], context: ssl.SSLContext, *, send_away: bool
    ) -> None:
        await self._server.renew(place, context)
        if not send_away:
            return
        now = self._server.clock()
        for connection in list(self._broker.attached):
            if connection.peer.certificate_name is not None:
                self._broker.drop(
                    connection, reason_codes.NOT_AUTHORIZED, "authorities have changed", now
                )
        self._server.schedule()

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


def _authorities(path: Path | None) -> frozenset[bytes]:
    """The certificates of a file."""
    return frozenset() if path is None else frozenset(_CERTIFICATE.findall(path.read_bytes()))
