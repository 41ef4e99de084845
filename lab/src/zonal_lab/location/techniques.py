"""The compared ways to bring messages to those who want them by place.

TOPIC and PAYLOAD are the baselines of Visotto 2023 (7.1.2): plain Zenoh, everybody receives
everything, and the receiver discards. The others are Zonal's session, one per encoding.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, get_args

import zenoh

import zonal
from zonal.geo import Grid
from zonal_lab.errors import PlanError
from zonal_lab.location.message import MESSAGE_BYTES

TechniqueName = Literal["TOPIC", "PAYLOAD", "json", "mgrs", "bloom", "s2"]
TECHNIQUES: tuple[TechniqueName, ...] = get_args(TechniqueName)
BASELINES: tuple[TechniqueName, ...] = ("TOPIC", "PAYLOAD")
LOCATION_AWARE: tuple[TechniqueName, ...] = ("json", "mgrs", "bloom", "s2")
TOPIC = "evaluation/test"
# Room for several seconds at 3,200 msg/s: a full channel would block the link (and be our fault).
CHANNEL_SAMPLES = 65_536
# The domain of Visotto 2023, of 100 elements and its probability, laid over the two zones.
BLOOM_DOMAIN = (45.40, 9.10, 45.60, 9.50)
BLOOM_PROBABILITY = 0.25

_PLACE = struct.Struct("!dd")
POSITION_LIFETIME_S = 0.5
"""How long a session that moves takes its last position for the present one."""
Box = tuple[float, float, float, float]
Place = tuple[float, float]
Whereabouts = Callable[[], Place]
"""Where somebody is now, who moves."""
Send = Callable[[bytes, int], None]
"""Sends a message from the place that its number says, places taking turns."""


@dataclass(frozen=True)
class Surroundings:
    """A circle around somebody, who may move.

    Args:
        place: where they are now.
        radius_m: of the circle.
        moves: whether that changes.
    """

    place: Whereabouts
    radius_m: float
    moves: bool

    def contain(self, lat: float, lon: float) -> bool:
        """Whether a place lies in the circle as it is now (edge included)."""
        here = zonal.Point(*self.place())
        return here.distance_m(zonal.Point(lat, lon)) <= self.radius_m


Wanted = Box | Surroundings


class Arrival(NamedTuple):
    """A message that reached a subscriber's session, and whether its place was wanted."""

    payload: bytes
    wanted: bool


class Inlet(Protocol):
    """A subscriber's side."""

    def __iter__(self) -> Iterator[Arrival]:
        """Messages as they come, until the inlet is closed."""

    def received(self) -> int:
        """Messages that reached the session over the network, wanted or not."""


class Technique(Protocol):
    """How places travel with messages."""

    def open(self, config: zenoh.Config, whereabouts: Whereabouts | None = None) -> Any:
        """A session of the kind that this technique uses; maybe of somebody who moves."""

    def plain(self, session: Any) -> zenoh.Session:
        """The Zenoh session underneath."""

    def outlet(self, session: Any, places: Sequence[Place] | Whereabouts) -> Send:
        """A publisher at a place, at several in turn, or where somebody is who moves."""

    def inlet(self, session: Any, area: Wanted) -> Inlet:
        """A subscriber for an area."""


def _inside(area: Wanted, lat: float, lon: float) -> bool:
    if isinstance(area, Surroundings):
        return area.contain(lat, lon)
    return area[0] <= lat <= area[2] and area[1] <= lon <= area[3]


class _PlainInlet:
    """Receives everything and discards by place, as the baselines do."""

    def __init__(
        self,
        subscriber: zenoh.Subscriber[zenoh.handlers.Handler[zenoh.Sample]],
        area: Wanted,
        place_of: Callable[[str, bytes], tuple[float, float]],
    ) -> None:
        self._subscriber = subscriber
        self._area = area
        self._place_of = place_of
        self._count = 0

    def __iter__(self) -> Iterator[Arrival]:
        for sample in self._subscriber:
            self._count += 1
            payload = sample.payload.to_bytes()
            lat, lon = self._place_of(str(sample.key_expr), payload)
            yield Arrival(payload, _inside(self._area, lat, lon))

    def received(self) -> int:
        """All messages: the baselines filter nothing on the way."""
        return self._count


class _Baseline:
    """Plain Zenoh."""

    def open(self, config: zenoh.Config, whereabouts: Whereabouts | None = None) -> zenoh.Session:
        """A plain session, which knows of no place."""
        del whereabouts
        return zenoh.open(config)

    def plain(self, session: zenoh.Session) -> zenoh.Session:
        """The session itself."""
        return session

    def _inlet(
        self,
        session: zenoh.Session,
        key: str,
        area: Wanted,
        place_of: Callable[[str, bytes], tuple[float, float]],
    ) -> Inlet:
        channel: Any = zenoh.handlers.FifoChannel(CHANNEL_SAMPLES)
        return _PlainInlet(session.declare_subscriber(key, channel), area, place_of)


