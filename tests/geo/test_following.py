"""A circle that moves keeps its cells while it touches them, and is contained at every step."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from property_examples import examples
from zonal.geo import Circle, Point, cell_intersects, cell_of, cover, destination, following_cover

DUOMO = Point(45.4642, 9.19)
points = st.builds(Point, st.floats(-89.9, 89.9), st.floats(-180.0, 180.0))
steps = st.lists(st.tuples(st.floats(0.0, 360.0), st.floats(0.001, 0.9)), min_size=1, max_size=6)


def rim(circle: Circle) -> list[Point]:
    assert circle.center is not None
    return [destination(circle.center, bearing, circle.radius_m) for bearing in range(0, 360, 15)]


@examples(120)
@given(points, st.floats(1.0, 300_000.0), steps, st.sampled_from([0.001, 0.02, 0.25, 4.0]))
def test_wherever_it_goes_its_cells_contain_it_and_those_it_touches_stay(
    place: Point, radius_m: float, moves: list[tuple[float, float]], price: float
) -> None:
    last = Circle(place, radius_m=radius_m)
    cells = cover(last, 48)
    for bearing, share in moves:
        assert last.center is not None
        circle = last.at(destination(last.center, bearing, share * radius_m))
        followed = following_cover((each.id for each in cells), last, circle, 96, price=price)
        if followed is None:
            return
        assert len(followed) <= 96
        for cell in cells:
            assert (cell in followed) is cell_intersects(cell, circle)
        for point in (*rim(circle), circle.center):
            assert point is not None
            assert any(cell.contains(cell_of(point)) for cell in followed)
        for cell in followed:
            assert sum(each.intersects(cell) for each in followed) == 1
        last, cells = circle, followed


@pytest.mark.parametrize(
    ("price", "most_new", "most_surplus"), [(0.018, 45.0, 1.42), (0.25, 8.0, 2.3)]
)
def test_on_a_long_way_few_cells_are_new_or_they_fit(
    price: float, most_new: float, most_surplus: float
) -> None:
    """New cells while it moves by its radius; declared over wanted area, in the median."""
    source, radius_m = random.Random(2), 2000.0
    new, surplus = 0, []
    for _ in range(2):
        bearing = source.uniform(0.0, 360.0)
        last = Circle(DUOMO, radius_m=radius_m * 65 / 64)
        cells = cover(last)
        for step in range(1, 8 * 64):
            circle = last.at(destination(DUOMO, bearing, step * radius_m / 64))
            followed = following_cover((c.id for c in cells), last, circle, 96, price=price)
            assert followed is not None
            if step >= 3 * 64:
                new += len(set(followed) - set(cells))
                surplus.append(sum(map(size_m2, followed)) / (math.pi * radius_m**2))
            last, cells = circle, followed
    assert new / (2 * 5) <= most_new
    assert np.median(surplus) <= most_surplus


@pytest.mark.parametrize("bearing", [0.0, 72.0, 144.0])
def test_a_wide_cell_is_not_taken_for_a_corner_that_the_circle_touches(bearing: float) -> None:
    """Its middle is far beside the way, so that it once seemed to be touched nowhere."""
    radius_m = 2000.0
    place = destination(DUOMO, bearing * 37.0, 8000.0 * math.sqrt(bearing / 360))
    last = Circle(place, radius_m=radius_m)
    cells, surplus = cover(last), []
    for step in range(1, 8 * 32):
        circle = last.at(destination(place, bearing, step * radius_m / 32))
        followed = following_cover((c.id for c in cells), last, circle, 144, price=0.014)
        assert followed is not None
        if step >= 2 * 32:
            surplus.append(sum(map(size_m2, followed)) / (math.pi * radius_m**2))
        last, cells = circle, followed
    assert np.quantile(surplus, 0.9) <= 1.6


def size_m2(cell: object) -> float:
    import s2geometry as s2

    return float(s2.S2Cell(s2.S2CellId(cell.id)).ExactArea()) * 6_371_008.8**2  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("center", "radius_m"),
    [(DUOMO, 900.0), (destination(DUOMO, 1.0, 3000.0), 1000.0), (DUOMO, 1000.0)],
)
def test_another_size_a_jump_and_no_move_at_all_start_anew(center: Point, radius_m: float) -> None:
    last = Circle(DUOMO, radius_m=1000.0)
    ids = [cell.id for cell in cover(last)]
    assert following_cover(ids, last, Circle(center, radius_m=radius_m), price=0.1) is None
