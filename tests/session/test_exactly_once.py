"""Fenced messages come exactly once, in every encoding, whatever the sizes."""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import pytest
import zenoh

from network import client, eventually, router_row
from own_encodings import registered
from zonal.geo import (
    Area,
    Box,
    Circle,
    Everywhere,
    Grid,
    MultiPolygon,
    Point,
    Polygon,
    destination,
)
from zonal.keys import BloomDomain, BloomEncoding, blurred, refine
from zonal.session import Router, Session

ENCODINGS = ("s2", "mgrs", "bloom", "json")
MIDDLE = Point(45.4642, 9.19)
TOWN, TOWN_BOX = "bloom:once", Box(45.1, 8.7, 45.8, 9.7)
SESSIONS, STEPS = 8, 2
"""Receivers, which have a share of the topics each, and how often all of them are sent to: first
where they begin, then after a move."""
_COPIES_S = 0.3
"""How long copies are waited for that nobody should hear."""


class Topic(NamedTuple):
    """A topic of its own, and where its subscribers listen, all of them in one session."""

    number: int
    areas: tuple[Area | None, ...]
    encoding: str

    @property
    def key(self) -> str:
        return f"once/{self.number}"


class Message(NamedTuple):
    """What is sent on a topic after so many moves of those who listen."""

    topic: Topic
    moves: int
    place: Point
    blur_m: float | None
    fence: Area

    def listeners(self, own: Point) -> Iterator[str]:
        """Who should hear it there: exact geometry, and no keys."""
        for number, area in enumerate(self.topic.areas):
            if area is not None:
                placed = area.at(own) if area.is_ego_centric else area
                if not refine(placed, blurred(self.place, self.blur_m)):
                    continue
            if self.fence.contains(own):
                yield f"{number}: {self}"


class Surroundings:
    """Makes topics and messages whose places, areas and fences lie around somebody."""

    def __init__(self, own: Point, generator: random.Random, *, in_town: bool) -> None:
        self.own = own
        self._generator = generator
        self._in_town = in_town
        self._widest_m = 5_000.0 if in_town else 2e6

    def topic(self, number: int) -> Topic:
        encodings = (*ENCODINGS, TOWN, TOWN) if self._in_town else ENCODINGS
        encoding = self._generator.choice(encodings)
        areas = [self._area(encoding) for _ in range(self._generator.choice((1, 1, 1, 2, 3)))]
        return Topic(number, tuple(areas), encoding)

    def message(self, topic: Topic, moves: int) -> Message:
        place = self._near(self.own, self._size_m(most=self._widest_m / 2))
        blurs = (None, None, self._size_m(5.0, min(50_000.0, self._widest_m)))
        return Message(topic, moves, place, self._generator.choice(blurs), self._shape(self.own))

    def moved(self) -> Point:
        """A place some steps, streets or towns from here."""
        return self._near(self.own, 3 * self._size_m(1.0, self._widest_m / 10))

    def _area(self, encoding: str) -> Area | None:
        ego = Circle(radius_m=self._size_m(most=self._widest_m))
        area = self._generator.choice((None, ego, self._shape(self.own), self._shape(self.own)))
        if encoding == TOWN and area is not None and not area.is_ego_centric:
            return area if area.intersects(TOWN_BOX) else None
        return area

    def _size_m(self, least: float = 1.0, most: float = 2e6) -> float:
        return math.exp(self._generator.uniform(math.log(least), math.log(most)))

    def _near(self, point: Point, reach_m: float) -> Point:
        bearing = self._generator.uniform(0, 360)
        return destination(point, bearing, self._generator.uniform(0, reach_m))

    def _shape(self, around: Point) -> Area:
        radius_m = self._size_m(most=self._widest_m)
        center = self._near(around, radius_m)
        match self._generator.randrange(8):
            case 0:
                half = min(5.0, radius_m / 111_000)
                return Box(
                    max(-90.0, center.lat - half), _wrapped(center.lon - half),
                    min(90.0, center.lat + half), _wrapped(center.lon + half),
                )  # fmt: skip
            case 1 if self._generator.random() < 0.3:
                return Everywhere()
            case 2 | 3:
                return self._polygon(center, radius_m)
            case 4:
                parts = self._generator.randrange(1, 4)
                centers = [center, *(self._near(center, 2 * radius_m) for _ in range(parts))]
                return MultiPolygon(tuple(self._polygon(each, radius_m) for each in centers))
        return Circle(self._near(around, 1.5 * radius_m), radius_m=radius_m)

    def _polygon(self, center: Point, radius_m: float) -> Polygon:
        """A star with three to twelve corners."""
        size = min(4.0, radius_m / 111_000, 89.9 - abs(center.lat))
        corners = self._generator.randrange(3, 13)
        ring = []
        for number in range(corners):
            turn, far = math.tau * number / corners, size * self._generator.uniform(0.4, 1.0)
            ring.append((center.lat + far * math.sin(turn), center.lon + far * math.cos(turn)))
        return Polygon(ring)


