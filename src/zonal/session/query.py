"""Queries with areas: replies merged from several gets, queryables, queriers."""

from __future__ import annotations

import logging
import threading
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import zenoh

from zonal.errors import AttachmentError, ClosedError, GeometryError
from zonal.geo import Area, Circle, Everywhere
from zonal.keys import Encoding, Role, check_topic, join, refine
from zonal.session.geo_context import GeoContext
from zonal.session.mailbox import Mailbox, Overflow
from zonal.session.routing import Origin, blurred, encodings_named, route
from zonal.session.sample import Sample, context_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from zonal.geo import Point
    from zonal.session.announcements import Announcements
    from zonal.session.position import Position

logger = logging.getLogger(__name__)

DEFAULT_TIMEOUT_S = 10.0
_REPLIES_CAPACITY = 1_000_000


class ReplyFailure(Exception):  # noqa: N818  (an answer, not an error of ours)
    """A queryable answered with an error; its bytes are in `payload`."""

    def __init__(self, payload: bytes) -> None:
        super().__init__(payload.decode(errors="replace"))
        self.payload = payload


class Replies:
    """The answers to one query as they come, without doubles; iterate with `for` or `async for`.

    Errors that queryables replied are collected in `failures`.
    """

    def __init__(self, gets: int, area: Area | None) -> None:
        self._area = area
        self._open = gets
        self._lock = threading.Lock()
        self._mailbox: Mailbox[Sample] = Mailbox(_REPLIES_CAPACITY, Overflow.BLOCK)
        self._known: set[tuple[str, str, bytes]] = set()
        self.failures: list[ReplyFailure] = []
        self.filtered_at_edge = 0
        self.duplicates = 0
        if gets == 0:
            self._mailbox.close()

    def handler(self) -> zenoh.handlers.Callback[zenoh.Reply]:
        """What one get hands its replies to."""
        return zenoh.handlers.Callback(self._take, drop=self._done)

    def _take(self, reply: zenoh.Reply) -> None:
        if reply.ok is None:
            assert reply.err is not None
            self.failures.append(ReplyFailure(reply.err.payload.to_bytes()))
            return
        try:
            context = context_of(reply.ok)
        except AttachmentError as error:
            logger.warning("dropped a reply: %s", error)
            return
        place = context.place if context else None
        with self._lock:
            if self._area is not None and place is not None and not refine(self._area, place):
                self.filtered_at_edge += 1
                return
            if self._is_double(reply.ok, context):
                self.duplicates += 1
                return
        self._mailbox.put([Sample(reply.ok, place, context)])

    def _is_double(self, sample: zenoh.Sample, context: GeoContext | None) -> bool:
        """The same message twice, from two queryables that both hold it."""
        if sample.timestamp is not None:
            identity = (str(sample.key_expr), str(sample.timestamp), b"")
        elif context is not None and context.origin is not None:
            identity = (str(context.origin), str(context.sequence), b"")
        else:
            return False
        if identity in self._known:
            return True
        self._known.add(identity)
        return False

    def _done(self) -> None:
        with self._lock:
            self._open -= 1
            finished = self._open == 0
        if finished:
            self._mailbox.close()

    def recv(self, timeout: float | None = None) -> Sample | None:
        """The next reply; None when the time is over; `ClosedError` after the last."""
        return self._mailbox.take(timeout)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self._mailbox)

    def __aiter__(self) -> AsyncIterator[Sample]:
        return aiter(self._mailbox)

    def call(self, callback: Callable[[Sample], Any]) -> None:
        """Hand every reply to a callback, in a thread of its own."""
        threading.Thread(
            target=lambda: deque(map(callback, self._mailbox), maxlen=0),
            name="zonal-replies",
            daemon=True,
        ).start()


