"""The broker on the network: sockets, TLS, WebSocket and the clock around the machine."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, cast

from zonal.broker import reason_codes
from zonal.broker.connection import Connection, Stage
from zonal.broker.link import LAST_WORDS, ClientLink, Hold, WebSocketLink
from zonal.broker.logins import Logins
from zonal.broker.turns import Turns
from zonal.broker.websocket import is_local
from zonal.errors import BrokerError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from zonal.broker.access import User
    from zonal.broker.core import Broker
    from zonal.broker.entrance import Entrance
    from zonal.broker.sharing import Sharing
    from zonal.errors import MqttError

logger = logging.getLogger(__name__)

TICK = 0.1
"""Seconds between looks at the deadlines."""
TLS_HANDSHAKE = 10.0
"""Seconds a client has for the TLS handshake."""
GOODBYE = 0.2
"""Seconds in which clients may read that the server stops."""
LOOKS = 10
"""Ticks between looks at what all connections hold."""


def steady_clock() -> Callable[[], float]:
    """Gives seconds since the epoch that never jump: wall time once, then the monotonic clock."""
    offset = time.time() - time.monotonic()
    return lambda: offset + time.monotonic()


@dataclass(frozen=True, slots=True, eq=False)
class _Listening:
    """Where connections come in, and what is made of each."""

    server: asyncio.Server
    link: Callable[[], ClientLink]
    host: str
    is_encrypted: bool

    @property
    def port(self) -> int:
        return cast("int", self.server.sockets[0].getsockname()[1])


class Server:
    """Listens, and moves bytes between sockets and the broker.

    Everything that arrives in one turn of the event loop (or 32 KiB of it) is processed first; then
    the store commits once, and only then are answers and deliveries written, each connection's in
    one piece.
    """

    def __init__(self, broker: Broker, clock: Callable[[], float]) -> None:
        self.broker = broker
        self.clock = clock
        self._listeners: list[_Listening] = []
        self.links: set[ClientLink] = set()
        """The connections that are there."""
        self._logins = Logins(broker.throttle, clock, self._decided)
        self._ticking: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._turns = Turns(self._loop, self._write, broker.settings.busy_poll_us / 1e6)
        self.schedule = self._turns.schedule
        """Has everything written before the event loop waits again."""
        self.flush = self._turns.flush
        """Has the store commit, and then everything written."""
        self.sharing: Sharing | None = None
        """Shares sessions with other brokers."""
        self.failed: asyncio.Future[None] = self._loop.create_future()
        """Raises when the broker cannot go on."""

    async def __aenter__(self) -> Self:
        self._ticking = asyncio.create_task(self._tick())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def listen(
        self, host: str, port: int, *, tls: ssl.SSLContext | None = None, websocket: bool = False,
        allows: Callable[[str], bool] = is_local, entrance: Entrance | None = None,
    ) -> int:  # fmt: skip
        """Opens a listener and returns its port (of interest where 0 was asked for).

        Pages of other origins than `allows` says cannot connect to a WebSocket. What holds for its
        connections is said by the entrance, by default the broker's first.
        """
        entrance = entrance or self.broker.entrances[0]
        parts = (self.broker, entrance, self._turns, self.clock, self.links)

        def link() -> ClientLink:
            return WebSocketLink(*parts, allows) if websocket else ClientLink(*parts)

        server = await self._serve(link, host, tls, host=host, port=port)
        return cast("int", server.sockets[0].getsockname()[1])

    async def _serve(
        self, link: Callable[[], ClientLink], named: str, tls: ssl.SSLContext | None, **where: Any
    ) -> asyncio.Server:
        handshake = TLS_HANDSHAKE if tls is not None else None
        server = await self._loop.create_server(
            link, ssl=tls, backlog=1024, ssl_handshake_timeout=handshake, **where
        )
        self._listeners.append(_Listening(server, link, named, tls is not None))
        return server

    async def renew(self, place: tuple[str, int], tls: ssl.SSLContext) -> None:
        """Has whoever connects to this host and port from now on meet another context.

        A new context for each socket: one that is in use goes on trusting what it once has, and
        resumes sessions that it once began.
        """
        host, port = place
        for each in list(self._listeners):
            if each.is_encrypted and each.host == host and each.port == port:
                sockets = each.server.sockets
                for known in sockets:
                    await self._serve(each.link, host, tls, sock=known.dup())
                # Whoever asyncio has let in a moment ago belongs to this server one step later,
                # and would be reset if it was closed by then; nobody else comes in by it.
                for known in sockets:
                    self._loop.remove_reader(known.fileno())
                await asyncio.sleep(0)
                each.server.close()
                self._listeners.remove(each)

    def _stop_listening(self) -> None:
        for each in self._listeners:
            each.server.close()
        self._listeners.clear()

    async def close(self) -> None:
        """Stops listening, tells the clients, and lets their last bytes out."""
        self._stop_listening()
        if self._ticking is not None:
            self._ticking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._ticking
        if not self.failed.done():
            self.broker.shut_down(self.clock())
            self.flush()
            self.failed.cancel()
        for link in list(self.links):
            link.close()
        now = self.clock()
        read, written = now + GOODBYE, now + LAST_WORDS
        while self.links and self.clock() < written:
            if self.clock() > read and not any(link.unsent for link in self.links):
                break
            await asyncio.sleep(0.01)
        self._abort()
        self._logins.close()

    def _write(self) -> None:
        """Has the store commit, then writes to each connection what waits for it, in one piece."""
        broker = self.broker
        try:
            waiting = broker.flush()
        except Exception as error:  # noqa: BLE001 - whatever the store raises
            self._give_up(error)
            return
        for connection in waiting:
            link = cast("ClientLink", connection.rim)
            data = connection.take()
            if data:
                broker.counters.bytes_sent += len(data)
                link.write(data)
            if connection.stage is Stage.CLOSED:
                link.close()
        if broker.claiming and self.sharing is not None:
            self._share(lambda sharing: sharing.claim(self.clock()))
        if broker.proving:
            waiting, broker.proving = broker.proving, []
            for connection in waiting:
                cast("ClientLink", connection.rim).hold(Hold.PROVING)
                self._logins.check(connection)

    def _give_up(self, error: Exception) -> None:
        """The store failed: nothing more may be promised, so all connections end at once."""
        logger.critical("the store cannot be written, the broker stops", exc_info=error)
        self._stop_listening()
        self._abort()
        if not self.failed.done():
            self.failed.set_exception(BrokerError(f"the store cannot be written: {error}"))

    def _share(self, job: Callable[[Sharing], None]) -> None:
        """Does something with the database that brokers share; without it none can go on."""
        if self.sharing is None or self.failed.done():
            return
        before = [claim.connection for claim in self.broker.claiming]
        try:
            job(self.sharing)
        except Exception as error:  # noqa: BLE001 - whatever the database raises
            self._give_up(error)
            return
        waiting = {claim.connection for claim in self.broker.claiming}
        for connection in before:
            if connection not in waiting:
                cast("ClientLink", connection.rim).release(Hold.PROVING)
        for connection in waiting:
            cast("ClientLink", connection.rim).hold(Hold.PROVING)
        self.schedule()

    def _abort(self) -> None:
        for link in list(self.links):
            link.abort()

    def _decided(self, connection: Connection, outcome: User | MqttError) -> None:
        """A connection's credentials were checked."""
        self.broker.proved(connection, outcome, self.clock())
        cast("ClientLink", connection.rim).release(Hold.PROVING)
        self.schedule()

    async def _tick(self) -> None:
        for number in itertools.count():
            await asyncio.sleep(TICK)
            try:
                self.broker.tick(self.clock())
                self._share(lambda sharing: sharing.tick(self.clock()))
                if number % LOOKS == 0:
                    self._make_room()
            except Exception:
                logger.exception("a deadline could not be met")
            self.schedule()

    def _make_room(self) -> None:
        """Closes those who hold the most while all connections hold too much."""
        limit = self.broker.settings.limits.buffers
        held = {link: link.buffered for link in self.links}
        total = sum(held.values())
        if total <= limit:
            return
        for link in sorted(held, key=held.__getitem__, reverse=True):
            if total <= limit:
                break
            total -= held[link]
            self.broker.counters.overfull += 1
            self.broker.drop(
                link.connection, reason_codes.QUOTA_EXCEEDED, "too many bytes wait", self.clock()
            )
            link.abort()
