"""The raster must answer as the areas themselves do."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import numpy as np
import pytest
from hypothesis import example

from index_fences import (
    Operation,
    check,
    check_crowd,
    check_each,
    check_edge,
    check_operations,
    given_edges,
    given_operations,
)
from property_examples import examples
from zonal.geo import Area, Box, Circle, Everywhere, Point, Polygon, destination
from zonal.index import Fences, Raster
from zonal.index.columns import Circles
from zonal.index.fields import field_of
from zonal.index.handful import Handful

MAKERS: dict[str, Callable[[], Fences]] = {
    "raster": Raster,
    "raster 1": lambda: Raster(1),
    "raster 25": lambda: Raster(25),
    "raster 0.3": lambda: Raster(0.3),
    "raster 1000": lambda: Raster(1000),
    "handful": Handful,
}
makers = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@makers
@examples(60)
@given_operations
def test_the_same_answers_under_random_operations(
    make: Callable[[], Fences], steps: list[Operation], asked: list[Point]
) -> None:
    check_operations(make(), steps, asked)


@makers
@examples(60)
@given_edges
@example(Circle(Point(0.0, 179.999), radius_m=1000.0), 90.0, 0.0)
@example(Circle(Point(89.999, 0.0), radius_m=1000.0), 0.0, 0.0)
def test_points_at_the_edge_are_judged_by_the_area(
    make: Callable[[], Fences], circle: Circle, bearing: float, beyond_m: float
) -> None:
    check_edge(make(), circle, bearing, beyond_m)


@makers
def test_a_crowd_of_every_kind(make: Callable[[], Fences]) -> None:
    check_crowd(make())


@pytest.mark.parametrize("south", [45.0, 89.05, -89.95])
def test_a_large_field_that_is_only_read_sorts_itself_and_answers_the_same(south: float) -> None:
    random = np.random.default_rng(5)

    def place() -> Point:
        return Point(random.uniform(south, south + 0.9), random.uniform(9.0, 9.9))

    def somewhere() -> Circle:
        return Circle(place(), radius_m=random.choice([0.0, 0.5, 900.0, 30_000.0]))

    def ask(times: int) -> None:
        for _ in range(times):
            check(raster, kept, place())
        for circle in islice(kept.values(), 20):
            assert circle.center is not None
            check(raster, kept, circle.center)

    raster, kept = Raster(1), {row: somewhere() for row in range(800)}
    for row, circle in kept.items():
        raster.add(row, circle)
    layer = raster._layers[Circles, 1]
    table = layer.tables[field_of(south + 0.45, 9.45, 1)]
    assert not table._is_settled
    ask(60)
    assert table._is_settled
    for row in range(0, 800, 7):
        kept[row] = somewhere()
        raster.update(row, kept[row])
    assert not table._is_settled
    ask(60)
    for row in range(1, 800, 9):
        del kept[row]
        raster.remove(row)
    ask(60)


def test_poles_and_the_antimeridian_among_many_places_are_answered_as_alone() -> None:
    raster, kept = Raster(), dict[int, Area]()
    centers = [Point(90.0, 0.0), Point(-90.0, 5.0), Point(10.0, 180.0), Point(10.0, -179.99)]
    for row, center in enumerate(centers):
        kept[row] = Circle(center, radius_m=5_000.0)
        raster.add(row, kept[row])
    asked = [*centers, Point(10.0, -180.0), Point(90.0, 170.0), Point(-90.0, -170.0)]
    check_each(raster, kept, asked)
    check_each(raster, kept, asked * 50)


@pytest.mark.parametrize("granularity", [None, 1, 25, 1000])
@pytest.mark.parametrize(
    "huge",
    [
        Box(-90.0, -180.0, 90.0, 0.0),
        Circle(Point(0.0, 0.0), radius_m=10_000_000.0),
        Box(-60.0, 100.0, 60.0, -100.0),
        Everywhere(),
    ],
)
def test_half_the_world_fills_few_fields(granularity: float | None, huge: Area) -> None:
    raster = Raster(granularity)
    raster.add(1, huge)
    assert raster.field_count <= 1024
    for lat in (-90.0, -45.0, 0.0, 45.0, 90.0):
        for lon in (-180.0, -120.0, -10.0, 10.0, 120.0, 180.0):
            check(raster, {1: huge}, Point(lat, lon))


def test_every_size_of_geofence_stands_in_a_handful_of_fields() -> None:
    for exponent in range(8):
        raster = Raster()
        raster.add(1, Circle(Point(45.46, 9.19), radius_m=10.0**exponent))
        assert raster.field_count <= 9


def test_a_circle_leaves_out_the_corner_fields_that_its_box_touches() -> None:
    raster = Raster(100)
    raster.add(1, Circle(Point(0.005, 0.005), radius_m=2000.0))
    rows = 5
    assert raster.field_count == rows * rows - 4


def test_empty_fields_and_levels_are_given_back() -> None:
    raster = Raster()
    for lon in range(-180, 180):
        raster.add(1, Circle(Point(10.0, float(lon)), radius_m=1000.0))
        raster.update(1, Circle(Point(-10.0, float(lon)), radius_m=100_000.0))
        raster.remove(1)
    assert raster.field_count == 0
    assert raster.granularities == ()


@pytest.mark.parametrize("granularity", [0, -1, float("nan"), 1e9])
def test_a_granularity_that_cannot_be_is_refused(granularity: float) -> None:
    with pytest.raises(ValueError, match="granularity"):
        Raster(granularity)


@pytest.mark.parametrize("granularity", [None, 4, 25])
def test_wide_circles_near_a_pole_stand_in_all_their_fields(granularity: float | None) -> None:
    random = np.random.default_rng(3)
    for _ in range(300):
        center = Point(random.uniform(80.0, 89.4), random.uniform(-120.0, 120.0))
        circle = Circle(center, radius_m=random.uniform(5_000.0, 55_000.0))
        raster = Raster(granularity)
        raster.add(1, circle)
        for bearing in range(0, 360, 3):
            point = destination(center, float(bearing), circle.radius_m)
            check(raster, {1: circle}, point)


def test_geofences_that_are_one_object_are_tested_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Areas at a seam have a test of their own; polygons elsewhere are tested all at once."""
    plain = Polygon(((45.0, 9.0), (46.0, 9.0), (45.0, 10.0), (45.0, 9.0)))
    other = Polygon(((45.1, 9.1), (46.0, 9.1), (45.1, 10.0), (45.1, 9.1)))
    seam = Polygon(((-10.0, 170.0), (-10.0, 180.0), (10.0, 180.0), (-10.0, 170.0)))
    fences, kept = Raster(), dict[int, Area]()
    for row in range(300):
        kept[row] = (plain, seam, other)[row % 3 if row < 60 else row % 2]
        fences.add(row, kept[row])
    for point in (Point(45.2, 9.2), Point(45.9, 9.9), Point(45.05, 9.5), Point(-9.0, 179.0)):
        check(fences, kept, point)
    asked: list[Area] = []
    contains = Polygon.contains

    def counted(area: Polygon, point: Point) -> bool:
        asked.append(area)
        return contains(area, point)

    monkeypatch.setattr(Polygon, "contains", counted)
    assert len(fences.containing(Point(45.2, 9.2))) == 160
    assert len(fences.containing(Point(-9.0, 179.0))) == 140
    assert len(asked) == 1
