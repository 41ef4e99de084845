"""One connection: HTTP within bounds of size and time, and what an event stream does beside it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from zonal.web.problem import Problem

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from zonal.web.options import WebLimits

Connections: TypeAlias = "dict[tuple[str, int] | None, HttpConnection]"
"""The open connections of a server, by their `client` as it stands in a request's scope."""

_PIPELINED = 8
"""Requests that may wait behind the one that is answered."""
_BODY_SPARE = 65_536
"""Bytes for what stands between the chunks of a body."""


class HttpConnection(HttpToolsProtocol):
    """uvicorn's HTTP, which ends connections that send too much or take too long.

    A request's head has to come within `head_seconds` and `head_bytes`, its body within
    `body_seconds`; an answer has to be taken, by however little, every `stalled_seconds`.
    `look` has to be called now and then.
    """

    def __init__(
        self,
        connections: Connections,
        limits: WebLimits,
        on_lost: Callable[[], None] = lambda: None,
        **given: Any,
    ) -> None:
        super().__init__(**given)
        self._all = connections
        self._limits = limits
        self._on_lost = on_lost
        self._in_head = True
        self._size = 0
        self._due = math.inf
        """When what is awaited has to be here."""
        self._problem: Problem | None = None
        self._left = math.inf
        self._moved_at = 0.0

    # What a stream does

    def write(self, chunk: bytes) -> bool:
        """Write a chunk of a chunked response without waiting; False if it cannot be taken now.

        Only while the response has begun and its task waits: then nobody else writes.
        """
        if self.flow.write_paused or self.transport.is_closing():
            return False
        self.transport.write(chunk)
        return True

    def abort(self) -> None:
        """Close without sending what is buffered: the other end takes nothing."""
        self.transport.abort()

    # Time

    def look(self, now: float) -> None:
        """End the connection if the client is too slow."""
        if now > self._due:
            what = "head" if self._in_head else "body"
            self._refuse(Problem(408, f"the {what} of the request took too long"))
        elif self.flow is not None and self.flow.write_paused:
            left = self.transport.get_write_buffer_size()
            if left < self._left:
                self._left, self._moved_at = left, now
            elif now - self._moved_at > self._limits.stalled_seconds:
                self.abort()
        else:
            self._left = math.inf

    # The protocol of asyncio

    def connection_made(  # type: ignore[override]  # asyncio gives it a transport of both ways
        self, transport: asyncio.Transport
    ) -> None:
        """A client is there: its requests find this connection by its address."""
        super().connection_made(transport)
        self._due = self.loop.time() + self._limits.head_seconds
        if self.client is not None:  # else it is gone already
            self._all[self.client] = self

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        if self._all.get(self.client) is self:
            del self._all[self.client]
        self._on_lost()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes of requests; whatever comes while nothing is awaited begins one."""
        self._unset_keepalive_if_required()
        if self._due == math.inf:
            self._due = self.loop.time() + self._limits.head_seconds
        self._size += len(data)
        try:
            self.parser.feed_data(data)
            self._check_size()
        except Problem as problem:
            self._refuse(problem)
        except httptools.HttpParserUpgrade:
            self._refuse(Problem(400, "this server speaks HTTP/1.1 alone"))
        except httptools.HttpParserError:
            self._refuse(self._problem or Problem(400, "this is not HTTP/1.1"))

    # What the parser finds

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._due = self.loop.time() + self._limits.head_seconds
        self._in_head = True

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; one of a trailer counts as well."""
        if len(self.headers) >= self._limits.headers:
            self._stop(Problem(431, f"more than {self._limits.headers} headers"))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is there."""
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > self._limits.head_bytes:
            self._stop(self._too_long())
        if len(self.pipeline) >= _PIPELINED:
            self._stop(Problem(429, f"more than {_PIPELINED} requests wait on one connection"))
        self._in_head = False
        self._due = self.loop.time() + self._limits.body_seconds
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The whole request is there."""
        self._in_head, self._size, self._due = True, 0, math.inf
        super().on_message_complete()

    # Refusing

    def _check_size(self) -> None:
        """What the parser keeps to itself is bounded too: an unfinished header, a trailer."""
        if self._in_head and self._size > self._limits.head_bytes:
            raise self._too_long()
        most = self._limits.head_bytes + 2 * self._limits.body_bytes + _BODY_SPARE
        if self._size > most:
            raise Problem(413, f"a request of more than {most} bytes is over the limit")

    def _too_long(self) -> Problem:
        return Problem(431, f"a head of more than {self._limits.head_bytes} bytes")

    def _stop(self, problem: Problem) -> None:
        """Leave the parser, which would say only that something was raised."""
        self._problem = problem
        raise problem

    def _refuse(self, problem: Problem) -> None:
        """Answer, where nothing else is being answered, and close."""
        self._due = math.inf
        if self.transport.is_closing():
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self.abort()
            return
        body = problem.body("")
        head = b"content-type: application/problem+json\r\nconnection: close\r\n"
        length = b"content-length: %d\r\n\r\n" % len(body)
        self.transport.write(STATUS_LINE[problem.status] + head + length + body)
        self.transport.close()
