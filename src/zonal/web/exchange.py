"""One request and the way to answer it, on plain ASGI: no framework, so that it costs little."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal.web.guest_book import note_refusal
from zonal.web.problem import Problem

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from starlette.types import Receive, Scope, Send

    Headers = Iterable[tuple[bytes, bytes]]


class Exchange:
    """A request as it comes in, and its answer as it goes out."""

    __slots__ = ("_receive", "_send", "headers", "method", "query", "scope")

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        self._receive = receive
        self._send = send
        self.method: str = scope["method"]
        self.query: bytes = scope["query_string"]
        self.headers: dict[bytes, bytes] = dict(scope["headers"])

    @property
    def asgi(self) -> tuple[Scope, Receive, Send]:
        """What an ASGI application is called with."""
        return self.scope, self._receive, self._send

    @property
    def accepts(self) -> bytes:
        """The first media type that the client accepts."""
        listed = self.headers.get(b"accept", b"")
        return listed.partition(b",")[0].partition(b";")[0].strip().lower()

    async def read_body(self, limit: int) -> bytes:
        """The body, refused as soon as it is known to have more than `limit` bytes."""
        length = self.headers.get(b"content-length")
        if length is None and b"transfer-encoding" not in self.headers:
            return b""
        if length is not None and int(length) > limit:
            raise Problem(413, f"a body of {int(length)} bytes is over the limit of {limit}")
        parts, size, more = [], 0, True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise Problem(400, "the request ended before its body")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > limit:
                raise Problem(413, f"a body of more than {limit} bytes is over the limit")
            more = message.get("more_body", False)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def wait_until_gone(self) -> None:
        """Return when the client has disconnected."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def respond(
        self, status: int, content_type: bytes = b"", body: bytes = b"", extra: Headers = ()
    ) -> None:
        """Answer; browsers take the body for what it is said to be, and nothing else."""
        headers = [(b"content-length", b"%d" % len(body)), *extra]
        if body:
            headers += [(b"content-type", content_type), (b"x-content-type-options", b"nosniff")]
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})

    async def respond_piecewise(self, headers: Headers, pieces: AsyncIterator[bytes]) -> None:
        """Answer with pieces as they come, for as long as they come."""
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        async for piece in pieces:
            await self._send({"type": "http.response.body", "body": piece, "more_body": True})
        await self._send({"type": "http.response.body", "body": b""})

    async def respond_problem(self, problem: Problem) -> None:
        """Answer with what is wrong."""
        note_refusal(self.scope, problem)
        extra = list(problem.headers)
        if problem.status == 413:
            extra.append((b"connection", b"close"))  # the rest of the body is not wanted
        body = problem.body(self.scope["path"])
        await self.respond(problem.status, b"application/problem+json", body, extra)
