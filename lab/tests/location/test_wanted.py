"""Which messages count as wanted by somebody who moves."""

from __future__ import annotations

import numpy as np
import pytest

from zonal.geo import Point, distance_m
from zonal_lab.emulation import layout
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
