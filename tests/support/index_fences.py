"""What every structure of geofences must answer: the same as the areas themselves."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from index_places import areas, circles, points
from zonal.geo import Area, Box, Circle, Point, Polygon, destination
from zonal.index import Fences

Operation = tuple[int, Area | None]
operations = st.lists(st.tuples(st.integers(0, 12), st.one_of(st.none(), areas)), max_size=40)
given_operations = given(operations, st.lists(points, min_size=1, max_size=8))
given_edges = given(
    circles, st.floats(0.0, 360.0), st.sampled_from([-1e-3, -1e-7, 0.0, 1e-7, 1e-3])
)


def apply(fences: Fences, steps: list[Operation]) -> dict[int, Area]:
    """Add, update or remove rows; returns what must be in there afterwards."""
    kept: dict[int, Area] = {}
    for row, area in steps:
        if area is None:
            if kept.pop(row, None) is not None:
                fences.remove(row)
        elif row in kept:
            fences.update(row, area)
            kept[row] = area
        else:
            fences.add(row, area)
            kept[row] = area
    return kept


def check(fences: Fences, kept: dict[int, Area], point: Point) -> None:
    found = list(fences.containing(point))
    assert sorted(found) == sorted(row for row, area in kept.items() if area.contains(point))


def check_each(fences: Fences, kept: dict[int, Area], asked: list[Point]) -> None:
    """Many places at once are answered as one after the other."""
    lats, lons = np.array([[point.lat, point.lon] for point in asked]).T
    numbers, rows = fences.containing_each(lats, lons)
    assert (np.diff(numbers) >= 0).all()
    assert sorted(zip(numbers.tolist(), rows.tolist(), strict=True)) == [
        (number, row)
        for number, point in enumerate(asked)
        for row, area in sorted(kept.items())
        if area.contains(point)
    ]


def check_operations(fences: Fences, steps: list[Operation], asked: list[Point]) -> None:
    """After some changes, points are answered by what is left."""
    kept = apply(fences, steps)
    assert len(fences) == len(kept)
    for point in asked:
        check(fences, kept, point)
    check_each(fences, kept, asked)


def check_edge(fences: Fences, circle: Circle, bearing: float, beyond_m: float) -> None:
    """A point at the edge of a circle, or a hair inside or outside."""
    assert circle.center is not None
    fences.add(7, circle)
    edge = destination(circle.center, bearing, max(0.0, circle.radius_m + beyond_m))
    check(fences, {7: circle}, edge)
    check_each(fences, {7: circle}, [edge, circle.center, edge])


def check_crowd(fences: Fences) -> None:
    """Enough of each kind for the columnar tables, their growth and their removals."""
    random = np.random.default_rng(11)
    kept = dict[int, Area]()
    for row in range(400):
        lat, lon = random.uniform(45.40, 45.50), random.uniform(9.10, 9.20)
        size = random.uniform(0.001, 0.02)
        if row % 3 == 0:
            kept[row] = Circle(Point(lat, lon), radius_m=size * 111_000)
        elif row % 3 == 1:
            kept[row] = Box(lat, lon, lat + size, lon + size)
        else:
            corners = [(lat, lon), (lat + size, lon), (lat, lon + size), (lat, lon)]
            kept[row] = Polygon(tuple(corners))
        fences.add(row, kept[row])
    for row in range(0, 400, 4):
        fences.remove(row)
        del kept[row]
    for row in range(1, 400, 4):
        kept[row] = Circle(Point(45.45, 9.1 + row / 4000), radius_m=1500.0)
        fences.update(row, kept[row])
    asked = [Point(random.uniform(45.39, 45.51), random.uniform(9.09, 9.21)) for _ in range(100)]
    for point in asked:
        check(fences, kept, point)
    check_each(fences, kept, asked[:10])
    check_each(fences, kept, asked)
    kept[1] = Circle(Point(45.46, 9.15), radius_m=2500.0)
    fences.update(1, kept[1])
    check_each(fences, kept, asked)
    for row in list(kept):
        fences.remove(row)
        del kept[row]
    check(fences, kept, Point(45.45, 9.15))
