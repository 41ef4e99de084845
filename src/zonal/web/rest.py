"""REST: a key is a path, methods are Zenoh's operations (Visotto 2023, 4.2.2 and 6.4)."""

from __future__ import annotations

import asyncio
import logging
import math
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache, partial
from typing import TYPE_CHECKING
from urllib.parse import unquote

import zenoh

from zonal.keys import MAX_TOPIC_CHUNKS, check_topic
from zonal.session import DEFAULT_TIMEOUT_S, NearSample, Sample, is_admin
from zonal.trust import Action
from zonal.web.feed import FeedSelection, Reader
from zonal.web.grants import ANYBODY, Asked
from zonal.web.guest_book import noted_stream
from zonal.web.metrics import PLAIN, label_of_encodings
from zonal.web.parameters import Parameters, read_parameters
from zonal.web.presentation import to_geojson, to_html, to_json
from zonal.web.problem import Problem, problem_of
from zonal.web.publishing import Publishing, is_routed, options_of
from zonal.web.shared_queries import SharedQueries

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.geo import Area
    from zonal.session import Replies, ReplyFailure, Session
    from zonal.web.access import WebAccess
    from zonal.web.connections import Connections
    from zonal.web.exchange import Exchange
    from zonal.web.feed import Feeds
    from zonal.web.grants import WebGrant
    from zonal.web.metrics import Metrics
    from zonal.web.options import WebLimits
    from zonal.web.visitors import Visitor
    from zonal.web.vocabulary import Operation

logger = logging.getLogger(__name__)

