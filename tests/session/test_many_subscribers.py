"""One process with thousands of areas declares a bounded union, and the index hands over."""

from __future__ import annotations

import random
import time

import pytest

from network import eventually, wait_until_declared
from zonal.geo import Area, Box, Circle, Point, Polygon
from zonal.session import Session, Subscriber

CITY = Box(45.38, 9.04, 45.54, 9.28)


def random_point(generator: random.Random) -> Point:
    return Point(
        generator.uniform(CITY.min_lat, CITY.max_lat), generator.uniform(CITY.min_lon, CITY.max_lon)
    )


def random_area(generator: random.Random) -> Area:
    middle = random_point(generator)
    match generator.randrange(3):
        case 0:
            return Circle(middle, radius_m=generator.uniform(50, 800))
        case 1:
            return Circle(middle, radius_m=300).bounds
    ring = Circle(middle, radius_m=400).bounds
    corners = (
        (ring.min_lat, ring.min_lon),
        (ring.min_lat, ring.max_lon),
        (ring.max_lat, middle.lon),
    )
    return Polygon((*corners, corners[0]))


@pytest.mark.parametrize("count", [1_500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_thousands_of_areas_start_soon_and_each_gets_exactly_its_own(
    near: Session, far: Session, topic: str, count: int
) -> None:
    generator = random.Random(11)
    areas = [random_area(generator) for _ in range(count)]
    subscribers: list[Subscriber] = []
    took = []  # of the processor, for each third of them
    for first in range(0, count, count // 3):
        started = time.process_time()
        subscribers += [
            far.declare_subscriber(topic, area=area, capacity=100)
            for area in areas[first : first + count // 3]
        ]
        took.append(time.process_time() - started)
    assert len(subscribers[0].declared_keys) <= 256
    assert took[2] < 2 * took[0]  # what one more costs does not grow with how many there are
    wait_until_declared(near, subscribers[0])
    sent = [random_point(generator) for _ in range(50)]
    for number, point in enumerate(sent):
        near.put(topic, str(number), location=point)
    expected = {
        index: [str(n) for n, point in enumerate(sent) if area.contains(point)]
        for index, area in enumerate(areas)
    }
    total = sum(map(len, expected.values()))
    assert total > count / 20
    eventually(lambda: sum(s.counters.waiting for s in subscribers) == total)
    for index, subscriber in enumerate(subscribers):
        heard: list[str] = []
        while (sample := subscriber.try_recv()) is not None:
            heard.append(sample.payload.to_string())
        assert sorted(heard, key=int) == expected[index]


def test_undeclaring_many_returns_to_nothing(far: Session, topic: str) -> None:
    generator = random.Random(12)
    subscribers = [far.declare_subscriber(topic, area=random_area(generator)) for _ in range(300)]
    keys = subscribers[0].declared_keys
    for subscriber in subscribers[1:]:
        subscriber.undeclare()
    assert len(subscribers[0].declared_keys) <= len(keys)
    subscribers[0].undeclare()
    assert subscribers[0].declared_keys == ()