@dataclass(frozen=True, slots=True)
class Asking:
    """The parts of a session that queries need."""

    session: zenoh.Session
    origin: Origin
    position: Position
    announcements: Announcements

    def place_area(self, area: Area | None) -> Area | None:
        """The area, around our position where it is ego-centric."""
        if isinstance(area, Circle) and area.is_ego_centric:
            return area.at(self.position.current())
        return area

    def get(
        self,
        selector: zenoh.Selector | str,
        area: Area | None,
        encodings: Iterable[Encoding],
        payload: Any,
        attachment: bytes | None,
        options: dict[str, Any],
    ) -> Replies:
        """Ask under every key that the area needs; each queryable answers only once."""
        asked = zenoh.Selector(selector) if isinstance(selector, str) else selector
        topic = check_topic(str(asked.key_expr))
        placed = self.place_area(area)
        keys = [
            join(topic, e) for encoding in encodings for e in self._asked(topic, encoding, placed)
        ]
        if placed is None:
            keys.insert(0, topic)
        context = GeoContext(
            self.origin.id, self.origin.next_sequence(), None, None, placed, True, attachment
        )
        replies = Replies(len(keys), placed)
        parameters = str(asked.parameters)
        for key in keys:
            self.session.get(
                f"{key}?{parameters}" if parameters else key,
                replies.handler(),
                payload=payload,
                attachment=context.to_bytes(),
                accept_replies=zenoh.ReplyKeyExpr.ANY,
                consolidation=zenoh.ConsolidationMode.NONE,
                **options,
            )
        return replies

    def _asked(self, topic: str, encoding: Encoding, area: Area | None) -> tuple[str, ...]:
        if encoding.announces_areas:
            return self.announcements.intersecting(topic, encoding, area or Everywhere())
        return encoding.area_expressions(area or Everywhere(), Role.GET)


class Querier:
    """A query that is asked again and again, each time around the position where it follows it."""

    def __init__(
        self,
        topic: str,
        area: Area | None,
        asking: Asking,
        encodings: tuple[Encoding, ...],
        options: dict[str, Any],
    ) -> None:
        self.key = check_topic(topic)
        self.area = area
        self._asking = asking
        self._encodings = encodings
        self._options = options
        self._closed = False

    def get(
        self,
        *,
        parameters: str | None = None,
        payload: Any = None,
        attachment: bytes | None = None,
    ) -> Replies:
        """Ask, with these parameters (`_time=[now(-1h)..]`, …)."""
        if self._closed:
            raise ClosedError(f"the querier of {self.key!r} is closed")
        selector = f"{self.key}?{parameters}" if parameters else self.key
        return self._asking.get(
            selector, self.area, self._encodings, payload, attachment, self._options
        )

    def undeclare(self) -> None:
        """Ask no more."""
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.undeclare()


class Query:
    """A question to a queryable: the topic, the parameters, and the area it is about.

    Use it as a context manager, or call `drop()` when all replies are given: the asker then
    knows that nothing more will come.
    """

    def __init__(self, query: zenoh.Query, context: GeoContext | None, asking: Asking) -> None:
        self.zenoh = query
        self._context = context
        self._asking = asking

    @property
    def key(self) -> str:
        """The topic that is asked for; may contain wildcards."""
        return str(self.zenoh.key_expr).partition("/@")[0]

    @property
    def parameters(self) -> zenoh.Parameters:
        """What stands behind the question mark (without what we added for replies of any key)."""
        entries = str(self.zenoh.parameters).split(";")
        return zenoh.Parameters(";".join(entry for entry in entries if entry != "_anyke"))

    @property
    def payload(self) -> zenoh.ZBytes | None:
        """What was sent along with the question."""
        return self.zenoh.payload

    @property
    def area(self) -> Area | None:
        """The area that is asked about; None: the whole network."""
        return self._context.area if self._context else None

    @property
    def attachment(self) -> bytes | None:
        """The asker's own attachment."""
        return self._context.user if self._context else None

    def reply(
        self,
        key: str,
        payload: Any,
        *,
        location: Point | None = None,
        encoding: str = "s2",
        precision_m: float | None = None,
        content_encoding: zenoh.Encoding | str | None = None,
        attachment: bytes | None = None,
        timestamp: zenoh.Timestamp | None = None,
    ) -> None:
        """Answer with a message of this topic, from this location or from nowhere."""
        name, data = self._reply_key(key, location, encoding, precision_m, attachment)
        self.zenoh.reply(
            name, payload, encoding=content_encoding, attachment=data, timestamp=timestamp
        )

    def reply_del(
        self,
        key: str,
        *,
        location: Point | None = None,
        encoding: str = "s2",
        timestamp: zenoh.Timestamp | None = None,
    ) -> None:
        """Answer that the topic was deleted at this location."""
        name, data = self._reply_key(key, location, encoding, None, None)
        self.zenoh.reply_del(name, attachment=data, timestamp=timestamp)

    def reply_err(self, payload: Any) -> None:
        """Answer that the question cannot be answered."""
        self.zenoh.reply_err(payload)

    def _reply_key(
        self,
        key: str,
        location: Point | None,
        encoding: str,
        precision_m: float | None,
        attachment: bytes | None,
    ) -> tuple[str, bytes | None]:
        topic = check_topic(key)
        if location is None:
            return topic, attachment
        place = blurred(location, precision_m)
        (kind,) = encodings_named(encoding)
        # Replies go back the way the question came, so they need a key, but no match.
        name = join(topic, kind.place_expressions(place)[0])
        way = route(topic, place, None, encodings_named("s2")[0], self._asking.announcements)
        data = way.attachment(self._asking.origin, attachment)
        if self.zenoh.accepts_replies() != zenoh.ReplyKeyExpr.ANY and not (
            self.zenoh.key_expr.intersects(zenoh.KeyExpr(name))
        ):
            return topic, data  # a plain client asked for the topic alone
        return name, data

    def drop(self) -> None:
        """Tell that all replies are given."""
        self.zenoh.drop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.drop()