_REMEMBERED = 4_096
_SHORT = 512
"""Bytes of query strings that are remembered; long ones would fill the memory."""
_ALLOW = ((b"allow", b"GET, PUT, POST, DELETE"),)
_FORMATS = {
    "html": b"text/html; charset=utf-8",
    "geojson": b"application/geo+json",
    "json": b"application/json",
}
_ACCEPTED = {b"text/html": "html", b"application/geo+json": "geojson"}
"""What `Accept` asks for; anything else gets JSON."""
_SHOWN_AS_THEY_ARE = (b"text/", b"application/", b"image/", b"audio/", b"video/")
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
        self._read = partial(read_parameters, limits=limits)
        self._remembered = lru_cache(_REMEMBERED)(self._read)

    async def answer(self, request: Exchange, visitor: Visitor) -> None:
        """One request, from its headers to the end of its answer."""
        try:
            self._access.check_host(request.headers)
            await self._answer(request, visitor)
        except Exception as error:
            problem = problem_of(error)
            if problem is None:
                logger.exception("%s %s failed", request.method, request.scope["path"])
                problem = Problem(500, "the server failed; its log says why")
            self._metrics.count("zonal_requests", request.method, str(problem.status))
            await request.respond_problem(problem)

    async def _answer(self, request: Exchange, visitor: Visitor) -> None:
        grant = self._access.grant(request.headers)
        match request.method:
            case "PUT" | "POST":
                self._access.check_write(request.headers, grant)
                await self._put(request, grant)
            case "DELETE":
                self._access.check_write(request.headers, grant)
                await self._delete(request, grant)
            case "GET" if request.accepts == b"text/event-stream":
                await self._subscribe(request, Reader(grant, visitor))
            case "GET":
                with visitor.holding("questions", self._limits.questions_per_address):
                    await self._get(request, grant)
            case _:
                raise Problem(405, f"{request.method} has no meaning for a key", _ALLOW)

    def _read_request(
        self, request: Exchange, operation: Operation, grant: WebGrant
    ) -> tuple[str, Parameters]:
        raw: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
        path = raw.partition(b"?")[0]
        if len(path) > self._limits.key_bytes or path.count(b"/") > MAX_TOPIC_CHUNKS:
            most = f"{self._limits.key_bytes} bytes and {MAX_TOPIC_CHUNKS} chunks"
            raise Problem(414, f"a key has at most {most} here")
        key = unquote(path.decode("latin-1")).strip("/")
        if not key:
            raise Problem(404, "a key is missing: the path is the key, such as /city/airquality")
        if not (operation == "query" and is_admin(key)):
            check_topic(key)
        elif not grant.admin:
            raise Problem(403, f"{key}: this is for administrators")
        read = self._remembered if len(request.query) <= _SHORT else self._read
        return key, read(request.query, operation)

    # Publish

    def _message(self, request: Exchange, grant: WebGrant) -> tuple[str, Parameters]:
        """Key and parameters of a message that may be sent, with its place as it may be told."""
        key, given = self._read_request(request, "message", grant)
        precision_m = self._access.check_message(grant, key, given.location, given.fence)
        if precision_m is None or given.location is None:
            return key, given
        return key, replace(given, precision_m=max(precision_m, given.precision_m or 0.0))

    async def _put(self, request: Exchange, grant: WebGrant) -> None:
        key, parameters = self._message(request, grant)
        body = await request.read_body(self._limits.body_bytes)
        content_type = request.headers.get(b"content-type")
        content_encoding = None if content_type is None else _content_encoding(content_type)
        address = (key, request.query, content_type, parameters.precision_m)
        is_short = len(request.query) <= _SHORT
        arguments = (key, body, parameters, content_encoding, address if is_short else None)
        if is_routed(parameters.one_encoding):
            self._publishing.put(*arguments)
        else:
            await asyncio.to_thread(self._publishing.put, *arguments)
        await self._published(request, key, parameters)

    async def _delete(self, request: Exchange, grant: WebGrant) -> None:
        key, parameters = self._message(request, grant)
        await asyncio.to_thread(self._session.delete, key, **options_of(parameters))
        await self._published(request, key, parameters)

    async def _published(self, request: Exchange, key: str, parameters: Parameters) -> None:
        encoding = PLAIN if parameters.location is None else parameters.one_encoding or "s2"
        self._metrics.count_topic("zonal_published", key, encoding)
        self._metrics.count("zonal_requests", request.method, "200")
        await request.respond(200)

    # Query

    async def _get(self, request: Exchange, grant: WebGrant) -> None:
        key, parameters = self._read_request(request, "query", grant)
        payload = await request.read_body(self._limits.body_bytes)
        label = label_of_encodings(parameters.encodings, parameters.area)
        answer = await self._queries.ask(
            (key, request.query, payload, id(grant)),
            lambda: self._query(key, parameters, payload, label, grant),
        )
        self._metrics.count_topic("zonal_queries", key, label)
        if answer.is_nothing and _is_definite(key, parameters):
            raise Problem(404, f"nobody has a value of {key!r}; wildcards ask for many: {key}/**")
        self._metrics.count("zonal_requests", "GET", "200")
        extra = [] if answer.complete else [(b"zonal-truncated", b"true")]
        if parameters.raw and not answer.samples:
            await request.respond(404, extra=extra)
        elif parameters.raw:
            sandbox = (b"content-security-policy", b"sandbox")  # never a page of this origin
            await request.respond(200, *_raw(answer.samples[0]), [*extra, sandbox])
        else:
            name = parameters.format or _ACCEPTED.get(request.accepts, "json")
            await request.respond(200, _FORMATS[name], answer.written[name](), extra)

    async def _query(
        self, key: str, parameters: Parameters, payload: bytes, label: str, grant: WebGrant
    ) -> _Answer:
        action, near = Action.QUERY, parameters.location
        own = grant.own(action, key, near)
        asked = Asked(action, key, parameters.area, own, near)
        area = asked.area
        if not is_admin(key):
            area, _ = grant.narrowed(action, key, area, own)
        seconds = parameters.timeout or min(DEFAULT_TIMEOUT_S, self._limits.query_seconds)
        if parameters.nearest is not None:
            return await self._nearest(asked, parameters, seconds, grant)
        replies = await self._ask(key, parameters, area, seconds, payload or None)
        # Zenoh ends a query itself; the time here is for safety.
        samples = await replies.gather(self._limits.replies, seconds + 2.0)
        self._metrics.count_topic("zonal_questions", key, label)
        self._metrics.count_topic("zonal_replies", key, label, len(samples))
        if not (grant is ANYBODY or is_admin(key)):
            seen = (grant.sees(asked, sample) for sample in samples)
            samples = [sample for sample in seen if sample is not None]
        return _Answer(samples, replies.failures, replies.is_complete)

    async def _nearest(
        self, asked: Asked, parameters: Parameters, seconds: float, grant: WebGrant
    ) -> _Answer:
        assert parameters.nearest is not None
        found = self._session.get(
            f"{asked.key}?{parameters.selector}" if parameters.selector else asked.key,
            nearest=parameters.nearest,
            to=asked.near,
            within_m=parameters.within_m,
            encoding=parameters.encodings or None,
            timeout=seconds,
        )
        most = parameters.within_m or math.inf
        seen = [grant.sees(asked, sample) async for sample in found]
        near = [sample for sample in seen if isinstance(sample, NearSample)]
        near = [sample for sample in near if sample.distance_m <= most]
        near.sort(key=lambda sample: sample.distance_m)
        return _Answer(list[Sample](near), found.failures, complete=True)

    async def _ask(
        self,
        key: str,
        parameters: Parameters,
        area: Area | None,
        seconds: float,
        payload: bytes | None,
    ) -> Replies:
        selector = f"{key}?{parameters.selector}" if parameters.selector else key

        def ask() -> Replies:
            return self._session.get(
                selector,
                area=area,
                encoding=parameters.encodings or None,
                timeout=seconds,
                payload=payload,
            )

        names = parameters.encodings or (("s2",) if area is not None else ("json",))
        return ask() if all(map(is_routed, names)) else await asyncio.to_thread(ask)

    # Subscribe

    async def _subscribe(self, request: Exchange, reader: Reader) -> None:
        grant = reader.grant
        key, parameters = self._read_request(request, "stream", grant)
        if parameters.fenced and not grant.fenced:
            raise Problem(403, f"{key}: you hear fenced messages where you are, not everywhere")
        own = grant.own(Action.SUBSCRIBE, key, parameters.location)
        area, said = grant.narrowed(Action.SUBSCRIBE, key, parameters.area, own)
        asked = Asked(Action.SUBSCRIBE, key, parameters.area, own) if grant.rules else None
        selection = FeedSelection(
            key,
            area,
            parameters.encodings,
            parameters.fenced or own is not None,
            parameters.detect,
            grant,
            asked,
            parameters.thing,
        )
        listener = None if parameters.fenced else own
        streaming = self._feeds.open(
            selection, listener, reader, counters=parameters.counters, said=said
        )
        async with streaming as stream:
            self._metrics.count("zonal_requests", "GET", "200")
            if connection := self._connections.get(request.scope.get("client")):
                stream.write, stream.disconnect = connection.write, connection.abort
            watch = asyncio.create_task(request.wait_until_gone())
            watch.add_done_callback(lambda _: stream.close())
            try:
                with noted_stream(reader.visitor.name, grant.name):
                    await request.respond_piecewise(_STREAM_HEADERS, stream)
            finally:
                watch.cancel()