class TopicBaseline(_Baseline):
    """Latitude and longitude are the first two levels of the topic."""

    def outlet(self, session: zenoh.Session, places: Sequence[Place] | Whereabouts) -> Send:
        """A publisher on a topic that begins with its place; declared, if it stays there."""
        if callable(places):
            return lambda message, _: session.put(self._here(*places()), message)
        keys = [f"{lat}/{lon}/{TOPIC}" for lat, lon in places]
        if len(keys) > 1:
            return lambda message, number: session.put(keys[number % len(keys)], message)
        publisher = session.declare_publisher(keys[0])
        return lambda message, _: publisher.put(message)

    def inlet(self, session: zenoh.Session, area: Wanted) -> Inlet:
        """A subscriber for all places, which reads the place in the topic."""
        return self._inlet(session, f"*/*/{TOPIC}", area, self._place_of)

    @staticmethod
    def _here(lat: float, lon: float) -> str:
        """A topic, to a tenth of a metre."""
        return f"{lat:.6f}/{lon:.6f}/{TOPIC}"

    @staticmethod
    def _place_of(key: str, payload: bytes) -> tuple[float, float]:
        del payload
        lat, lon, _ = key.split("/", 2)
        return float(lat), float(lon)


class PayloadBaseline(_Baseline):
    """Latitude and longitude follow the message in the payload."""

    def outlet(self, session: zenoh.Session, places: Sequence[Place] | Whereabouts) -> Send:
        """A publisher on the topic alone."""
        publisher = session.declare_publisher(TOPIC)
        if callable(places):
            return lambda message, _: publisher.put(message + _PLACE.pack(*places()))
        packed = [_PLACE.pack(*each) for each in places]
        return lambda message, number: publisher.put(message + packed[number % len(packed)])

    def inlet(self, session: zenoh.Session, area: Wanted) -> Inlet:
        """A subscriber for the topic, which reads the place in the payload."""
        return self._inlet(session, TOPIC, area, self._place_of)

    @staticmethod
    def _place_of(key: str, payload: bytes) -> tuple[float, float]:
        del key
        lat, lon = _PLACE.unpack_from(payload, MESSAGE_BYTES)
        return lat, lon


class _ZonalInlet:
    """Receives what the session lets through."""

    def __init__(self, subscriber: zonal.Subscriber) -> None:
        self._subscriber = subscriber

    def __iter__(self) -> Iterator[Arrival]:
        for sample in self._subscriber:
            yield Arrival(sample.payload.to_bytes(), wanted=True)

    def received(self) -> int:
        """Messages that came over the network, before the exact check at the edge.

        What Zenoh hands over twice, while a session changes how it listens, came once.
        """
        counters = self._subscriber.counters
        return counters.received - counters.duplicates


@dataclass(frozen=True)
class LocationAware:
    """Zonal's session with one encoding, used as anybody would."""

    encoding: str

    def open(self, config: zenoh.Config, whereabouts: Whereabouts | None = None) -> zonal.Session:
        """A location-aware session; somebody who moves is asked where they are."""
        if whereabouts is None:
            return zonal.open(config, encoding=self.encoding, insecure=True)
        return zonal.open(
            config,
            position=lambda: zonal.Point(*whereabouts()),
            lifetime=POSITION_LIFETIME_S,
            encoding=self.encoding,
            insecure=True,
        )

    def plain(self, session: zonal.Session) -> zenoh.Session:
        """The plain session underneath."""
        return session.zenoh

    def outlet(self, session: zonal.Session, places: Sequence[Place] | Whereabouts) -> Send:
        """A publisher at a place, which is part of its declaration if it stays there.

        That of somebody who moves publishes from where the session takes them to be.
        """
        if callable(places):
            moving = session.declare_publisher(TOPIC)
            return lambda message, _: moving.put(message)
        points = [zonal.Point(*each) for each in places]
        if len(points) > 1:
            roaming = session.declare_publisher(TOPIC)
            return lambda message, number: roaming.put(
                message, location=points[number % len(points)]
            )
        publisher = session.declare_publisher(TOPIC, location=points[0])
        return lambda message, _: publisher.put(message)

    def inlet(self, session: zonal.Session, area: Wanted) -> Inlet:
        """A subscriber on an area; that of somebody who moves follows the session's position."""
        wanted: zonal.Area
        if not isinstance(area, Surroundings):
            wanted = zonal.Box(*area)
        elif area.moves:
            wanted = zonal.Circle(radius_m=area.radius_m)
        else:
            wanted = zonal.Circle(zonal.Point(*area.place()), radius_m=area.radius_m)
        return _ZonalInlet(session.declare_subscriber(TOPIC, area=wanted, encoding=self.encoding))


def register_domain(probability: float = BLOOM_PROBABILITY) -> str:
    """Make the evaluation's Bloom domain known in this process; the encoding's name."""
    grid = Grid(zonal.Box(*BLOOM_DOMAIN), rows=10, columns=10)
    name = f"evaluation-{probability * 100:g}"
    encoding = zonal.BloomEncoding(zonal.BloomDomain(name, grid, probability))
    return zonal.register_encoding(encoding).name


def technique(name: str) -> Technique:
    """The technique of this name; `bloom` may carry a probability in percent: `bloom-1`."""
    if name == "TOPIC":
        return TopicBaseline()
    if name == "PAYLOAD":
        return PayloadBaseline()
    if name in {"s2", "mgrs", "json"}:
        return LocationAware(name)
    if name.partition("-")[0] == "bloom":
        percent = name.partition("-")[2]
        return LocationAware(
            register_domain(float(percent) / 100 if percent else BLOOM_PROBABILITY)
        )
    raise PlanError(f"there is no technique {name!r}; there are {', '.join(TECHNIQUES)}")
