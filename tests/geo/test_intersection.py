from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from places import areas, areas_with_points, circles
from zonal.errors import GeometryError
from zonal.geo import Area, Box, Circle, Everywhere, Point, Polygon, distance_m

NORTH = Point(90, 0)


@given(areas_with_points(), areas)
def test_areas_that_share_a_point_intersect(case: tuple[Area, Point], other: Area) -> None:
    area, point = case
    if area.contains(point) and other.contains(point):
        assert area.intersects(other)
        assert other.intersects(area)


@given(areas, areas)
def test_intersection_does_not_depend_on_the_order(a: Area, b: Area) -> None:
    assert a.intersects(b) == b.intersects(a)


@given(areas_with_points())
def test_a_circle_of_radius_0_intersects_what_contains_its_centre(case: tuple[Area, Point]) -> None:
    area, point = case
    if not isinstance(area, Circle):  # a circle's own tolerance counts twice there
        spot = Circle(point, radius_m=0)
        if area.contains(point):
            assert area.intersects(spot)


@given(circles, circles)
def test_circles_intersect_exactly_when_their_radii_reach(a: Circle, b: Circle) -> None:
    assert a.center is not None
    assert b.center is not None
    gap = distance_m(a.center, b.center) - a.radius_m - b.radius_m
    if abs(gap) > 1e-5:
        assert a.intersects(b) == (gap < 0)


@given(st.floats(0.1, 30), st.floats(1, 89))
def test_a_circle_meets_a_box_from_the_north_exactly_at_its_parallel(
    gap_deg: float, lat: float
) -> None:
    box = Box(-90, -20, lat - min(gap_deg, lat), 20)
    metres = distance_m(Point(lat, 0), Point(box.max_lat, 0))
    assert Circle(Point(lat, 0), radius_m=metres + 0.01).intersects(box)


def test_a_circle_inside_a_hole_does_not_intersect() -> None:
    holed = Polygon(
        ((0, 0), (0, 10), (10, 10), (10, 0), (0, 0)), (((4, 4), (4, 6), (6, 6), (6, 4), (4, 4)),)
    )
    assert not Circle(Point(5, 5), radius_m=100_000).intersects(holed)
    assert Circle(Point(5, 5), radius_m=112_000).intersects(holed)


def test_areas_on_both_sides_of_the_antimeridian_touch_there() -> None:
    assert Box(0, 170, 10, 180).intersects(Box(0, -180, 10, -170))
    east = Polygon(((0, 170), (0, 180), (10, 180), (0, 170)))
    assert east.intersects(Box(0, -180, 10, -170))
    assert east.intersects(Polygon(((0, -190), (0, -179), (9, -180), (0, -190))))
    assert not east.intersects(Box(0, -179.9, 10, -170))


def test_areas_that_reach_the_same_pole_meet_there() -> None:
    assert Box(80, 0, 90, 10).intersects(Box(80, 100, 90, 110))
    assert Box(80, 0, 90, 10).intersects(Polygon(((80, 99), (80, 101), (90, 100), (80, 99))))
    assert Circle(NORTH, radius_m=1).intersects(Box(80, 100, 90, 110))
    assert not Box(80, 0, 89, 10).intersects(Box(80, 100, 90, 110))


def test_a_straight_edge_is_nearer_the_equator_than_the_great_circle() -> None:
    # The edge follows the parallel of 60°; the great circle between its ends bulges to 73.9°.
    band = Polygon(((59, 0), (59, 120), (60, 120), (60, 0), (59, 0)))
    assert not Circle(Point(65, 60), radius_m=500_000).intersects(band)
    assert Circle(Point(65, 60), radius_m=560_000).intersects(band)


def test_an_ego_centric_circle_intersects_nothing_before_it_has_a_place() -> None:
    with pytest.raises(GeometryError, match="without a centre"):
        Circle(radius_m=5).intersects(Box(0, 0, 1, 1))
    assert Everywhere().intersects(Box(0, 0, 1, 1))
