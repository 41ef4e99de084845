"""Queryables: they answer questions about a topic and an area."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import zenoh

from zonal.errors import AttachmentError
from zonal.geo import Cell, as_point
from zonal.keys import (
    Encoding,
    blurred,
    check_topic,
    is_plain,
    keys_to_announce,
    place_key,
    queryable_keys,
    topic_of,
)
from zonal.runtime import Incoming, Mailbox, Overflow, Recent, Tally
from zonal.session.content import as_payload
from zonal.session.declared_keys import DeclaredKeys
from zonal.session.geo_context import GeoContext, identity_of
from zonal.session.given import area_given
from zonal.session.refusal import refusal, refusals
from zonal.session.undeclaring import DeclaredInArea
from zonal.session.way import Origin, Way, fence_around
from zonal.session.weight import bytes_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.geo import Area, GivenArea, GivenPoint
    from zonal.session.parts import SessionParts
    from zonal.session.sample import Source
    from zonal.session.scope import Scope

logger = logging.getLogger(__name__)

UNREADABLE = "the question's attachment cannot be read"
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
        location: GivenPoint | Cell | None = None,
        geofence: GivenArea | None = None,
        encoding: str = "s2",
        precision_m: float | None = None,
        content_encoding: zenoh.Encoding | str | None = None,
        attachment: bytes | None = None,
        timestamp: zenoh.Timestamp | None = None,
        source: Source | None = None,
    ) -> None:
        """Answer with a message of this topic, from this location or from nowhere.

        Of a blurred place the location is its cell. With a `geofence` only an asker inside it
        hears the answer; a circle without a centre is around the location, or around our position
        where there is none. `source`: who sent it, where the answer is somebody else's message.
        """
        fence = area_given(geofence)
        name, way = self._reply_way(key, location, fence, encoding, precision_m)
        origin = self._origin(way, source)
        data = way.attachment(origin, attachment)
        payload, content = as_payload(payload, content_encoding)
        try:
            self.zenoh.reply(name, payload, encoding=content, attachment=data, timestamp=timestamp)
        except zenoh.ZError as error:
            raise refusal(self._parts.zenoh, f"reply to {self.key!r}", error) from error

    def reply_del(
        self,
        key: str,
        *,
        location: GivenPoint | Cell | None = None,
        encoding: str = "s2",
        timestamp: zenoh.Timestamp | None = None,
        source: Source | None = None,
    ) -> None:
        """Answer that the topic was deleted at this location (see `reply`)."""
        name, way = self._reply_way(key, location, None, encoding, None)
        origin = self._origin(way, source)
        data = way.attachment(origin, None)
        with refusals(self._parts.zenoh, f"reply to {self.key!r}"):
            self.zenoh.reply_del(name, attachment=data, timestamp=timestamp)

    def reply_err(self, payload: Any) -> None:
        """Answer that the question cannot be answered."""
        payload, content = as_payload(payload, None)
        with refusals(self._parts.zenoh, f"reply to {self.key!r}"):
            self.zenoh.reply_err(payload, encoding=content)

    def _origin(self, way: Way, source: Source | None) -> Origin:
        if source is None:
            return self._parts.origin_of(way)
        return Origin.of(source.id, source.sequence)

    def _reply_way(
        self,
        key: str,
        location: GivenPoint | Cell | None,
        fence: Area | None,
        encoding: str,
        precision_m: float | None,
    ) -> tuple[str, Way]:
        name, place = check_topic(key), None
        if location is not None:
            place = (
                location if isinstance(location, Cell) else blurred(as_point(location), precision_m)
            )
            # Replies go back the way the question came, so they need a key, but no match.
            located = place_key(name, place, self._parts.encoding_named(encoding))
            if self._accepts(located):
                name = located
        if fence is not None and fence.is_ego_centric and place is None:
            fence = fence.at(self._parts.position.current())
        return name, Way((name,), place, fence_around(place, fence))

    def _accepts(self, key: str) -> bool:
        """Whether the asker takes a reply under this key; plain clients take their own only."""
        query = self.zenoh
        return query.accepts_replies() == zenoh.ReplyKeyExpr.ANY or query.key_expr.intersects(
            zenoh.KeyExpr(key)
        )

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


class Queryable(DeclaredInArea, Incoming[Query]):
    """Answers questions about a topic and an area: iterate over it, or give a callback.

    An area that follows the session's position is declared with a margin, and anew beyond it; what
    is answered is what the area holds at the time of the question.
    """

    def __init__(
        self,
        topic: str,
        scope: Scope,
        parts: SessionParts,
        encodings: tuple[Encoding, ...],
        *,
        complete: bool | None,
        capacity: int,
    ) -> None:
        self.key = check_topic(topic)
        self._scope = scope
        self._encodings = encodings
        self._name = f"queryable {topic!r}"
        mailbox: Mailbox[_Asked] = Mailbox(
            capacity, Overflow.DROP_NEWEST, name=self._name, weigh=_bytes_of
        )
        super().__init__(mailbox, self._read)
        self._malformed = Tally(logger, "a question was left out (%(count)d so far): %(why)s")
        self._parts = parts
        self._lock = threading.Lock()
        self._asked: Recent[int] = Recent(_REMEMBERED)
        self.received = 0
        self.filtered_at_edge = 0
        handler = zenoh.handlers.Callback(self._take, indirect=False)
        self._tokens = DeclaredKeys(parts.announcements.announce)
        self._queryables = DeclaredKeys(
            lambda key: parts.zenoh.declare_queryable(key, handler, complete=complete)
        )
        self._declare()
        parts.followers.add(self)

    @property
    def declared_keys(self) -> tuple[str, ...]:
        """The key expressions that are declared to the network."""
        return self._queryables.keys

    def move(self) -> None:
        """Follow the position."""
        before = self._scope.wish
        self._scope.move(self._parts.position.last)
        if self._scope.wish is not before:
            self._declare()

    def _declare(self) -> None:
        wish = self._scope.wish
        keys = () if wish is None else queryable_keys(self.key, wish.area, self._encodings)
        self._tokens.adjust(keys_to_announce(keys))
        self._queryables.adjust(keys)

    @property
    def overflowed(self) -> int:
        """Questions that were dropped, since too many were waiting."""
        return self._mailbox.overflowed

    @property
    def malformed(self) -> int:
        """Questions that could not be read; who asked them got an error."""
        return self._malformed.count

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
        except AttachmentError as error:
            if not is_plain(str(asked.query.key_expr)):
                self._malformed.add(error)
                with asked.query as query:
                    query.reply_err(UNREADABLE)
                return None
            context = None  # a plain client with an attachment of its own
        if context is None or self._is_asked(context):
            return Query(asked.query, context, self._parts)
        asked.query.drop()
        return None

    def _is_asked(self, context: GeoContext) -> bool:
        area = self.area
        if context.area is None or area is None or context.area.intersects(area):
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
        self._queryables.close()
        self._tokens.close()
        self._end()
        self._parts.followers.forget(self)

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"{len(self._mailbox)} waiting"
        return f"Queryable(key={self.key!r}, area={self.area}, {state})"


def _bytes_of(asked: _Asked) -> int:
    return bytes_of(asked.query)
