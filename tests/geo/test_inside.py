from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from places import areas, points
from zonal.geo import Area, Box, Circle, Everywhere, Point, Polygon, common_part, is_within

MILANO = Polygon(((45.38, 9.04), (45.38, 9.28), (45.54, 9.28), (45.54, 9.04), (45.38, 9.04)))
DUOMO = Point(45.4642, 9.19)


def test_a_circle_in_a_city_lies_within_it_until_it_reaches_its_edge() -> None:
    to_the_south = DUOMO.distance_m(Point(45.38, 9.19))
    to_the_east = DUOMO.distance_m(Point(45.4642, 9.28))
    nearest = min(to_the_south, to_the_east)
    assert is_within(Circle(DUOMO, radius_m=nearest * 0.99), MILANO)
    assert not is_within(Circle(DUOMO, radius_m=nearest * 1.01), MILANO)


def test_a_city_in_a_circle_lies_within_it_when_its_farthest_corner_does() -> None:
    farthest = max(DUOMO.distance_m(Point(lat, lon)) for lat, lon in MILANO.shell)
    assert is_within(MILANO, Circle(DUOMO, radius_m=farthest * 1.001))
    assert not is_within(MILANO, Circle(DUOMO, radius_m=farthest * 0.999))


def test_boxes_at_the_antimeridian_lie_within_each_other() -> None:
    assert is_within(Box(-10, 178, 10, -178), Box(-11, 177, 11, -177))
    assert is_within(Box(-10, -179.5, 10, -178), Box(-11, 177, 11, -177))
    assert not is_within(Box(-10, 178, 10, -176), Box(-11, 177, 11, -177))


def test_the_antimeridian_is_one_line_from_both_sides() -> None:
    west, east = Box(-80, -180, 0, 0), Box(-80, -179.5, 0, 180)
    common = common_part(west, east)
    assert common is not None
    assert common.contains(Point(-80, -180))


def test_only_everywhere_holds_everywhere() -> None:
    assert is_within(Everywhere(), Everywhere())
    assert not is_within(Everywhere(), Box(-90, -180, 90, 180))


@given(areas, areas, st.lists(points, max_size=20))
def test_what_lies_within_has_no_point_outside(inner: Area, outer: Area, some: list[Point]) -> None:
    if is_within(inner, outer):
        assert all(outer.contains(point) for point in _of(inner, some) if inner.contains(point))


@given(areas, areas, st.lists(points, max_size=20))
def test_the_common_part_holds_all_points_of_both(a: Area, b: Area, some: list[Point]) -> None:
    common = common_part(a, b)
    for point in [*_of(a, some), *_of(b, some)]:
        if a.contains(point) and b.contains(point):
            # On the edge of a figure that was cut anew a point may be outside by its last digit.
            assert common is not None
            assert common.contains(point) or common.comes_within(point, 0.001)


def _of(area: Area, some: list[Point]) -> list[Point]:
    """Points in the box around an area, its corners too."""
    box = area.bounds
    turns = [(math.sin(n) / 2 + 0.5, math.cos(n * n) / 2 + 0.5) for n in range(12)]
    lats = [box.min_lat + box.height_deg * up for up, _ in turns]
    lons = [(box.min_lon + box.width_deg * right + 180) % 360 - 180 for _, right in turns]
    corners = [Point(box.min_lat, box.min_lon), Point(box.max_lat, box.max_lon)]
    return [*some, *corners, *(Point(lat, lon) for lat, lon in zip(lats, lons, strict=True))]
