"""Queries with areas: asking, queriers, queryables."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import zenoh

from zonal.errors import AttachmentError, ClosedError, GeometryError
from zonal.geo import Area, Everywhere, Point
from zonal.keys import (
    Encoding,
    check_topic,
    keys_to_announce,
    place_key,
    query_keys,
    queryable_keys,
    topic_of,
)
from zonal.runtime import Mailbox, Overflow
from zonal.session.content import checked_encoding
from zonal.session.geo_context import GeoContext, identity_of
from zonal.session.replies import Replies
from zonal.session.routing import Origin, Route, blurred, encodings_named

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from zonal.session.announcements import Announcements
    from zonal.session.position import Position

logger = logging.getLogger(__name__)

DEFAULT_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Asking:
    """The parts of a session that queries need."""

    session: zenoh.Session
    origin: Origin
    position: Position
    announcements: Announcements

    def place_area(self, area: Area | None) -> Area | None:
        """The area, around our position where it is ego-centric."""
        if area is None or not area.is_ego_centric:
            return area
        return area.at(self.position.current())

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
        wanted = placed or Everywhere()
        keys = query_keys(
            topic,
            placed,
            encodings,
            lambda encoding: self.announcements.intersecting(topic, encoding, wanted),
        )
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
        return topic_of(str(self.zenoh.key_expr))

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
            name,
            payload,
            encoding=checked_encoding(content_encoding),
            attachment=data,
            timestamp=timestamp,
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
        name = place_key(topic, place, kind)
        if self.zenoh.accepts_replies() != zenoh.ReplyKeyExpr.ANY and not (
            self.zenoh.key_expr.intersects(zenoh.KeyExpr(name))
        ):
            name = topic  # a plain client asked for the topic alone
        return name, Route((name,), place, None).attachment(self._asking.origin, attachment)

    def drop(self) -> None:
        """Tell that all replies are given."""
        self.zenoh.drop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.drop()


class _Asked(NamedTuple):
    """A question that nobody has read yet."""

    query: zenoh.Query
    attachment: bytes | None


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
        if area is not None and area.is_ego_centric:
            raise GeometryError("a queryable's area needs a centre; place it with at(point)")
        self._asking = asking
        self._on_close = on_close
        self._closed = False
        self._lock = threading.Lock()
        self._mailbox: Mailbox[_Asked] = Mailbox(capacity, Overflow.DROP_NEWEST)
        self._known: set[int] = set()
        self._known_order: deque[int] = deque()
        self._thread: threading.Thread | None = None
        self.received = 0
        self.filtered_at_edge = 0
        self._queryables: list[zenoh.Queryable[None]] = []
        self._tokens: list[zenoh.LivelinessToken] = []
        keys = queryable_keys(self.key, area, encodings)
        for key in keys_to_announce(keys):
            self._tokens.append(asking.announcements.announce(key))
        for key in keys:
            handler = zenoh.handlers.Callback(self._take, indirect=False)
            self._queryables.append(
                asking.session.declare_queryable(key, handler, complete=complete)
            )

    @property
    def overflowed(self) -> int:
        """Questions that were dropped, since too many were waiting."""
        return self._mailbox.overflowed

    def _take(self, query: zenoh.Query) -> None:
        """On Zenoh's thread: a question comes once for every pair of keys that meet."""
        self.received += 1
        attachment = query.attachment
        data = None if attachment is None else attachment.to_bytes()
        if data is not None and self._is_known(data):
            query.drop()
            return
        self._mailbox.put((_Asked(query, data),))

    def _is_known(self, data: bytes) -> bool:
        try:
            identity = identity_of(data)
        except AttachmentError:
            return False  # a plain client with an attachment of its own
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

    def _read(self, asked: _Asked) -> Query | None:
        """The question, if it is about this queryable's area."""
        try:
            context = None if asked.attachment is None else GeoContext.from_bytes(asked.attachment)
        except AttachmentError:
            context = None
        if context is None or self._is_asked(context):
            return Query(asked.query, context, self._asking)
        asked.query.drop()
        return None

    def _is_asked(self, context: GeoContext) -> bool:
        if context.area is None or self.area is None or context.area.intersects(self.area):
            return True
        self.filtered_at_edge += 1
        return False

    def recv(self, timeout: float | None = None) -> Query | None:
        """The next question; None when the time is over."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            asked = self._mailbox.take(left)
            if asked is None:
                return None
            if (query := self._read(asked)) is not None:
                return query

    def __iter__(self) -> Iterator[Query]:
        for asked in self._mailbox:
            if (query := self._read(asked)) is not None:
                yield query

    async def __aiter__(self) -> AsyncIterator[Query]:
        async for asked in self._mailbox:
            if (query := self._read(asked)) is not None:
                yield query

    def call(self, callback: Callable[[Query], Any]) -> None:
        """Hand every question to a callback, in a thread of this queryable's own."""
        self._thread = threading.Thread(
            target=self._call_back, args=(callback,), name=f"zonal-query {self.key}", daemon=True
        )
        self._thread.start()

    def _call_back(self, callback: Callable[[Query], Any]) -> None:
        for query in self:
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
