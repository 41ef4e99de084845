"""The location-aware session: Zenoh's own operations, with places."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, Unpack

import zenoh

from zonal.errors import ClosedError
from zonal.keys import FENCE_CELLS, Role, check_topic
from zonal.runtime import DEFAULT_CAPACITY, Chores, Overflow, close_all
from zonal.session.alias import Alias
from zonal.session.announcements import AnnouncementCounters, Announcements
from zonal.session.asking import Asking
from zonal.session.content import as_payload
from zonal.session.followers import Followers, Located
from zonal.session.gathering import Gathering
from zonal.session.given import area_given, check_handler
from zonal.session.keyring import Keyring
from zonal.session.liveliness import Liveliness
from zonal.session.parts import SessionParts
from zonal.session.publisher import DeliveryOptions
from zonal.session.receiving import Receiving
from zonal.session.refusal import refusal, refusals
from zonal.session.sample import origin_of
from zonal.session.sending import Sending, Whence
from zonal.session.subscriber import PullSubscriber, Subscriber, SubscriberOptions
from zonal.session.unclosed import Closing
from zonal.session.vouching import Vouched
from zonal.session.watching import Watching
from zonal.session.way import Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from zonal.geo import GivenArea
    from zonal.keys import Encoding
    from zonal.session.past_messages import PastMessages
    from zonal.session.position import Position
    from zonal.session.publisher import Memory, Publisher, Stamps
    from zonal.session.recovery import Recovery
    from zonal.session.sample import Sample

Handler: TypeAlias = "Callable[[Sample], Any] | tuple[Callable[[Sample], Any], Any] | None"
SubscriberT = TypeVar("SubscriberT", bound=Subscriber)

logger = logging.getLogger(__name__)


class Session(Located, Vouched, Asking, Watching, Closing):
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
        announcements = Announcements(session)
        self._receiving = Receiving(session, announcements, datagrams=datagrams)
        self._chores = Chores("zonal", self._receiving.threads)
        super().__init__(position, Followers(position, self._chores))
        self.keyring = Keyring(session, position, self._chores)
        self._parts = SessionParts(
            session,
            Origin(origin_of(str(session.zid()))),
            position,
            encoding,
            announcements,
            self._receiving.arrivals,
            self._receiving.threads,
            self._chores,
            self._followers,
            self.keyring,
            Alias(session),
        )
        self._sending = Sending(self._parts, stamps)
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._told_of_fences = False
        self._close_at_exit()

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
        sealed: str | None = None,
        fence_cells: int = FENCE_CELLS,
        **whence: Unpack[Whence],
    ) -> None:
        """Publish a message from a `location`, or from the session's position.

        The payload is bytes, a `str`, or a `dict` or `list` that is sent as JSON. `geofence`: only
        those inside it hear the message; a `Circle` without a centre is around its location.
        `precision_m`: nothing finer than a cell of that size leaves the device. `encoding`: how
        its place is written into its key. `attested`: the geofence is only for those whose position
        somebody vouches for; `sealed`: only who has the keys of that zone can read it.
        `fence_cells`: a message with a geofence is sent so often at the most, once for each cell
        that covers it; the fewer, the more hear of it who then leave it out.
        """
        self._check_open()
        way = self._sending.way(key, fence_cells=fence_cells, **whence)
        data, timestamp = self._parts.seal(way, attachment, timestamp)
        delivery = DeliveryOptions(congestion_control, priority, express).of_put()
        payload, encoding = as_payload(payload, content_encoding)
        if sealed is not None:
            payload, encoding = self._parts.keyring.seal(sealed, payload, encoding, key, way)
        delivery |= {"encoding": encoding, "attachment": data, "timestamp": timestamp}
        try:
            for name in way.keys:
                self.zenoh.put(name, payload, **delivery)
        except zenoh.ZError as error:
            raise refusal(self.zenoh, f"put {key!r}", error) from error

    def delete(
        self,
        key: str,
        *,
        congestion_control: zenoh.CongestionControl | None = None,
        attachment: bytes | None = None,
        timestamp: zenoh.Timestamp | None = None,
        fence_cells: int = FENCE_CELLS,
        **whence: Unpack[Whence],
    ) -> None:
        """Tell that a topic has no value at this place any more (see `put`)."""
        self._check_open()
        way = self._sending.way(key, fence_cells=fence_cells, **whence)
        data, timestamp = self._parts.seal(way, attachment, timestamp)
        with refusals(self.zenoh, f"delete {key!r}"):
            for name in way.keys:
                self.zenoh.delete(
                    name,
                    congestion_control=congestion_control,
                    attachment=data,
                    timestamp=timestamp,
                )

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
        sealed: str | None = None,
        **whence: Unpack[Whence],
    ) -> Publisher:
        """A publisher of one topic, from a `location` or wherever the session is (see `put`).

        With `memory`, late subscribers get its last messages.
        """
        self._check_open()
        delivery = DeliveryOptions(
            congestion_control, priority, express, reliability, allowed_destination
        )
        with refusals(self.zenoh, f"declare a publisher of {key!r}"):
            return self._sending.publisher(
                key, delivery, content_encoding, memory, sealed, **whence
            )

    # Subscribe

    def declare_subscriber(
        self,
        key: str,
        handler: Handler = None,
        *,
        area: GivenArea | None = None,
        encoding: str | Iterable[str] | None = None,
        fenced: bool | None = None,
        margin_m: float | None = None,
        capacity: int = DEFAULT_CAPACITY,
        overflow: Overflow = Overflow.DROP_OLDEST,
        history: PastMessages | None = None,
        recovery: Recovery | None = None,
    ) -> Subscriber:
        """Receive the messages of a topic that come from an area.

        Without an area: every message of the topic, with or without a location. A `Circle`
        without a centre follows the session's position, and is declared anew when it moved by
        `margin_m` (a 64th of its radius; in `json` a 32nd). Messages with a geofence are heard by
        those inside it, or with `fenced=True` by everybody; a session without a position is in
        none, which the log says once, unless `fenced=False` says that it is meant so. `encoding`
        may name several. From publishers with a memory, `history` gets what was sent before, and
        `recovery` what was lost on its way.
        The second element of a handler that is a pair is `subscriber.handler`.
        """
        function, kept = handler if isinstance(handler, tuple) else (handler, None)
        check_handler(function)
        wanted = area_given(area)
        options = SubscriberOptions(
            area=wanted,
            encodings=self._parts.encodings_for(wanted, encoding),
            fenced=fenced,
            margin_m=margin_m,
            capacity=capacity,
            overflow=overflow,
            history=history,
            recovery=recovery,
        )
        subscriber = self._subscribe(Subscriber, key, options)
        if function is not None:
            subscriber.handler = kept
            subscriber.call(function, self._receiving.threads, self._receiving.arrivals)
        return subscriber

    def declare_pull_subscriber(
        self,
        key: str,
        *,
        area: GivenArea | None = None,
        encoding: str | Iterable[str] | None = None,
        fenced: bool | None = None,
        margin_m: float | None = None,
        capacity: int = 1,
    ) -> PullSubscriber:
        """Keep the latest `capacity` messages until they are pulled."""
        wanted = area_given(area)
        options = SubscriberOptions(
            area=wanted,
            encodings=self._parts.encodings_for(wanted, encoding),
            fenced=fenced,
            margin_m=margin_m,
            capacity=capacity,
            role=Role.PULL_SUBSCRIBER,
        )
        return self._subscribe(PullSubscriber, key, options)

    def _subscribe(
        self, kind: Callable[..., SubscriberT], key: str, options: SubscriberOptions
    ) -> SubscriberT:
        self._check_open()
        topic = check_topic(key)
        self._position.look(required=options.is_ego_centric)
        self._tell_of_fences(topic, options)
        with self._lock, refusals(self.zenoh, f"declare a subscriber of {topic!r}"):
            self._sending.hear_ourselves()
            subscriber = kind(
                topic,
                options.scope(self._position),
                self._receiving.edge(topic, options.encodings, options.history, options.recovery),
                self._position,
                self.keyring,
                capacity=options.capacity,
                overflow=options.overflow,
                when_stuck=self._receiving.arrivals.leave_lanes,
                on_close=self._forget_subscriber,
            )
        self._followers.add(subscriber)
        return subscriber

    def _tell_of_fences(self, topic: str, options: SubscriberOptions) -> None:
        """Once in a session, unless the user has decided: who is nowhere is in no geofence."""
        if options.fenced is not None or self._position.is_known or self._told_of_fences:
            return
        self._told_of_fences = True
        logger.warning(
            "the subscriber of %r hears no messages with a geofence while the session has no "
            "position; give it one, or ask for all of them with fenced=True, for none with "
            "fenced=False",
            topic,
        )

    def gather(self, take: Callable[[list[Sample]], None]) -> Gathering:
        """For a gateway with receivers of its own: the messages of others under keys of its choice.

        `take` gets batches on the session's reading thread, each message once, and must not block.
        An `Interest` says which keys the wishes of many come to.
        """
        self._check_open()
        return Gathering(self.zenoh, self._receiving.arrivals, take)

    # Who is there

    @property
    def announcements(self) -> AnnouncementCounters:
        """Of the areas that others announce in `json`, those that are not known here."""
        return self._parts.announcements.counters

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
        try:
            parts = (self._followers, self._sending, self._receiving, self._parts.announcements)
            # Chores are waited for when nothing holds them up any more that a close lets go of.
            closings = (part.close for part in (*parts, self._chores, self.keyring))
            close_all((self._chores.stop, *closings))
        finally:
            self.zenoh.close()

    def __repr__(self) -> str:
        if self._closed.is_set():
            return "Session(closed)"
        return (
            f"Session(zid={str(self.zenoh.zid())!r}, position={self.position}, "
            f"{self._parts.encoding.name}, {len(self._sending)} publishers, "
            f"{len(self._followers)} others declared)"
        )

    # Small things

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise ClosedError("the session is closed")

    def _forget_subscriber(self, subscriber: Subscriber) -> None:
        self._followers.forget(subscriber)
        with self._lock:
            # Under the lock, so that nobody joins an interest that is being closed.
            self._receiving.close_unused()
