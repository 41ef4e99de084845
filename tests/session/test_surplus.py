"""Routers deliver little more than what lies in an area."""

from __future__ import annotations

import math

import pytest

from network import collect, eventually, wait_until_declared
from zonal.geo import Circle, Point, destination
from zonal.session import Session

DUOMO = Point(45.4642, 9.19)
PLACES = 800


@pytest.mark.parametrize(("encoding", "most"), [("s2", 1.6), ("mgrs", 2.0)])
def test_of_publishers_that_are_spread_evenly_few_outside_are_received(
    near: Session, far: Session, topic: str, encoding: str, most: float
) -> None:
    inside = far.declare_subscriber(topic, area=Circle(DUOMO, radius_m=2000), encoding=encoding)
    wait_until_declared(near, inside)
    places = [
        destination(DUOMO, number * 137.5, 6000 * math.sqrt(number / PLACES))
        for number in range(PLACES)
    ]
    for place in places:
        near.put(topic, b"", location=place, encoding=encoding)
    wanted = sum(place.distance_m(DUOMO) <= 2000 for place in places)
    collect(inside, wanted)
    near.put(topic, b"last", location=DUOMO, encoding=encoding)
    collect(inside, 1)
    assert inside.counters.received <= most * wanted
    surplus = inside.counters.surplus
    assert surplus is not None
    assert 1.0 <= surplus <= most


@pytest.mark.parametrize("encoding", ["s2", "mgrs"])
def test_nothing_comes_from_some_kilometres_away(
    near: Session, far: Session, topic: str, encoding: str
) -> None:
    away = destination(DUOMO, 60.0, 9_000)
    there = far.declare_subscriber(topic, area=Circle(DUOMO, radius_m=2000), encoding=encoding)
    wait_until_declared(near, there)
    for _ in range(50):
        near.put(topic, b"", location=away, encoding=encoding)
    near.put(topic, b"last", location=DUOMO, encoding=encoding)
    collect(there, 1)
    assert there.counters.received == 1


def test_more_areas_than_puts_hear_a_json_message_once_each(
    near: Session, far: Session, topic: str
) -> None:
    subscribers = [
        far.declare_subscriber(topic, area=Circle(DUOMO, radius_m=500 + n), encoding="json")
        for n in range(70)
    ]

    def heard() -> bool:
        near.put(topic, b"try", location=DUOMO, encoding="json")
        return all(each.counters.waiting for each in subscribers)

    eventually(heard)
    near.put(topic, b"mark", location=DUOMO, encoding="json")
    for each in subscribers:
        while (sample := each.recv(timeout=10)) is not None and sample.text != "mark":
            pass
    near.put(topic, b"once", location=DUOMO, encoding="json")
    near.put(topic, b"outside", location=destination(DUOMO, 0.0, 600), encoding="json")
    near.put(topic, b"last", location=DUOMO, encoding="json")
    for each in subscribers:
        assert [sample.text for sample in collect(each, 2)] == ["once", "last"]
