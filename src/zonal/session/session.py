"""The location-aware session: Zenoh's own operations, with places."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar, Unpack

import zenoh

from zonal.errors import ClosedError
from zonal.keys import Role, check_topic
from zonal.runtime import DEFAULT_CAPACITY, Overflow, close_all
from zonal.session.announcements import Announcements
from zonal.session.content import checked_encoding
from zonal.session.gathering import Gathering
from zonal.session.liveliness import Liveliness
from zonal.session.mover import Mover
from zonal.session.parts import SessionParts
from zonal.session.publisher import DeliveryOptions
from zonal.session.querier import DEFAULT_TIMEOUT_S, GetOptions, Querier, ask
from zonal.session.queryable import Queryable
from zonal.session.receiving import Receiving
from zonal.session.sample import origin_of
from zonal.session.sending import Sending, Whence
from zonal.session.subscriber import PullSubscriber, Subscriber, SubscriberOptions
from zonal.session.way import Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import zenoh.ext

    from zonal.geo import Area, Point
    from zonal.keys import Encoding
    from zonal.session.position import Position, PositionHandler
    from zonal.session.publisher import Memory, Publisher, Stamps
    from zonal.session.queryable import Query
    from zonal.session.recovery import Recovery
    from zonal.session.replies import Replies
    from zonal.session.sample import Sample

Handler: TypeAlias = "Callable[[Sample], Any] | tuple[Callable[[Sample], Any], Any] | None"
SubscriberT = TypeVar("SubscriberT", bound=Subscriber)


class Session:
    """A Zenoh session in which messages, subscriptions and queries have a place.

    The plain session is `session.zenoh`. Where neither a location is given nor a position known,
    messages are plain Zenoh messages.
    """

    def __init__(
        self,
        session: zenoh.Session,
        position: Position,
        encoding: Encoding,
        *,
        stamps: Stamps,
        datagrams: bool,
    ) -> None:
        self.zenoh = session
        self._position = position
        announcements = Announcements(session)
        self._receiving = Receiving(session, announcements, datagrams=datagrams)
        origin, threads = Origin(origin_of(str(session.zid()))), self._receiving.threads
        self._parts = SessionParts(session, origin, position, encoding, announcements, threads)
        self._sending = Sending(self._parts, stamps)
        self._lock = threading.RLock()
        self._subscribers: list[Subscriber] = []
        self._queryables: list[Queryable] = []
        self._closed = threading.Event()
        self._mover = Mover(position, self.update_position)

    # Position

    def declare_position_handler(self, lifetime: float, handler: PositionHandler | Point) -> None:
        """Where to ask for the position, and for how many seconds an answer is valid."""
        self._position.declare(handler, lifetime)
        self._mover.wake()
        self.update_position()

    def set_position_lifetime(self, lifetime: float) -> None:
        """Change how long a position is valid, without touching the handler."""
        self._position.lifetime = lifetime
        self._follow_position()
        self._mover.wake()

    @property
    def position(self) -> Point | None:
        """The last known position."""
        return self._position.last

    @property
    def position_failures(self) -> int:
        """How often the position handler raised or returned nonsense."""
        return self._position.failures

    def update_position(self) -> Point:
        """Ask the handler now, and let everything that follows the position follow."""
        point = self._position.current(renew=True)
        with self._lock:
            following = [s for s in self._subscribers if s.follows_position]
        for subscriber in following:
            subscriber.move()
        self._follow_position()
        return point

    def _follow_position(self) -> None:
        """Subscribers whose area or fences move with us need somebody to ask where we are."""
        with self._lock:
            needed = any(subscriber.follows_position for subscriber in self._subscribers)
        if needed and not self._closed.is_set():
            self._mover.start()

    # Publish

    def put(
        self,
        key: str,
        payload: Any,
        *,
        content_encoding: zenoh.Encoding | str | None = None,
        congestion_control: zenoh.CongestionControl | None = None,
        priority: zenoh.Priority | None = None,
        express: bool | None = None,
        attachment: bytes | None = None,
        timestamp: zenoh.Timestamp | None = None,
        **whence: Unpack[Whence],
    ) -> None:
        """Publish a message from a `location`, or from the session's position.

        `geofence`: only those inside it hear the message. `precision_m`: nothing finer than a
        cell of that size leaves the device. `encoding`: how its place is written into its key.
        """
        self._check_open()
        way = self._sending.way(key, **whence)
        data, timestamp = self._parts.seal(way, attachment, timestamp)
        delivery = DeliveryOptions(congestion_control, priority, express).of_put()
        encoding = checked_encoding(content_encoding)
        for name in way.keys:
            self.zenoh.put(
                name, payload, encoding=encoding, attachment=data, timestamp=timestamp, **delivery
            )

    def delete(
        self,
        key: str,
        *,
        attachment: bytes | None = None,
        timestamp: zenoh.Timestamp | None = None,
        **whence: Unpack[Whence],
    ) -> None:
        """Tell that a topic has no value at this place any more (see `put`)."""
        self._check_open()
        way = self._sending.way(key, **whence)
        data, timestamp = self._parts.seal(way, attachment, timestamp)
        for name in way.keys:
            self.zenoh.delete(name, attachment=data, timestamp=timestamp)

    def declare_publisher(
        self,
        key: str,
        *,
        content_encoding: zenoh.Encoding | str | None = None,
        congestion_control: zenoh.CongestionControl | None = None,
        priority: zenoh.Priority | None = None,
        express: bool | None = None,
        reliability: zenoh.Reliability | None = None,
        allowed_destination: zenoh.Locality | None = None,
        memory: Memory | None = None,
        **whence: Unpack[Whence],
    ) -> Publisher:
        """A publisher of one topic, from a `location` or wherever the session is (see `put`).

        With `memory`, late subscribers get its last messages.
        """
        self._check_open()
        delivery = DeliveryOptions(
            congestion_control, priority, express, reliability, allowed_destination
        )
        return self._sending.publisher(key, delivery, content_encoding, memory, **whence)

    # Subscribe

    def declare_subscriber(
        self,
        key: str,
        handler: Handler = None,
        *,
        area: Area | None = None,
        encoding: str | Iterable[str] | None = None,
        fenced: bool = False,
        margin_m: float | None = None,
        capacity: int = DEFAULT_CAPACITY,
        overflow: Overflow = Overflow.DROP_OLDEST,
        history: zenoh.ext.HistoryConfig | None = None,
        recovery: Recovery | None = None,
    ) -> Subscriber:
        """Receive the messages of a topic that come from an area.

        Without an area: every message of the topic, with or without a location. A `Circle`
        without a centre follows the session's position, and is declared anew when it moved by
        `margin_m` (a quarter of its radius). Messages with a geofence are heard by those inside
        it, or with `fenced=True` by everybody. `encoding` may name several. From publishers with
        a memory, `history` gets what was sent before, and `recovery` what was lost on its way.
        """
        options = SubscriberOptions(
            area=area,
            encodings=self._parts.encodings_for(area, encoding),
            fenced=fenced,
            margin_m=margin_m,
            capacity=capacity,
            overflow=overflow,
            history=history,
            recovery=recovery,
        )
        subscriber = self._subscribe(Subscriber, key, options)
        if handler is not None:
            function = handler[0] if isinstance(handler, tuple) else handler
            subscriber.call(function, self._receiving.threads, self._receiving.arrivals)
        return subscriber

    def declare_pull_subscriber(
        self,
        key: str,
        *,
        area: Area | None = None,
        encoding: str | Iterable[str] | None = None,
        fenced: bool = False,
        margin_m: float | None = None,
        capacity: int = 1,
    ) -> PullSubscriber:
        """Keep the latest `capacity` messages until they are pulled."""
        options = SubscriberOptions(
            area=area,
            encodings=self._parts.encodings_for(area, encoding),
            fenced=fenced,
            margin_m=margin_m,
            capacity=capacity,
            role=Role.PULL_SUBSCRIBER,
        )
        return self._subscribe(PullSubscriber, key, options)

    def _subscribe(
        self, kind: type[SubscriberT], key: str, options: SubscriberOptions
    ) -> SubscriberT:
        self._check_open()
        topic = check_topic(key)
        self._position.look(required=options.is_ego_centric)
        with self._lock:
            self._sending.hear_ourselves()
            subscriber = kind(
                topic,
                options.scope(self._position.last),
                self._receiving.edge(topic, options.encodings, options.history, options.recovery),
                self._position,
                capacity=options.capacity,
                overflow=options.overflow,
                on_close=self._forget_subscriber,
            )
            self._subscribers.append(subscriber)
        self._follow_position()
        return subscriber

    def gather(self, take: Callable[[list[Sample]], None]) -> Gathering:
        """For a gateway with receivers of its own: the messages of others under keys of its choice.

        `take` gets batches on the session's reading thread, each message once, and must not block.
        An `Interest` says which keys the wishes of many come to.
        """
        self._check_open()
        return Gathering(self.zenoh, self._receiving.arrivals, take)

    # Query

    def get(
        self,
        selector: zenoh.Selector | str,
        handler: Callable[[Sample], Any] | None = None,
        *,
        area: Area | None = None,
        encoding: str | Iterable[str] | None = None,
        timeout: float = DEFAULT_TIMEOUT_S,
        target: zenoh.QueryTarget | None = None,
        priority: zenoh.Priority | None = None,
        payload: Any = None,
        attachment: bytes | None = None,
    ) -> Replies:
        """Ask the queryables whose area intersects this one; iterate over the replies.

        Replies with a location outside the area are left out, and the same message from two
        queryables comes once.
        """
        self._check_open()
        kinds = self._parts.encodings_for(area, encoding)
        options = GetOptions(area, kinds, timeout, target, priority)
        replies = ask(self._parts, selector, options, payload, attachment)
        if handler is not None:
            replies.call(handler)
        return replies

    def declare_querier(
        self,
        key: str,
        *,
        area: Area | None = None,
        encoding: str | Iterable[str] | None = None,
        timeout: float = DEFAULT_TIMEOUT_S,
        target: zenoh.QueryTarget | None = None,
        priority: zenoh.Priority | None = None,
    ) -> Querier:
        """A query to ask again and again."""
        self._check_open()
        kinds = self._parts.encodings_for(area, encoding)
        return Querier(key, self._parts, GetOptions(area, kinds, timeout, target, priority))

    def declare_queryable(
        self,
        key: str,
        handler: Callable[[Query], Any] | None = None,
        *,
        area: Area | None = None,
        encoding: str | Iterable[str] | None = None,
        complete: bool | None = None,
        capacity: int = 1024,
    ) -> Queryable:
        """Answer questions about a topic in an area (without one: about any area)."""
        self._check_open()
        queryable = Queryable(
            key,
            area,
            self._parts,
            self._parts.encodings_for(area, encoding),
            complete=complete,
            capacity=capacity,
            on_close=self._forget_queryable,
        )
        with self._lock:
            self._queryables.append(queryable)
        if handler is not None:
            queryable.call(handler)
        return queryable

    def liveliness(self) -> Liveliness:
        """Tokens, subscribers and gets for who is there."""
        self._check_open()
        return Liveliness(self._parts)

    # Closing

    @property
    def is_closed(self) -> bool:
        """Whether the session was closed."""
        return self._closed.is_set()

    def close(self) -> None:
        """Undeclare everything, end every thread, close the plain session; safe to call twice."""
        with self._lock:
            if self._closed.is_set():
                return
            self._closed.set()
            subscribers, queryables = list(self._subscribers), list(self._queryables)
        try:
            close_all(subscriber.undeclare for subscriber in subscribers)
            close_all(queryable.undeclare for queryable in queryables)
            parts = (self._sending, self._receiving, self._parts.announcements, self._mover)
            close_all(part.close for part in parts)
        finally:
            self.zenoh.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Small things

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise ClosedError("the session is closed")

    def _forget_queryable(self, queryable: Queryable) -> None:
        with self._lock:
            if queryable in self._queryables:
                self._queryables.remove(queryable)

    def _forget_subscriber(self, subscriber: Subscriber) -> None:
        with self._lock:
            if subscriber in self._subscribers:
                self._subscribers.remove(subscriber)
            # Under the lock, so that nobody joins an interest that is being closed.
            self._receiving.close_unused()
