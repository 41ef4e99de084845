"""Publishers: messages of one topic from the session's position or a fixed place."""

from __future__ import annotations

import enum
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import zenoh
import zenoh.ext

from zonal.errors import ClosedError
from zonal.keys import blurred, check_topic, exact_key
from zonal.session.content import as_payload, checked_encoding
from zonal.session.given import area_given, point_given
from zonal.session.refusal import refusal, refusals
from zonal.session.undeclaring import Declared
from zonal.session.way import Way, way_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.geo import Area, GivenArea, GivenPoint, Point
    from zonal.session.parts import SessionParts

_KEPT_PUBLISHERS = 64


@dataclass(frozen=True, slots=True)
class DeliveryOptions:
    """How Zenoh should carry messages; None is Zenoh's own default."""

    congestion_control: zenoh.CongestionControl | None = None
    priority: zenoh.Priority | None = None
    express: bool | None = None
    reliability: zenoh.Reliability | None = None
    allowed_destination: zenoh.Locality | None = None

    def of_publisher(self) -> dict[str, Any]:
        """Zenoh's keyword arguments for a declared publisher.

        Who asks to wait for room does not want messages dropped: Zenoh would drop those of best
        effort all the same, so they are sent reliably.
        """
        waits = self.congestion_control == zenoh.CongestionControl.BLOCK
        given = {
            "congestion_control": self.congestion_control,
            "priority": self.priority,
            "express": self.express,
            "reliability": None if waits else self.reliability,
            "allowed_destination": self.allowed_destination,
        }
        return {name: value for name, value in given.items() if value is not None}

    def of_put(self) -> dict[str, Any]:
        """Zenoh's keyword arguments for a single put or delete."""
        given = self.of_publisher()
        given.pop("reliability", None)
        return given


@dataclass(frozen=True, slots=True)
class Memory:
    """What a publisher keeps for late or interrupted subscribers (Zenoh's advanced publisher)."""

    cache: int = 1000
    """How many messages to keep per place."""
    heartbeat_s: float | None = 0.5
    """How often to tell the number of the last message, so that a loss at the end is noticed."""

    def __post_init__(self) -> None:
        if self.cache < 1:
            raise ValueError(f"a memory keeps at least one message, not {self.cache}")


class Stamps(enum.Enum):
    """Who gives the messages of publishers that stay at their place a time stamp."""

    ZENOH = enum.auto()
    """The session's own clock in Zenoh's core."""
    ROUTER = enum.auto()
    """The router of a client, which costs the client nothing."""
    OURSELVES = enum.auto()
    """We, for each message: a client that also subscribes hears itself without a router."""
    NOBODY = enum.auto()


class Details(TypedDict, total=False):
    """What a message may have besides its payload."""

    location: GivenPoint | None
    geofence: GivenArea | None
    content_encoding: zenoh.Encoding | str | None
    attachment: bytes | None
    timestamp: zenoh.Timestamp | None