def _wrapped(lon: float) -> float:
    return (lon + 180.0) % 360.0 - 180.0


@pytest.fixture(scope="module", autouse=True)
def town() -> Iterator[None]:
    """A Bloom domain of a town."""
    domain = BloomDomain(TOWN.partition(":")[2], Grid(TOWN_BOX, 15, 15), 0.25)
    with registered(BloomEncoding(domain)):
        yield


@pytest.fixture(scope="module")
def pair() -> Iterator[list[Router]]:
    """Two routers that are linked: half of the receivers are a hop farther away."""
    with router_row(2) as routers:
        yield routers


def count_heard(routers: list[Router], seed: int, each: int) -> tuple[Counter[str], Counter[str]]:
    """Messages of a seed, all of a step in flight together: what should be heard, and what was."""
    generator = random.Random(seed)
    wanted: Counter[str] = Counter()
    heard: Counter[str] = Counter()
    receivers: list[Session] = []
    here: list[Surroundings] = []
    topics: list[list[Topic]] = []
    try:
        for share in range(SESSIONS):
            in_town = share % 4 == 0
            own = Point(generator.uniform(-85, 85), generator.uniform(-180, 180))
            surroundings = Surroundings(MIDDLE if in_town else own, generator, in_town=in_town)
            receiver = client(routers[share % len(routers)], position=surroundings.own)
            numbers = range(share * each, (share + 1) * each)
            topics.append([surroundings.topic(number) for number in numbers])
            here.append(surroundings)
            receivers.append(receiver)
            for topic in topics[-1]:
                for number, area in enumerate(topic.areas):
                    receiver.declare_subscriber(
                        topic.key,
                        lambda sample, n=number: heard.update([f"{n}: {sample.text}"]),
                        area=area,
                        encoding=topic.encoding,
                    )
        with client(routers[0]) as sender:
            for moves in range(STEPS):
                messages = []
                for receiver, surroundings, own_topics in zip(receivers, here, topics, strict=True):
                    if moves:
                        surroundings.own = surroundings.moved()
                        receiver.declare_position_handler(math.inf, surroundings.own)
                    for topic in own_topics:
                        messages.append(surroundings.message(topic, moves))
                        wanted.update(messages[-1].listeners(surroundings.own))
                _wait_for_all(sender, receivers)
                for message in messages:
                    sender.put(
                        message.topic.key, str(message), location=message.place,
                        geofence=message.fence, encoding=message.topic.encoding,
                        precision_m=message.blur_m,
                        congestion_control=zenoh.CongestionControl.BLOCK,
                    )  # fmt: skip
                _wait_for_all(sender, receivers)
                with suppress(AssertionError):  # what is missing is told by those who compare
                    eventually(lambda: heard.total() >= wanted.total(), timeout=10)
                time.sleep(_COPIES_S)
    finally:
        for receiver in receivers:
            receiver.close()
    return wanted, heard


def _wait_for_all(sender: Session, receivers: list[Session]) -> None:
    """What goes the same way as a message of each receiver's own has come before it."""
    ends: Counter[int] = Counter()
    own = [
        receiver.declare_subscriber(f"end/{number}", lambda _, number=number: ends.update([number]))
        for number, receiver in enumerate(receivers)
    ]

    def all_heard() -> bool:
        for number in range(len(receivers)):
            if not ends[number]:
                sender.put(f"end/{number}", b"", congestion_control=zenoh.CongestionControl.BLOCK)
        return len(ends) == len(receivers)

    eventually(all_heard, timeout=60)
    for subscriber in own:
        subscriber.undeclare()


def difference(wanted: Counter[str], heard: Counter[str]) -> str:
    missed, copied = wanted - heard, heard - wanted
    return "\n".join(
        [f"missed: {case}" for case in list(missed)[:10]]
        + [f"too often: {case}" for case in list(copied)[:10]]
    )


def test_fenced_messages_come_exactly_once(pair: list[Router]) -> None:
    wanted, heard = count_heard(pair, seed=15, each=25)
    assert 100 < len(wanted) < 350
    assert wanted == heard, difference(wanted, heard)


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("seed", range(20))
def test_thousands_of_fenced_messages_come_exactly_once(pair: list[Router], seed: int) -> None:
    wanted, heard = count_heard(pair, seed=seed, each=25)
    assert wanted == heard, difference(wanted, heard)