class Queryable:
    """Answers questions about a topic and an area: iterate over it, or give a callback."""

    def __init__(
        self,
        topic: str,
        area: Area | None,
        asking: Asking,
        encodings: tuple[Encoding, ...],
        *,
        complete: bool | None,
        capacity: int,
        on_close: Callable[[Queryable], None],
    ) -> None:
        self.key = check_topic(topic)
        self.area = area
        if isinstance(area, Circle) and area.is_ego_centric:
            raise GeometryError("a queryable's area needs a centre; place it with at(point)")
        self._asking = asking
        self._on_close = on_close
        self._closed = False
        self._lock = threading.Lock()
        self._mailbox: Mailbox[Query] = Mailbox(capacity, Overflow.DROP_NEWEST)
        self._known: set[int] = set()
        self._known_order: deque[int] = deque()
        self._thread: threading.Thread | None = None
        self.received = 0
        self.filtered_at_edge = 0
        self._queryables: list[zenoh.Queryable[None]] = []
        self._tokens: list[zenoh.LivelinessToken] = []
        for key in self._keys(encodings):
            self._queryables.append(
                asking.session.declare_queryable(key, self._take, complete=complete)
            )

    def _keys(self, encodings: tuple[Encoding, ...]) -> Iterator[str]:
        if self.area is None:
            yield self.key
        for encoding in encodings:
            for expression in encoding.area_expressions(self.area or Everywhere(), Role.QUERYABLE):
                key = join(self.key, expression)
                if encoding.announces_areas:
                    self._tokens.append(self._asking.announcements.announce(key))
                yield key

    @property
    def overflowed(self) -> int:
        """Questions that were dropped, since too many were waiting."""
        return self._mailbox.overflowed

    def _take(self, query: zenoh.Query) -> None:
        self.received += 1
        try:
            attachment = query.attachment
            context = None if attachment is None else GeoContext.from_bytes(attachment.to_bytes())
        except AttachmentError:
            context = None  # a plain client with an attachment of its own
        if context is not None and (self._is_known(context) or not self._is_asked(context)):
            query.drop()
            return
        self._mailbox.put([Query(query, context, self._asking)])

    def _is_known(self, context: GeoContext) -> bool:
        """A question comes once for every pair of keys that meet; one answer is enough."""
        identity = context.identity
        if identity is None:
            return False
        with self._lock:
            if identity in self._known:
                return True
            self._known.add(identity)
            self._known_order.append(identity)
            if len(self._known_order) > 4096:
                self._known.discard(self._known_order.popleft())
            return False

    def _is_asked(self, context: GeoContext) -> bool:
        if context.area is None or self.area is None or context.area.intersects(self.area):
            return True
        self.filtered_at_edge += 1
        return False

    def recv(self, timeout: float | None = None) -> Query | None:
        """The next question; None when the time is over."""
        return self._mailbox.take(timeout)

    def __iter__(self) -> Iterator[Query]:
        return iter(self._mailbox)

    def __aiter__(self) -> AsyncIterator[Query]:
        return aiter(self._mailbox)

    def call(self, callback: Callable[[Query], Any]) -> None:
        """Hand every question to a callback, in a thread of this queryable's own."""
        self._thread = threading.Thread(
            target=self._call_back, args=(callback,), name=f"zonal-query {self.key}", daemon=True
        )
        self._thread.start()

    def _call_back(self, callback: Callable[[Query], Any]) -> None:
        for query in self._mailbox:
            with query:
                try:
                    callback(query)
                except Exception as error:  # the asker shall hear of the user's own errors
                    logger.exception("the callback of queryable %r failed", self.key)
                    query.reply_err(f"{type(error).__name__}: {error}")

    def undeclare(self) -> None:
        """Answer no more."""
        if self._closed:
            return
        self._closed = True
        for queryable in self._queryables:
            queryable.undeclare()
        for token in self._tokens:
            token.undeclare()
        self._mailbox.close()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self._on_close(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.undeclare()
