"""The broker on the network: sockets, TLS, WebSocket and the clock around the machine."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Self, cast

from zonal.broker import reason_codes
from zonal.broker.access import RemoteEnd
from zonal.broker.connection import Connection, Stage
from zonal.broker.websocket import WebSocket
from zonal.errors import BrokerError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from zonal.broker.access import User
    from zonal.broker.core import Broker

logger = logging.getLogger(__name__)

TICK = 0.1
"""Seconds between looks at the deadlines."""
BURST = 32 * 1024
"""Bytes from clients after which answers and deliveries are written at once."""
TLS_HANDSHAKE = 10.0
"""Seconds a client has for the TLS handshake."""
LAST_WORDS = 5.0
"""Seconds a closed connection has to take its last bytes."""


def steady_clock() -> Callable[[], float]:
    """Gives seconds since the epoch that never jump: wall time once, then the monotonic clock."""
    offset = time.time() - time.monotonic()
    return lambda: offset + time.monotonic()


class Server:
    """Listens, and moves bytes between sockets and the broker.

    Everything that arrives in one turn of the event loop (or 32 KiB of it) is processed first; then
    the store commits once, and only then are answers and deliveries written, each connection's in
    one piece.
    """

    def __init__(self, broker: Broker, clock: Callable[[], float]) -> None:
        self.broker = broker
        self.clock = clock
        self._servers: list[asyncio.Server] = []
        self.links: set[ClientLink] = set()
        """The connections that are there."""
        self._flushing = False
        self._processed = 0
        self._checks = ThreadPoolExecutor(max_workers=1, thread_name_prefix="credentials")
        self._ticking: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self.failed: asyncio.Future[None] = self._loop.create_future()
        """Raises when the broker cannot go on."""

    async def __aenter__(self) -> Self:
        self._ticking = asyncio.create_task(self._tick())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def listen(
        self, host: str, port: int, *, tls: ssl.SSLContext | None = None, websocket: bool = False
    ) -> int:
        """Opens a listener and returns its port (of interest where 0 was asked for)."""
        kind = WebSocketLink if websocket else ClientLink
        server = await self._loop.create_server(
            lambda: kind(self),
            host,
            port,
            ssl=tls,
            backlog=1024,
            ssl_handshake_timeout=TLS_HANDSHAKE if tls is not None else None,
        )
        self._servers.append(server)
        return cast("int", server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Stops listening, tells the clients, and lets their last bytes out."""
        for server in self._servers:
            server.close()
        self._servers.clear()
        if self._ticking is not None:
            self._ticking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._ticking
        if not self.failed.done():
            self.broker.shut_down(self.clock())
            self.flush()
            self.failed.cancel()
        deadline = self.clock() + LAST_WORDS
        while self.links and self.clock() < deadline:
            for link in list(self.links):
                link.close()
            await asyncio.sleep(0.01)
        self._abort()
        self._checks.shutdown(wait=False, cancel_futures=True)

    def taken(self, size: int) -> None:
        """Bytes were processed: what came of them is written at the end of the turn.

        After `BURST` bytes it is written at once, so that receivers have something to do while
        the rest is processed.
        """
        self._processed += size
        if self._processed >= BURST:
            self.flush()
        else:
            self.schedule()

    def schedule(self) -> None:
        """Has everything written at the end of this turn of the event loop."""
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Has the store commit, then writes to each connection what waits for it, in one piece."""
        self._flushing = False
        self._processed = 0
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
        if broker.proving:
            waiting, broker.proving = broker.proving, []
            for connection in waiting:
                self._prove(connection)

    def _give_up(self, error: Exception) -> None:
        """The store failed: nothing more may be promised, so all connections end at once."""
        logger.critical("the store cannot be written, the broker stops", exc_info=error)
        self._servers, servers = [], self._servers
        for server in servers:
            server.close()
        self._abort()
        if not self.failed.done():
            self.failed.set_exception(BrokerError(f"the store cannot be written: {error}"))

    def _abort(self) -> None:
        for link in list(self.links):
            link.abort()

    def _prove(self, connection: Connection) -> None:
        """Checks credentials in a thread, since their hash is slow; the client waits."""
        link = cast("ClientLink", connection.rim)
        packet = connection.connect
        assert packet is not None
        link.pause()
        future = self._loop.run_in_executor(
            self._checks, self.broker.access.check, packet.username, packet.password,
            connection.peer,
        )  # fmt: skip

        def done(checked: asyncio.Future[User | None]) -> None:
            if checked.cancelled():
                return
            error = checked.exception()
            if error is not None:
                logger.error("credentials could not be checked", exc_info=error)
            user = checked.result() if error is None else None
            self.broker.proved(connection, user, self.clock())
            link.resume()
            self.schedule()

        future.add_done_callback(done)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            try:
                self.broker.tick(self.clock())
            except Exception:
                logger.exception("a deadline could not be met")
            self.schedule()


class ClientLink(asyncio.Protocol):
    """One TCP or TLS connection."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._broker = server.broker
        self._clock = server.clock
        self._transport: asyncio.Transport
        self._connection: Connection
        self._closing = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=self._broker.settings.limits.backlog)
        self._connection = self._broker.open(peer_of(self._transport), self._clock())
        self._connection.rim = self
        self._server.links.add(self)

    def data_received(self, data: bytes) -> None:
        """MQTT bytes from the client; an error of ours costs this connection, never the broker."""
        try:
            self._broker.receive(self._connection, data, self._clock())
        except Exception:
            logger.exception("a connection is closed after an internal error")
            self._broker.drop(
                self._connection, reason_codes.UNSPECIFIED, "internal error", self._clock()
            )
        self._server.taken(len(data))

    def connection_lost(self, _: Exception | None) -> None:
        """The client is gone."""
        self._server.links.discard(self)
        self._broker.lost(self._connection, self._clock())
        self._server.schedule()

    def pause_writing(self) -> None:
        """The client does not read as fast as it is written to."""
        self._connection.writable = False

    def resume_writing(self) -> None:
        """The client has caught up."""
        self._broker.writable(self._connection, self._clock())
        self._server.schedule()

    def write(self, data: bytes) -> None:
        """MQTT bytes to the client; they are lost if it has just gone."""
        if not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        """Closes when the last bytes are out, at the latest after `LAST_WORDS` seconds."""
        if not self._closing:
            self._closing = True
            self._transport.close()
            asyncio.get_running_loop().call_later(LAST_WORDS, self.abort)

    def abort(self) -> None:
        """Closes at once."""
        self._transport.abort()

    def pause(self) -> None:
        """Reads nothing for now."""
        if not self._transport.is_closing():
            self._transport.pause_reading()

    def resume(self) -> None:
        """Reads again."""
        if not self._transport.is_closing():
            self._transport.resume_reading()


