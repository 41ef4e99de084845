"""Which messages count as wanted by somebody who moves."""

from __future__ import annotations

import numpy as np
import pytest

from zonal.geo import Point, distance_m
from zonal_lab.emulation import layout
from zonal_lab.emulation.topology import parse_topology
from zonal_lab.location.wanted import AFTER_S, BEFORE_S, is_wanted

MOVING = layout("moving")
PUBLISHER = MOVING[13]
MOVERS = [each for each in MOVING.with_role("subscriber") if each.moves]


@pytest.mark.parametrize("mover", MOVERS, ids=lambda each: each.name)
def test_what_is_wanted_for_sure_is_around_it_from_before_until_after(mover: object) -> None:
    numbers = np.arange(0, int(60 * PUBLISHER.rate_hz), 97)
    sure = is_wanted(MOVING, mover, PUBLISHER, numbers)  # type: ignore[arg-type] # a node
    assert 0 < sure.mean() < 0.5
    for number, is_sure in zip(numbers.tolist(), sure.tolist(), strict=True):
        place = Point(*PUBLISHER.places[number % len(PUBLISHER.places)])
        due_s = number / PUBLISHER.rate_hz
        away = [
            distance_m(place, Point(*mover.where(max(due_s + later, 0))))  # type: ignore[attr-defined]
            for later in np.linspace(-BEFORE_S, AFTER_S, 40)
        ]
        if is_sure:
            assert max(away) <= 4000 + 3  # metres: places are computed for tenths of a second
        else:
            assert max(away) > 4000 - 20  # … and looked at twice a second


def test_what_one_wants_of_a_publisher_that_moves_is_around_it_until_it_is_read() -> None:
    publisher, numbers = MOVING[12], np.arange(60 * 100)
    for subscriber in MOVING.with_role("subscriber"):
        sure = is_wanted(MOVING, subscriber, publisher, numbers)
        assert sure.all() == (subscriber.id in {7, 8})
        assert sure.any() == (subscriber.id in {7, 8})
        rests = is_wanted(MOVING, subscriber, MOVING[17], numbers)
        assert (rests == sure).all(), "both are wanted by the same ones"


def test_a_publisher_that_passes_is_wanted_while_it_is_near() -> None:
    text = """
[[routers]]
id = 1
[[publishers]]
id = 12
router = 1
at = [0, 0]
to = [0, 0.2]
speed_m_s = 100
rate_hz = 10
[[subscribers]]
id = 6
router = 1
around = [0, 0.1]
radius_m = 4000
"""
    passing = parse_topology(text)
    sure = is_wanted(passing, passing[6], passing[12], np.arange(2000))
    apart = [
        distance_m(Point(0, 0.1), Point(*passing[12].where(number / 10))) for number in range(2000)
    ]
    # A place that was asked for a little earlier or later is in the circle, too.
    assert set(np.flatnonzero(sure)) == {n for n, each in enumerate(apart) if each <= 4000 - 500}


def test_who_rests_wants_what_lies_in_its_area() -> None:
    numbers = np.arange(640)
    for subscriber in layout("spread").with_role("subscriber"):
        spread = layout("spread")
        wanted = is_wanted(spread, subscriber, spread[13], numbers)
        assert wanted.tolist() == spread.wanted(subscriber, spread[13]) * 10


def test_messages_at_the_border_are_in_no_figure() -> None:
    """Those of the first second, when a place has just come into the circle, are not sure."""
    numbers = np.arange(int(60 * PUBLISHER.rate_hz))
    for mover in MOVERS:
        sure = is_wanted(MOVING, mover, PUBLISHER, numbers)
        at_once = np.array(
            [
                distance_m(
                    Point(*PUBLISHER.places[n % 64]), Point(*mover.where(n / PUBLISHER.rate_hz))
                )
                <= mover.radius_m
                for n in numbers[::31].tolist()
            ]
        )
        assert not (sure[::31] & ~at_once).any()
        assert sure[::31].sum() < at_once.sum()
