"""The broker on the network: asyncio (uvloop where it is there) around the machine."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Self, cast

from zonal.broker.access import RemoteEnd
from zonal.broker.connection import Connection, Stage
from zonal.broker.websocket import WebSocket
from zonal.errors import BrokerError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from zonal.broker.access import User
    from zonal.broker.core import Broker

logger = logging.getLogger("zonal.broker")

TICK = 0.1
"""Seconds between looks at the deadlines."""
BURST = 32 * 1024
"""Bytes from clients after which answers and deliveries are written at once."""
STRANGERS = 100
"""Connections beyond the maximum that are still told so; further ones are closed at once."""
TLS_HANDSHAKE = 10.0
"""Seconds a client has for the TLS handshake."""
LAST_WORDS = 5.0
"""Seconds a closed connection has to take its last bytes."""


class SteadyClock:
    """Seconds since the epoch that never jump: wall time once, then the monotonic clock."""

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def __call__(self) -> float:
        """The time now."""
        return self._offset + time.monotonic()


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
        self._links: set[ClientLink] = set()
        self._flushing = False
        self._processed = 0
        self._checks = ThreadPoolExecutor(max_workers=1, thread_name_prefix="credentials")
        self._ticking: asyncio.Task[None] | None = None
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
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
        server = await asyncio.get_running_loop().create_server(
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
            self._flush()
            self.failed.cancel()
        deadline = self.clock() + LAST_WORDS
        while self._links and self.clock() < deadline:
            for link in list(self._links):
                link.close()
            await asyncio.sleep(0.01)
        for link in list(self._links):
            link.abort()
        self._checks.shutdown(wait=False, cancel_futures=True)

    def taken(self, size: int) -> None:
        """Bytes were processed: written at the end of the turn, or now if there were many.

        Receivers should have something to do while the rest of a burst is processed.
        """
        self._processed += size
        if self._processed >= BURST:
            self._flush()
        else:
            self.schedule()

    def schedule(self) -> None:
        """Has everything written at the end of this turn of the event loop."""
        if not self._flushing:
            self._flushing = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
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
        """The store failed: nothing more may be promised, so everybody is sent away at once."""
        logger.critical("the store cannot be written, the broker stops", exc_info=error)
        self._servers, servers = [], self._servers
        for server in servers:
            server.close()
        for link in list(self._links):
            link.abort()
        if not self.failed.done():
            self.failed.set_exception(BrokerError(f"the store cannot be written: {error}"))

    def _prove(self, connection: Connection) -> None:
        """Checks credentials in a thread: a slow hash must not hold anyone else up."""
        link = cast("ClientLink", connection.rim)
        packet = connection.connect
        assert packet is not None
        link.pause()
        future = asyncio.get_running_loop().run_in_executor(
            self._checks, self.broker.access.check, packet.username, packet.password,
            connection.peer,
        )  # fmt: skip

        def done(checked: asyncio.Future[User | None]) -> None:
            if checked.cancelled():
                return
            user = None if checked.exception() else checked.result()
            if checked.exception():
                logger.error("credentials could not be checked", exc_info=checked.exception())
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

    def joined(self, link: ClientLink) -> None:
        """A link came up."""
        self._links.add(link)

    def left(self, link: ClientLink) -> None:
        """A link is gone."""
        self._links.discard(link)


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
        """A client is there."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=self._broker.settings.limits.backlog)
        self._connection = self._broker.open(peer_of(self._transport), self._clock())
        self._connection.rim = self
        self._server.joined(self)

    def data_received(self, data: bytes) -> None:
        """Bytes from the client."""
        self.take(data)

    def take(self, data: bytes) -> None:
        """MQTT bytes from the client. A bug must cost one connection, never the broker."""
        try:
            self._broker.receive(self._connection, data, self._clock())
        except Exception:
            logger.exception("a connection is closed after an internal error")
            self._broker.drop(self._connection, 0x80, "internal error", self._clock())
        self._server.taken(len(data))

    def connection_lost(self, _: Exception | None) -> None:
        """The client is gone."""
        self._server.left(self)
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
        """MQTT bytes to the client; one that has just gone must not cost the others anything."""
        if not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        """Closes after the last bytes are out, or after a while."""
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
        """Frames from the client; large ones only from one that is known."""
        for payload in self._socket.receive(data):
            self.take(payload)
            self._socket.limit(self._connection.reader.limit)
        self._drain()

    def write(self, data: bytes) -> None:
        """MQTT bytes to the client, in one frame."""
        self._socket.send(data)
        self._drain()

    def close(self) -> None:
        """Says goodbye in WebSocket's own way first."""
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
