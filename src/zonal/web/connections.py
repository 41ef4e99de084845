"""What an event stream does with its connection beside HTTP: write at once, and end at once."""

from __future__ import annotations

import asyncio
from typing import TypeAlias

Connections: TypeAlias = "dict[tuple[str, int] | None, HttpConnection]"
"""The open connections of a server, by their `client` as it stands in a request's scope."""


class HttpConnection(asyncio.Protocol):
    """Stands between a transport and the protocol that speaks HTTP on it; passes everything on."""

    def __init__(self, http: asyncio.Protocol, connections: Connections) -> None:
        self._http = http
        self._connections = connections
        self._transport: asyncio.Transport
        self._client: tuple[str, int] | None = None
        self._is_full = False

    def write(self, chunk: bytes) -> bool:
        """Write a chunk of a chunked response without waiting; False if it cannot be taken now.

        Only while the response has begun and its task waits: then nobody else writes.
        """
        if self._is_full or self._transport.is_closing():
            return False
        self._transport.write(chunk)
        return True

    def abort(self) -> None:
        """Close without sending what is buffered: the other end takes nothing."""
        self._transport.abort()

    def connection_made(  # type: ignore[override]  # asyncio gives it a transport of both ways
        self, transport: asyncio.Transport
    ) -> None:
        """A client is there: its requests find this connection by its address."""
        self._transport = transport
        if peer := transport.get_extra_info("peername"):  # else it is gone already
            self._client = peer[:2]
            self._connections[self._client] = self
        self._http.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        if self._connections.get(self._client) is self:
            del self._connections[self._client]
        self._http.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes of requests."""
        self._http.data_received(data)

    def eof_received(self) -> bool | None:
        """The client sends nothing more."""
        return self._http.eof_received()

    def pause_writing(self) -> None:
        """The transport's buffer is full."""
        self._is_full = True
        self._http.pause_writing()

    def resume_writing(self) -> None:
        """There is room again."""
        self._is_full = False
        self._http.resume_writing()
