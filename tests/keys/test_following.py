"""Areas that move keep what is declared for them, and no place in them is missed on the way."""

from __future__ import annotations

import math

import numpy as np
import pytest
import zenoh
from hypothesis import given
from hypothesis import strategies as st

from property_examples import examples
from zonal.geo import Circle, Point, destination
from zonal.keys import Role, encoding_named

DUOMO = Point(45.4642, 9.19)
MGRS = encoding_named("mgrs")
points = st.builds(Point, st.floats(-79.0, 83.0), st.floats(-180.0, 180.0))
borders = st.builds(Point, st.floats(-0.02, 0.02), st.floats(11.99, 12.01))
steps = st.lists(st.tuples(st.floats(0.0, 360.0), st.floats(0.01, 0.9)), min_size=1, max_size=5)


@examples(80)
@given(st.one_of(points, borders), st.floats(20.0, 90_000.0), steps, st.booleans())
def test_wherever_a_circle_moves_all_its_places_are_heard(
    place: Point, radius_m: float, moves: list[tuple[float, float]], closely: bool
) -> None:
    last = Circle(place, radius_m=radius_m)
    declared = MGRS.area_expressions(last, Role.SUBSCRIBER)
    for bearing, share in moves:
        assert last.center is not None
        circle = last.at(destination(last.center, bearing, share * radius_m))
        assert circle.center is not None
        if not -79.5 < circle.center.lat < 83.5:
            return
        declared = MGRS.following_expressions(
            declared, last, circle, Role.SUBSCRIBER, 128, closely=closely
        )
        assert len(declared) <= 128
        keys = [zenoh.KeyExpr(each) for each in declared]
        inside = [destination(circle.center, turn, 0.98 * radius_m) for turn in range(0, 360, 30)]
        for point in (circle.center, *inside):
            if circle.contains(point):
                (sent,) = MGRS.place_expressions(point)
                assert any(key.intersects(zenoh.KeyExpr(sent)) for key in keys)
        last = circle


@pytest.mark.parametrize(("closely", "most_new"), [(True, 20.0), (False, 15.0)])
def test_on_its_way_a_circle_declares_few_squares(closely: bool, most_new: float) -> None:
    """While it moves by its radius; a cover of its own each time would have 160."""
    last = Circle(DUOMO, radius_m=2000.0)
    declared = MGRS.area_expressions(last, Role.SUBSCRIBER)
    new, surplus = 0, []
    for step in range(1, 6 * 64):
        circle = last.at(destination(DUOMO, 63.0, step * 2000.0 / 64))
        now = MGRS.following_expressions(
            declared, last, circle, Role.SUBSCRIBER, 128, closely=closely
        )
        if step >= 3 * 64:
            new += len(set(now) - set(declared))
            surplus.append(sum(map(size_m2, now)) / (math.pi * 2000.0**2))
        last, declared = circle, now
    assert new / 3 <= most_new
    assert np.median(surplus) <= 2.0


def size_m2(expression: str) -> float:
    """Of a square, or of a column of ten."""
    pairs = expression.count("/") - 3
    return float((1e5 / 10**pairs) ** 2 * (10 if "$*" in expression else 1))


def test_an_area_that_does_not_move_is_covered_anew() -> None:
    before, after = (Circle(DUOMO, radius_m=radius_m) for radius_m in (500.0, 700.0))
    for name in ("s2", "mgrs", "json"):
        encoding = encoding_named(name)
        had = encoding.area_expressions(before, Role.SUBSCRIBER)
        followed = encoding.following_expressions(had, before, after, Role.SUBSCRIBER)
        assert followed == encoding.area_expressions(after, Role.SUBSCRIBER)