class WebSocketLink(ClientLink):
    """One WebSocket connection: MQTT bytes in binary frames (MQTT 5, section 6)."""

    def __init__(self, server: Server) -> None:
        super().__init__(server)
        self._socket = WebSocket(server.broker.settings.limits.connect_packet_size)

    def data_received(self, data: bytes) -> None:
        """Frames from the client; before its CONNECT is accepted, only small ones."""
        for payload in self._socket.receive(data):
            super().data_received(payload)
            self._socket.limit(self._connection.reader.limit)
        self._drain()

    def write(self, data: bytes) -> None:
        """MQTT bytes to the client, in one frame."""
        self._socket.send(data)
        self._drain()

    def close(self) -> None:
        """Sends WebSocket's own closing frame first."""
        if not self._closing:
            self._socket.close()
            self._drain()
        super().close()

    def _drain(self) -> None:
        data = self._socket.outgoing()
        if data and not self._transport.is_closing():
            self._transport.write(data)
        if self._socket.finished:
            super().close()


def peer_of(transport: asyncio.Transport) -> RemoteEnd:
    """Who is at the other end."""
    address = transport.get_extra_info("peername")
    certificate = transport.get_extra_info("peercert")
    name = None
    if certificate:
        parts = (part for group in certificate.get("subject", ()) for part in group)
        name = next((value for key, value in parts if key == "commonName"), None)
    return RemoteEnd(str(address[0]) if address else "", name)
