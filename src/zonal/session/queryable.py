"""Queryables: they answer questions about a topic and an area."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import zenoh

from zonal.errors import AttachmentError, GeometryError
from zonal.keys import (
    Encoding,
    check_topic,
    keys_to_announce,
    place_key,
    queryable_keys,
    topic_of,
)
from zonal.runtime import Incoming, Mailbox, Overflow, Recent
from zonal.session.content import checked_encoding
from zonal.session.geo_context import GeoContext, identity_of
from zonal.session.way import Way, blurred

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.geo import Area, Point
    from zonal.session.parts import SessionParts

_REMEMBERED = 4096
"""Questions whose further copies are recognized."""


class Query:
    """A question to a queryable: the topic, the parameters, and the area it is about.

    Use it as a context manager, or call `drop()` when all replies are given: the asker then
    knows that nothing more will come.
    """

    def __init__(self, query: zenoh.Query, context: GeoContext | None, parts: SessionParts) -> None:
        self.zenoh = query
        self._context = context
        self._parts = parts

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
        kind = self._parts.encoding_named(encoding)
        # Replies go back the way the question came, so they need a key, but no match.
        name = place_key(topic, place, kind)
        if self.zenoh.accepts_replies() != zenoh.ReplyKeyExpr.ANY and not (
            self.zenoh.key_expr.intersects(zenoh.KeyExpr(name))
        ):
            name = topic  # a plain client asked for the topic alone
        return name, Way((name,), place, None).attachment(self._parts.origin, attachment)

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


class Queryable(Incoming[Query]):
    """Answers questions about a topic and an area: iterate over it, or give a callback."""

    def __init__(
        self,
        topic: str,
        area: Area | None,
        parts: SessionParts,
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
        self._name = f"queryable {topic!r}"
        super().__init__(Mailbox(capacity, Overflow.DROP_NEWEST, name=self._name), self._read)
        self._parts = parts
        self._on_close = on_close
        self._closed = False
        self._lock = threading.Lock()
        self._asked: Recent[int] = Recent(_REMEMBERED)
        self.received = 0
        self.filtered_at_edge = 0
        keys = queryable_keys(self.key, area, encodings)
        self._tokens = [parts.announcements.announce(key) for key in keys_to_announce(keys)]
        handler = zenoh.handlers.Callback(self._take, indirect=False)
        self._queryables = [
            parts.zenoh.declare_queryable(key, handler, complete=complete) for key in keys
        ]

    @property
    def declared_keys(self) -> tuple[str, ...]:
        """The key expressions that are declared to the network."""
        return tuple(str(queryable.key_expr) for queryable in self._queryables)

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
        self._bring((_Asked(query, data),))

    def _is_known(self, data: bytes) -> bool:
        try:
            identity = identity_of(data)
        except AttachmentError:
            return False  # a plain client with an attachment of its own
        with self._lock:
            return identity is not None and self._asked.check(identity)

    def _read(self, asked: _Asked) -> Query | None:
        """The question, if it is about this queryable's area."""
        try:
            context = None if asked.attachment is None else GeoContext.from_bytes(asked.attachment)
        except AttachmentError:
            context = None
        if context is None or self._is_asked(context):
            return Query(asked.query, context, self._parts)
        asked.query.drop()
        return None

    def _is_asked(self, context: GeoContext) -> bool:
        if context.area is None or self.area is None or context.area.intersects(self.area):
            return True
        self.filtered_at_edge += 1
        return False

    def call(self, callback: Callable[[Query], Any]) -> None:
        """Hand every question to a callback; whoever asked hears of its errors."""

        def answer(query: Query) -> None:
            with query:
                try:
                    callback(query)
                except Exception as error:
                    query.reply_err(f"{type(error).__name__}: {error}")
                    raise

        self._call_back(self._name, answer, self._parts.threads)

    def undeclare(self) -> None:
        """Answer no more; what was asked is answered."""
        if self._closed:
            return
        self._closed = True
        for queryable in self._queryables:
            queryable.undeclare()
        for token in self._tokens:
            token.undeclare()
        self._end()
        self._on_close(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.undeclare()
