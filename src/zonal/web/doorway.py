"""Who is let in: connections are counted by address before anything is read from them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import socket
from typing import TYPE_CHECKING

import uvicorn

from zonal.web.connections import HttpConnection
from zonal.web.problem import Problem
from zonal.web.visitors import CONNECTION_COST, HANDSHAKE_COST

if TYPE_CHECKING:
    from zonal.web.connections import Connections
    from zonal.web.options import WebLimits
    from zonal.web.visitors import Visitors

logger = logging.getLogger(__name__)

_LOOK_S = 1.0
_AT_ONCE = 64
"""Connections that are accepted before others get their turn."""
_SEND_BUFFER = 262_144
"""Bytes that the system may keep for one slow reader; it would take megabytes by itself."""
_SPARE_FILES = 128
"""File descriptors for everything but connections."""


class Doorway(uvicorn.Server):
    """uvicorn, with a door of its own.

    uvicorn counts connections of everyone together, and those in a TLS handshake not at all. Here
    an address that has its share is closed at once, and a handshake takes as long as a head may.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        limits: WebLimits,
        visitors: Visitors,
        connections: Connections,
    ) -> None:
        super().__init__(config)
        self._limits = limits
        self._visitors = visitors
        self._connections = connections
        self._entering: set[asyncio.Task[None]] = set()
        self._listeners: list[socket.socket] = []
        self._looking: asyncio.Task[None] | None = None
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._most = max(1, min(limits.connections, files - _SPARE_FILES))
        self._inside = 0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept."""
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            raise SystemExit(3)
        self.servers = []
        self._listeners = list(sockets or ())
        for listener in self._listeners:
            listener.setblocking(False)
            listener.listen(self.config.backlog)
            self._open(listener)
        self._looking = asyncio.create_task(self._look(), name="doorway")
        self.started = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more, then end as uvicorn does."""
        if self._looking is not None:
            self._looking.cancel()
        for listener in self._listeners:
            asyncio.get_running_loop().remove_reader(listener)
        self._listeners.clear()
        await super().shutdown(sockets)

    def _open(self, listener: socket.socket) -> None:
        if self._listeners:
            asyncio.get_running_loop().add_reader(listener, self._accept, listener)

    def _accept(self, listener: socket.socket) -> None:
        """Take what waits at the door."""
        loop = asyncio.get_running_loop()
        for _ in range(_AT_ONCE):
            try:
                connection, address = listener.accept()
            except BlockingIOError:
                return
            except ConnectionError:
                continue  # it has gone again
            except OSError as error:  # no file descriptor or memory is left
                logger.warning("cannot accept connections: %s", error.strerror)
                loop.remove_reader(listener)
                loop.call_later(_LOOK_S, self._open, listener)
                return
            try:
                kept = self._admit(address[0])
            except Problem as problem:
                logger.debug("a connection is refused: %s", problem)
                connection.close()
                continue
            task = loop.create_task(self._enter(connection, kept))
            self._entering.add(task)
            task.add_done_callback(self._entering.discard)

    def _admit(self, host: str) -> contextlib.ExitStack:
        """Count a connection, until what is returned is closed; or refuse it."""
        if self._inside >= self._most:
            raise Problem(503, f"all {self._most} connections of this server are in use")
        with contextlib.ExitStack() as stack:
            if not self._visitors.is_proxy(host):
                now = asyncio.get_running_loop().time()
                visitor = self._visitors.at(host, now)
                cost = CONNECTION_COST if self.config.ssl is None else HANDSHAKE_COST
                visitor.pay(cost, now, and_keep=1.0)  # for what it is going to ask
                most = self._limits.connections_per_address
                stack.enter_context(visitor.holding("connections", most))
            self._inside += 1
            stack.callback(self._leave)
            return stack.pop_all()

    async def _enter(self, connection: socket.socket, kept: contextlib.ExitStack) -> None:
        secured = self.config.ssl is not None
        patience = {"ssl_handshake_timeout": self._limits.head_seconds} if secured else {}
        try:
            connection.setblocking(False)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: self._protocol(kept), connection, ssl=self.config.ssl, **patience
            )
        except OSError as error:  # time-outs and errors of TLS are of this kind
            logger.debug("a connection failed before its first request: %s", error)
            kept.close()
            connection.close()

    def _protocol(self, kept: contextlib.ExitStack) -> HttpConnection:
        return HttpConnection(
            self._connections,
            self._limits,
            kept.close,
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
        )

    def _leave(self) -> None:
        self._inside -= 1

    async def _look(self) -> None:
        """End what takes too long, forget who is gone."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(_LOOK_S)
            now = loop.time()
            for connection in list(self._connections.values()):
                connection.look(now)
            self._visitors.forget(now)
