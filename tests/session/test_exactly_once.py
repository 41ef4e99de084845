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
from zonal.geo import Area, Box, Circle, Everywhere, Point, destination
from zonal.keys import blurred, refine
from zonal.session import Router, Session

ENCODINGS = ("s2", "mgrs", "bloom", "json")
SESSIONS = 8
"""Receivers; each has a place of its own and a share of the cases."""
_COPIES_S = 0.3
"""How long copies are waited for that nobody should hear."""


class Case(NamedTuple):
    """One message and one who may hear it."""

    number: int
    place: Point
    blur_m: float | None
    fence: Area
    area: Area | None
    encoding: str

    @property
    def topic(self) -> str:
        return f"once/{self.number}"

    def is_for(self, own: Point) -> bool:
        """The oracle: exact geometry, and no keys."""
        area = self.area
        if area is not None:
            area = area.at(own) if area.is_ego_centric else area
            if not refine(area, blurred(self.place, self.blur_m)):
                return False
        return self.fence.contains(own)


def cases_at(own: Point, numbers: range, generator: random.Random) -> list[Case]:
    """Cases whose place, area and fence lie around this place, of all sizes."""

    def size_m(least: float = 1.0, most: float = 2e6) -> float:
        return math.exp(generator.uniform(math.log(least), math.log(most)))

    def near(point: Point, reach_m: float) -> Point:
        return destination(point, generator.uniform(0, 360), generator.uniform(0, reach_m))

    def shape(around: Point) -> Area:
        radius_m = size_m()
        match generator.randrange(5):
            case 0:
                center = near(around, radius_m)
                half = min(5.0, radius_m / 111_000)
                return Box(
                    max(-90.0, center.lat - half), _wrapped(center.lon - half),
                    min(90.0, center.lat + half), _wrapped(center.lon + half),
                )  # fmt: skip
            case 1 if generator.random() < 0.3:
                return Everywhere()
        return Circle(near(around, 1.5 * radius_m), radius_m=radius_m)

    def case(number: int) -> Case:
        place = near(own, size_m(most=1e6))
        ego = Circle(radius_m=own.distance_m(place) * generator.uniform(0.7, 2) + 1)
        area = generator.choice((None, ego, shape(place), shape(place)))
        blur_m = generator.choice((None, None, size_m(5.0, 50_000.0)))
        encoding = generator.choice(ENCODINGS)
        return Case(number, place, blur_m, shape(own), area, encoding)

    return [case(number) for number in numbers]


def _wrapped(lon: float) -> float:
    return (lon + 180.0) % 360.0 - 180.0


@pytest.fixture(scope="module")
def router() -> Iterator[Router]:
    with router_row(1) as (router,):
        yield router


def count_heard(router: Router, seed: int, each: int) -> tuple[Counter[str], Counter[str]]:
    """Cases of a seed, all in flight together: what should be heard, and what was."""
    generator = random.Random(seed)
    wanted: Counter[str] = Counter()
    heard: Counter[str] = Counter()
    receivers: list[Session] = []
    cases: list[Case] = []
    try:
        for share in range(SESSIONS):
            own = Point(generator.uniform(-85, 85), generator.uniform(-180, 180))
            receiver = client(router, position=own)
            receivers.append(receiver)
            for case in cases_at(own, range(share * each, (share + 1) * each), generator):
                cases.append(case)
                wanted.update([str(case)] * case.is_for(own))
                receiver.declare_subscriber(
                    case.topic,
                    lambda sample: heard.update([sample.payload.to_string()]),
                    area=case.area,
                    encoding=case.encoding,
                )
        with client(router) as sender:
            _wait_for_all(sender, receivers)
            for case in cases:
                sender.put(
                    case.topic, str(case), location=case.place, geofence=case.fence,
                    encoding=case.encoding, precision_m=case.blur_m,
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


def test_fenced_messages_come_exactly_once(router: Router) -> None:
    wanted, heard = count_heard(router, seed=15, each=50)
    assert 100 < len(wanted) < 350
    assert wanted == heard, difference(wanted, heard)


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("seed", range(20))
def test_thousands_of_fenced_messages_come_exactly_once(router: Router, seed: int) -> None:
    wanted, heard = count_heard(router, seed=seed, each=50)
    assert wanted == heard, difference(wanted, heard)
