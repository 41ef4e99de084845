"""The location-aware session: Zenoh's own operations, with places."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import zenoh
import zenoh.ext

from zonal.errors import ClosedError, GeometryError
from zonal.geo import Area, Point
from zonal.keys import Role, check_topic, encoding_named, encodings
from zonal.runtime import DEFAULT_CAPACITY, Overflow
from zonal.session.announcements import Announcements
from zonal.session.content import checked_encoding
from zonal.session.gathering import Gathering
from zonal.session.liveliness import Liveliness
from zonal.session.mover import Mover
from zonal.session.publisher import Delivery, Memory, Publisher, Stamps
from zonal.session.query import DEFAULT_TIMEOUT_S, Asking, Querier, Query, Queryable
from zonal.session.receiving import Receiving
from zonal.session.recovery import Recovery
from zonal.session.routing import Origin, blurred, encodings_named, route
from zonal.session.sample import origin_of
from zonal.session.scope import Scope
from zonal.session.subscriber import PullSubscriber, Subscriber

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from zonal.keys import Encoding
    from zonal.session.position import Position, PositionHandler
    from zonal.session.replies import Replies
    from zonal.session.sample import Sample

logger = logging.getLogger(__name__)

Handler: TypeAlias = "Callable[[Sample], Any] | tuple[Callable[[Sample], Any], Any] | None"


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
        self._stamps = stamps
        self._position = position
        self._encoding = encoding
        self._origin = Origin(origin_of(str(session.zid())))
        self._announcements = Announcements(session)
        self._asking = Asking(session, self._origin, position, self._announcements)
        self._lock = threading.RLock()
        self._receiving = Receiving(session, self._announcements, datagrams=datagrams)
        self._subscribers: list[Subscriber] = []
        self._others: list[Publisher | Queryable] = []
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
        location: Point | None = None,
        geofence: Area | None = None,
        encoding: str | None = None,
        precision_m: float | None = None,
        content_encoding: zenoh.Encoding | str | None = None,
        congestion_control: zenoh.CongestionControl | None = None,
        priority: zenoh.Priority | None = None,
        express: bool | None = None,
        attachment: bytes | None = None,
        timestamp: zenoh.Timestamp | None = None,
    ) -> None:
        """Publish a message from a location, or from the session's position.

        `geofence`: only those inside it hear the message. `precision_m`: nothing finer than a
        cell of that size leaves the device.
        """
        delivery = Delivery(congestion_control, priority, express).of_put()
        keys, data = self._addressed(
            key, location, geofence, encoding, precision_m, attachment, stamped=timestamp is None
        )
        timestamp = timestamp or self.zenoh.new_timestamp()
        for name in keys:
            self.zenoh.put(
                name,
                payload,
                encoding=checked_encoding(content_encoding),
                attachment=data,
                timestamp=timestamp,
                **delivery,
            )

    def delete(
        self,
        key: str,
        *,
        location: Point | None = None,
        geofence: Area | None = None,
        encoding: str | None = None,
        precision_m: float | None = None,
        attachment: bytes | None = None,
        timestamp: zenoh.Timestamp | None = None,
    ) -> None:
        """Tell that a topic has no value at this place any more."""
        keys, data = self._addressed(
            key, location, geofence, encoding, precision_m, attachment, stamped=timestamp is None
        )
        timestamp = timestamp or self.zenoh.new_timestamp()
        for name in keys:
            self.zenoh.delete(name, attachment=data, timestamp=timestamp)

    def _addressed(
        self,
        key: str,
        location: Point | None,
        geofence: Area | None,
        encoding: str | None,
        precision_m: float | None,
        attachment: bytes | None,
        *,
        stamped: bool,
    ) -> tuple[tuple[str, ...], bytes | None]:
        self._check_open()
        point = location
        if point is None and self._position.is_known:
            point = self._position.current()
        place = None if point is None else blurred(point, precision_m)
        way = route(
            check_topic(key), place, geofence, self._encoding_or(encoding), self._announcements
        )
        return way.keys, way.attachment(self._origin, attachment, stamped=stamped)

    def declare_publisher(
        self,
        key: str,
        *,
        location: Point | None = None,
        geofence: Area | None = None,
        encoding: str | None = None,
        precision_m: float | None = None,
        content_encoding: zenoh.Encoding | str | None = None,
        congestion_control: zenoh.CongestionControl | None = None,
        priority: zenoh.Priority | None = None,
        express: bool | None = None,
        reliability: zenoh.Reliability | None = None,
        allowed_destination: zenoh.Locality | None = None,
        memory: Memory | None = None,
    ) -> Publisher:
        """A publisher of one topic; with `memory`, late subscribers get its last messages."""
        self._check_open()
        with self._lock:
            publisher = Publisher(
                key,
                session=self.zenoh,
                origin=self._origin,
                position=self._position,
                announcements=self._announcements,
                encoding=self._encoding_or(encoding),
                location=location,
                geofence=geofence,
                precision_m=precision_m,
                delivery=Delivery(
                    congestion_control, priority, express, reliability, allowed_destination
                ),
                content_encoding=content_encoding,
                memory=memory,
                stamps=self._stamps,
                on_close=self._forget,
            )
            self._others.append(publisher)
        return publisher

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
        subscriber = self._subscribe(
            Subscriber, key, area, encoding, fenced, margin_m, capacity, overflow, history, recovery
        )
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
        subscriber = self._subscribe(
            PullSubscriber,
            key,
            area,
            encoding,
            fenced,
            margin_m,
            capacity,
            Overflow.DROP_OLDEST,
            None,
            None,
        )
        assert isinstance(subscriber, PullSubscriber)
        return subscriber

    def _subscribe(
        self,
        kind: type[Subscriber],
        key: str,
        area: Area | None,
        encoding: str | Iterable[str] | None,
        fenced: bool,
        margin_m: float | None,
        capacity: int,
        overflow: Overflow,
        history: zenoh.ext.HistoryConfig | None,
        recovery: Recovery | None,
    ) -> Subscriber:
        self._check_open()
        topic = check_topic(key)
        if area is not None and not isinstance(area, Area):
            raise GeometryError(f"an area is a Circle, Box, Polygon, …, not {area!r}")
        if recovery is not None and not isinstance(recovery, Recovery):
            raise TypeError(f"recovery is a zonal.Recovery, not {recovery!r}")
        is_ego_centric = area is not None and area.is_ego_centric
        if is_ego_centric or (self._position.is_known and self._position.last is None):
            self._first_position(required=is_ego_centric)
        kinds = self._encodings_for(area, encoding)
        with self._lock:
            self._hear_ourselves()
            role = Role.PULL_SUBSCRIBER if kind is PullSubscriber else Role.SUBSCRIBER
            subscriber = kind(
                topic,
                Scope(area, self._position.last, fenced=fenced, margin_m=margin_m, role=role),
                self._receiving.edge(topic, kinds, history, recovery),
                self._position,
                capacity=capacity,
                overflow=overflow,
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

    def _hear_ourselves(self) -> None:
        """Messages of our own reach our subscribers without a router that could stamp them."""
        if self._stamps is Stamps.ROUTER:
            self._stamps = Stamps.OURSELVES
            for each in self._others:
                if isinstance(each, Publisher):
                    each.stamp_itself()

    def _first_position(self, *, required: bool) -> None:
        try:
            self._position.current()
        except Exception as error:
            if required:
                raise
            logger.warning("no position yet: %s", error)

    def _encodings_for(
        self, area: Area | None, encoding: str | Iterable[str] | None
    ) -> tuple[Encoding, ...]:
        if encoding is not None:
            return encodings_named(encoding)
        return encodings() if area is None else (self._encoding,)

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
        options = self._get_options(timeout, target, priority)
        kinds = self._encodings_for(area, encoding)
        replies = self._asking.get(selector, area, kinds, payload, attachment, options)
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
        options = self._get_options(timeout, target, priority)
        return Querier(key, area, self._asking, self._encodings_for(area, encoding), options)

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
            self._asking,
            self._encodings_for(area, encoding),
            complete=complete,
            capacity=capacity,
            on_close=self._forget,
        )
        with self._lock:
            self._others.append(queryable)
        if handler is not None:
            queryable.call(handler)
        return queryable

    def liveliness(self) -> Liveliness:
        """Tokens, subscribers and gets for who is there."""
        self._check_open()
        return Liveliness(self._asking, self._encoding)

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
            subscribers, others = list(self._subscribers), list(self._others)
        try:
            for entity in (*subscribers, *others):
                _quietly(entity.undeclare)
            _quietly(self._receiving.close)
            _quietly(self._announcements.close)
            _quietly(self._mover.stop)
        finally:
            self.zenoh.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Small things

    @staticmethod
    def _get_options(
        timeout: float, target: zenoh.QueryTarget | None, priority: zenoh.Priority | None
    ) -> dict[str, Any]:
        options: dict[str, Any] = {
            "timeout": timeout,
            "target": target if target is not None else zenoh.QueryTarget.ALL,
        }
        return options if priority is None else {**options, "priority": priority}

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise ClosedError("the session is closed")

    def _encoding_or(self, name: str | None) -> Encoding:
        return self._encoding if name is None else encoding_named(name)

    def _forget(self, entity: Publisher | Queryable) -> None:
        with self._lock:
            if entity in self._others:
                self._others.remove(entity)

    def _forget_subscriber(self, subscriber: Subscriber) -> None:
        with self._lock:
            if subscriber in self._subscribers:
                self._subscribers.remove(subscriber)
            # Under the lock, so that nobody joins an interest that is being closed.
            self._receiving.close_unused()


def _quietly(close: Callable[[], None]) -> None:
    """Close one thing; whatever it raises must not keep the others open."""
    try:
        close()
    except Exception:
        logger.exception("closing failed")