class Publisher(Declared):
    """Publishes to one topic, each message from where the session is (or from a fixed place)."""

    def __init__(
        self,
        topic: str,
        parts: SessionParts,
        *,
        location: GivenPoint | None = None,
        geofence: GivenArea | None = None,
        encoding: str | None = None,
        precision_m: float | None = None,
        attested: bool = False,
        sealed: str | None = None,
        delivery: DeliveryOptions,
        content_encoding: zenoh.Encoding | str | None,
        memory: Memory | None,
        stamps: Stamps,
        on_close: Callable[[Publisher], None],
    ) -> None:
        self.key = check_topic(topic)
        self._parts = parts
        self._session = parts.zenoh
        self._origin = parts.alias.origin if precision_m else parts.origin
        self._new_timestamp = parts.alias.stamp if precision_m else parts.zenoh.new_timestamp
        self._position = parts.position
        self._encoding = parts.encoding_named(encoding)
        self._location = point_given(location)
        self._geofence = area_given(geofence)
        self._precision_m = precision_m
        self._attested = attested
        self._sealed = sealed
        self._delivery = delivery
        self._content_encoding = checked_encoding(content_encoding)
        self._memory = memory
        self._on_close = on_close
        self._lock = threading.Lock()
        self._publishers: OrderedDict[str, Any] = OrderedDict()
        self._last: tuple[Point | None, Area | None, Way] | None = None
        self._steady = None if stamps is Stamps.NOBODY else self._settle()
        self._put_here: Callable[[Any], Any] | None = self._steady and self._steady.put
        self._stamps_itself = False
        if stamps is Stamps.OURSELVES:
            self.stamp_itself()

    def stamp_itself(self) -> None:
        """Give each message its time stamp here from now on."""
        self._stamps_itself = True
        if self._steady is not None:
            self._put_here = self._put_with

    def put(self, payload: Any, **details: Unpack[Details]) -> None:
        """Publish a message: `location` and `geofence` override the publisher's own.

        The payload is bytes, a `str`, or a `dict` or `list` that is sent as JSON. Further
        `details` are `content_encoding`, `attachment` and `timestamp`.
        """
        # Named arguments with defaults would cost as much as Zenoh's own part.
        put_here = self._put_here
        if put_here is not None and not details:
            try:
                put_here(payload)
            except (TypeError, zenoh.ZError):
                self._put_with(payload)  # as JSON, or with an error that says why not
        else:
            self._put_with(payload, **details)

    def _put_with(
        self,
        payload: Any,
        *,
        location: GivenPoint | None = None,
        geofence: GivenArea | None = None,
        content_encoding: zenoh.Encoding | str | None = None,
        attachment: bytes | None = None,
        timestamp: zenoh.Timestamp | None = None,
    ) -> None:
        payload, encoding = as_payload(payload, content_encoding or self._content_encoding)
        steady = self._steady
        try:
            if steady is not None and location is None and geofence is None and not timestamp:
                stamp = self._stamp()
                steady.put(payload, encoding=encoding, attachment=attachment, timestamp=stamp)
                return
            way = self._way(point_given(location), area_given(geofence))
            if self._sealed is not None:
                payload, encoding = self._parts.keyring.seal(
                    self._sealed, payload, encoding, self.key, way
                )
            data = way.attachment(self._origin, attachment, stamped=timestamp is None)
            timestamp = timestamp or self._new_timestamp()
            for key in way.keys:
                self._publisher(key).put(
                    payload, encoding=encoding, attachment=data, timestamp=timestamp
                )
        except zenoh.ZError as error:
            raise refusal(self._session, f"put {self.key!r}", error) from error

    def delete(
        self,
        *,
        location: GivenPoint | None = None,
        geofence: GivenArea | None = None,
        attachment: bytes | None = None,
        timestamp: zenoh.Timestamp | None = None,
    ) -> None:
        """Tell that the topic has no value at this place any more."""
        steady = self._steady
        with refusals(self._session, f"delete {self.key!r}"):
            if steady is not None and location is None and geofence is None and not timestamp:
                steady.delete(attachment=attachment, timestamp=self._stamp())
                return
            way = self._way(point_given(location), area_given(geofence))
            data, timestamp = self._parts.seal(way, attachment, timestamp)
            for key in way.keys:
                self._publisher(key).delete(attachment=data, timestamp=timestamp)

    def _stamp(self) -> zenoh.Timestamp | None:
        return self._new_timestamp() if self._stamps_itself else None

    def _way(self, location: Point | None, geofence: Area | None) -> Way:
        point = location or self._location
        if point is None and self._position.is_known:
            point = self._position.current()
        fence = geofence if geofence is not None else self._geofence
        last = self._last
        if last is not None and last[0] == point and last[1] is fence:
            return last[2]
        place = None if point is None else blurred(point, self._precision_m)
        way = way_of(
            self.key, place, fence, self._encoding, self._parts.announcements,
            attested=self._attested,
        )  # fmt: skip
        # Who wants an announcing encoding's messages changes without our doing.
        self._last = None if self._encoding.announces_areas else (point, fence, way)
        return way

    def _settle(self) -> zenoh.Publisher | None:
        """A publisher for a fixed place, if its key can say all there is to say of it."""
        point, encoding = self._location, self._encoding
        if point is None or self._precision_m or self._geofence or self._memory or self._sealed:
            return None
        key = exact_key(self.key, point, self._origin.id, encoding)
        if key is None:
            return None
        options = self._delivery.of_publisher()
        return self._session.declare_publisher(key, encoding=self._content_encoding, **options)

    def _publisher(self, key: str) -> Any:
        publisher = self._publishers.get(key)
        if publisher is not None and not self._closed:
            return publisher
        with self._lock:
            if self._closed:
                raise ClosedError(f"the publisher of {self.key!r} is closed")
            if key not in self._publishers:
                self._publishers[key] = self._declare(key)
                if len(self._publishers) > _KEPT_PUBLISHERS:
                    self._publishers.popitem(last=False)[1].undeclare()
            return self._publishers[key]

    def _declare(self, key: str) -> Any:
        options = self._delivery.of_publisher()
        if self._memory is None:
            return self._session.declare_publisher(key, **options)
        return zenoh.ext.declare_advanced_publisher(
            self._session,
            key,
            cache=zenoh.ext.CacheConfig(max_samples=self._memory.cache),
            sample_miss_detection=zenoh.ext.MissDetectionConfig(
                heartbeat=self._memory.heartbeat_s, sporadic_heartbeat=None
            ),
            publisher_detection=True,
            **options,
        )

    def undeclare(self) -> None:
        """Stop publishing; what a cache kept is gone with it."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            publishers = list(self._publishers.values())
            if self._steady is not None:
                publishers.append(self._steady)
                self._steady = self._put_here = None
            self._publishers.clear()
        for publisher in publishers:
            publisher.undeclare()
        self._on_close(self)

    def __repr__(self) -> str:
        place = self._location or "the session's position"
        fence = f", geofence={self._geofence}" if self._geofence is not None else ""
        return f"Publisher(key={self.key!r}, from {place}{fence}{', closed' * self._closed})"