@dataclass(frozen=True)
class _Answer:
    """What a query brought, for all who asked the same; written out once."""

    samples: list[Sample]
    failures: list[ReplyFailure]
    complete: bool

    @property
    def is_nothing(self) -> bool:
        """Whether nobody replied."""
        return not (self.samples or self.failures)

    @cached_property
    def written(self) -> dict[str, Callable[[], bytes]]:
        """The answer in each format."""
        writers = {"json": to_json, "geojson": to_geojson, "html": to_html}
        return {
            name: cache(partial(write, self.samples, self.failures))
            for name, write in writers.items()
        }


def _is_definite(key: str, parameters: Parameters) -> bool:
    """Whether one thing is asked for, which is there or not, rather than all that there is."""
    about = parameters.area or parameters.selector or parameters.nearest
    return "*" not in key and not about


@lru_cache(256)
def _content_encoding(content_type: bytes) -> zenoh.Encoding:
    return zenoh.Encoding(content_type.decode("latin-1"))


def _raw(sample: Sample) -> tuple[bytes, bytes]:
    """A sample's media type and its own bytes."""
    content_type = str(sample.content_encoding).encode("latin-1", "replace")
    if not content_type.startswith(_SHOWN_AS_THEY_ARE):
        content_type = b"application/octet-stream"
    return content_type, sample.payload.to_bytes()
