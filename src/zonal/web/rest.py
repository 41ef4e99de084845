"""REST: a key is a path, methods are Zenoh's operations (Visotto 2023, 4.2.2 and 6.4).

A plain ASGI application without framework: publishing costs little more than the server itself.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import zenoh

from zonal.keys import check_topic
from zonal.session import DEFAULT_TIMEOUT_S
from zonal.web.feed import FeedSelection
from zonal.web.metrics import PLAIN
from zonal.web.parameters import Parameters, read_parameters
from zonal.web.presentation import to_html, to_json
from zonal.web.problem import Problem, problem_of
from zonal.web.publishing import Publishing, is_routed, options_of
from zonal.web.shared_queries import SharedQueries

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import Receive, Scope, Send

    from zonal.session import Replies, ReplyFailure, Sample, Session
    from zonal.web.access import WebAccess
    from zonal.web.connections import Connections
    from zonal.web.feed import Feeds
    from zonal.web.metrics import Metrics
    from zonal.web.options import WebLimits

logger = logging.getLogger(__name__)

_REMEMBERED = 4_096
_ALLOW = ((b"allow", b"GET, PUT, POST, DELETE"),)
_JSON, _HTML = b"application/json", b"text/html; charset=utf-8"
_STREAM_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


class Rest:
    """Answers requests for keys."""

    def __init__(
        self,
        session: Session,
        feeds: Feeds,
        access: WebAccess,
        metrics: Metrics,
        limits: WebLimits,
        connections: Connections,
    ) -> None:
        self._session = session
        self._feeds = feeds
        self._access = access
        self._metrics = metrics
        self._limits = limits
        self._connections = connections
        self._publishing = Publishing(session)
        self._queries: SharedQueries[_Answer] = SharedQueries()
        # Things that stand still send from the same address again and again.
        self._parameters = lru_cache(_REMEMBERED)(partial(read_parameters, limits=limits))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        method: str = scope["method"]
        headers = dict(scope["headers"])
        try:
            self._access.check_host(headers)
            await self._answer(method, scope, headers, receive, send)
        except Exception as error:
            problem = problem_of(error)
            if problem is None:
                logger.exception("%s %s failed", method, scope["path"])
                problem = Problem(500, "the server failed; its log says why")
            self._metrics.count("zonal_requests", method, str(problem.status))
            await send_problem(problem, scope, send)

    async def _answer(
        self,
        method: str,
        scope: Scope,
        headers: Mapping[bytes, bytes],
        receive: Receive,
        send: Send,
    ) -> None:
        match method:
            case "PUT" | "POST":
                self._access.check_write(headers)
                await self._put(scope, headers, receive, send)
            case "DELETE":
                self._access.check_write(headers)
                await self._delete(scope, send)
            case "GET" if _accepts(headers) == b"text/event-stream":
                await self._subscribe(scope, receive, send)
            case "GET":
                await self._get(scope, headers, receive, send)
            case _:
                raise Problem(405, f"{method} has no meaning for a key", _ALLOW)

    # Publish

    async def _put(
        self, scope: Scope, headers: Mapping[bytes, bytes], receive: Receive, send: Send
    ) -> None:
        key, parameters = self._asked(scope)
        body = await read_body(headers, receive, self._limits.body_bytes)
        content_type = headers.get(b"content-type")
        content_encoding = None if content_type is None else _content_encoding(content_type)
        address = (key, scope["query_string"], content_type)
        arguments = (key, body, parameters, content_encoding, address)
        if is_routed(parameters.one_encoding):
            self._publishing.put(*arguments)
        else:
            await asyncio.to_thread(self._publishing.put, *arguments)
        await self._published(scope, key, parameters, send)

    async def _delete(self, scope: Scope, send: Send) -> None:
        key, parameters = self._asked(scope)
        await asyncio.to_thread(self._session.delete, key, **options_of(parameters))
        await self._published(scope, key, parameters, send)

    async def _published(self, scope: Scope, key: str, parameters: Parameters, send: Send) -> None:
        encoding = PLAIN if parameters.location is None else parameters.one_encoding or "s2"
        self._metrics.count_topic("zonal_published", key, encoding)
        self._metrics.count("zonal_requests", scope["method"], "200")
        await _respond(send, 200, _JSON, b"")

    # Query

    async def _get(
        self, scope: Scope, headers: Mapping[bytes, bytes], receive: Receive, send: Send
    ) -> None:
        key, parameters = self._asked(scope)
        payload = await read_body(headers, receive, self._limits.body_bytes)
        asked = (key, scope["query_string"], payload)
        answer = await self._queries.ask(asked, lambda: self._query(key, parameters, payload))
        label = FeedSelection(key, parameters.area, parameters.encodings, False).label
        self._metrics.count_topic("zonal_queries", key, label)
        self._metrics.count("zonal_requests", "GET", "200")
        extra = [] if answer.complete else [(b"zonal-truncated", b"true")]
        if parameters.raw:
            await _respond_raw(send, answer.samples, extra)
        elif _accepts(headers) == b"text/html":
            await _respond(send, 200, _HTML, answer.html, extra)
        else:
            await _respond(send, 200, _JSON, answer.json, extra)

    async def _query(self, key: str, parameters: Parameters, payload: bytes) -> _Answer:
        seconds = parameters.timeout or min(DEFAULT_TIMEOUT_S, self._limits.query_seconds)
        replies = await self._ask(key, parameters, seconds, payload or None)
        # Zenoh ends a query itself; the time here is for safety.
        samples = await replies.gather(self._limits.replies, seconds + 2.0)
        label = FeedSelection(key, parameters.area, parameters.encodings, False).label
        self._metrics.count_topic("zonal_questions", key, label)
        self._metrics.count_topic("zonal_replies", key, label, len(samples))
        return _Answer(samples, replies.failures, replies.is_complete)

    async def _ask(
        self, key: str, parameters: Parameters, seconds: float, payload: bytes | None
    ) -> Replies:
        selector = f"{key}?{parameters.selector}" if parameters.selector else key

        def ask() -> Replies:
            return self._session.get(
                selector,
                area=parameters.area,
                encoding=parameters.encodings or None,
                timeout=seconds,
                payload=payload,
            )

        names = parameters.encodings or (("s2",) if parameters.area is not None else ("json",))
        return ask() if all(map(is_routed, names)) else await asyncio.to_thread(ask)

    # Subscribe

    async def _subscribe(self, scope: Scope, receive: Receive, send: Send) -> None:
        key, parameters = self._asked(scope)
        own = parameters.location
        selection = FeedSelection(
            key, parameters.area, parameters.encodings, parameters.fenced or own is not None
        )
        listener = None if parameters.fenced else own
        stream = await self._feeds.open(selection, listener, counters=parameters.counters)
        self._metrics.count("zonal_requests", "GET", "200")
        if connection := self._connections.get(scope.get("client")):
            stream.write, stream.disconnect = connection.write, connection.abort
        watch = asyncio.create_task(_close_on_disconnect(receive, stream.close))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": _STREAM_HEADERS})
            while data := await stream.take():
                await send({"type": "http.response.body", "body": data, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            watch.cancel()
            await asyncio.shield(self._feeds.release(stream))

    # Both

    def _asked(self, scope: Scope) -> tuple[str, Parameters]:
        raw: bytes = scope.get("raw_path") or scope["path"].encode()
        key = unquote(raw.partition(b"?")[0].decode("latin-1")).strip("/")
        if not key:
            raise Problem(404, "a key is missing: the path is the key, such as /city/airquality")
        check_topic(key)
        return key, self._parameters(scope["query_string"])


@dataclass(frozen=True)
class _Answer:
    """What a query brought, for all who asked the same; written out once."""

    samples: list[Sample]
    failures: list[ReplyFailure]
    complete: bool

    @cached_property
    def json(self) -> bytes:
        return to_json(self.samples, self.failures)

    @cached_property
    def html(self) -> bytes:
        return to_html(self.samples, self.failures)


@lru_cache(256)
def _content_encoding(content_type: bytes) -> zenoh.Encoding:
    return zenoh.Encoding(content_type.decode("latin-1"))


def _accepts(headers: Mapping[bytes, bytes]) -> bytes:
    """The first media type that the client accepts."""
    return headers.get(b"accept", b"").partition(b",")[0].partition(b";")[0].strip().lower()


async def _close_on_disconnect(receive: Receive, close: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    close()


async def read_body(headers: Mapping[bytes, bytes], receive: Receive, limit: int) -> bytes:
    """The body of a request, refused as soon as it is known to be too large."""
    length = headers.get(b"content-length")
    if length is None and b"transfer-encoding" not in headers:
        return b""
    if length is not None and int(length) > limit:
        raise Problem(413, f"a body of {int(length)} bytes is over the limit of {limit}")
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem(400, "the request ended before its body")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            raise Problem(413, f"a body of more than {limit} bytes is over the limit")
        more = message.get("more_body", False)
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def _respond(
    send: Send,
    status: int,
    content_type: bytes,
    body: bytes,
    extra: list[tuple[bytes, bytes]] | None = None,
) -> None:
    headers = [(b"content-length", b"%d" % len(body)), *(extra or ())]
    if body:
        headers += [(b"content-type", content_type), (b"x-content-type-options", b"nosniff")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _respond_raw(send: Send, samples: list[Sample], extra: list[tuple[bytes, bytes]]) -> None:
    """The first reply's own bytes; shown as what they are, never as a page of this origin."""
    if not samples:
        await _respond(send, 404, _JSON, b"", extra)
        return
    content_type = str(samples[0].content_encoding).encode("latin-1", "replace")
    if not content_type.startswith((b"text/", b"application/", b"image/", b"audio/", b"video/")):
        content_type = b"application/octet-stream"
    safe = [*extra, (b"content-security-policy", b"sandbox")]
    await _respond(send, 200, content_type, samples[0].payload.to_bytes(), safe)


async def send_problem(problem: Problem, scope: Scope, send: Send) -> None:
    """Answer with what is wrong."""
    body = problem.body(scope["path"])
    headers = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", b"%d" % len(body)),
        *problem.headers,
    ]
    if problem.status == 413:
        headers.append((b"connection", b"close"))  # the rest of the body is not wanted
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
