from __future__ import annotations

import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest
import shapely
from hypothesis import given

from places import areas, areas_with_points, points
from zonal.errors import GeometryError, ZonalError
from zonal.geo import (
    EARTH_RADIUS_M,
    Area,
    Box,
    Circle,
    Everywhere,
    MultiPolygon,
    Point,
    Polygon,
    area_from_bytes,
    area_from_dict,
    area_from_geojson,
    area_from_wkb,
    area_from_wkt,
    destination,
    distance_m,
    point_from_wkt,
)

DUOMO = Point(45.4642, 9.1900)
SQUARE = Polygon(((45, 9), (45, 10), (46, 10), (46, 9), (45, 9)))


def test_a_circle_contains_its_edge_and_nothing_beyond() -> None:
    circle = Circle(DUOMO, radius_m=2000)
    for bearing in range(0, 360, 7):
        assert circle.contains(destination(DUOMO, bearing, 2000))
        assert circle.contains(destination(DUOMO, bearing, 1999.99))
        assert not circle.contains(destination(DUOMO, bearing, 2000.01))


def test_a_circle_larger_than_a_hemisphere_excludes_only_the_far_side() -> None:
    circle = Circle(Point(0, 0), radius_m=15_000_000)
    assert circle.contains(Point(0, 134))
    assert not circle.contains(Point(0, 180))
    assert circle.contains(destination(Point(0, 0), 33, 15_000_000))
    assert not circle.contains(destination(Point(0, 0), 33, 15_000_001))


def test_a_circle_over_the_pole_contains_it_and_spans_all_longitudes() -> None:
    circle = Circle(Point(89.9, 20), radius_m=50_000)
    assert circle.contains(Point(90, -120))
    assert circle.contains(Point(89.8, -160))
    assert (circle.bounds.min_lon, circle.bounds.max_lon, circle.bounds.max_lat) == (-180, 180, 90)


def test_an_ego_centric_circle_has_to_be_placed_first() -> None:
    around = Circle(radius_m=500)
    assert around.is_ego_centric
    with pytest.raises(GeometryError, match="without a centre"):
        around.contains(DUOMO)
    assert around.at(DUOMO).contains(DUOMO)


@pytest.mark.parametrize("lon", [180.0, -180.0, 179.0, -179.0, 175.0, -175.0])
def test_a_box_over_the_antimeridian_contains_both_sides(lon: float) -> None:
    assert Box(-10, 175, 10, -175).contains(Point(0, lon))


def test_a_box_over_the_antimeridian_leaves_the_rest_of_the_world_out() -> None:
    assert not Box(-10, 175, 10, -175).contains(Point(0, 0))
    assert not Box(-10, 175, 10, -175).contains(Point(0, 174.9))


def test_a_box_that_ends_at_180_contains_the_meridian_under_both_names() -> None:
    assert Box(-10, 170, 10, 180).contains(Point(0, -180))
    assert Box(-10, -180, 10, -170).contains(Point(0, 180))


def test_a_box_that_reaches_the_pole_contains_it_at_any_longitude() -> None:
    assert Box(80, 0, 90, 10).contains(Point(90, 100))
    assert not Box(80, 0, 89, 10).contains(Point(89, 100))


def test_a_polygon_contains_its_vertices_and_edges_but_not_its_hole() -> None:
    holed = Polygon(SQUARE.shell, (((45.4, 9.4), (45.4, 9.6), (45.6, 9.6), (45.4, 9.4)),))
    assert holed.contains(Point(45, 9))
    assert holed.contains(Point(45, 9.5))
    assert holed.contains(Point(45.4, 9.5))  # the hole's edge belongs to the polygon
    assert not holed.contains(Point(45.45, 9.55))
    assert not holed.contains(Point(46.0001, 9.5))


def test_a_polygon_edge_is_straight_in_degrees_not_a_great_circle() -> None:
    band = Polygon(((60, 0), (60, 60), (61, 60), (61, 0), (60, 0)))
    assert band.contains(Point(60.0, 30))  # the geodesic between the corners is far north of it
    assert not band.contains(Point(61.01, 30))


def test_a_polygon_beyond_180_degrees_contains_points_on_both_sides() -> None:
    pacific = Polygon(((-10, 170), (-10, 190), (10, 190), (10, 170), (-10, 170)))
    assert pacific.contains(Point(0, 175))
    assert pacific.contains(Point(0, -175))
    assert not pacific.contains(Point(0, -165))
    assert pacific.bounds.crosses_antimeridian


def test_a_polygon_up_to_latitude_90_contains_the_pole() -> None:
    arctic = Polygon(((66, -180), (66, 180), (90, 180), (90, -180), (66, -180)))
    assert arctic.contains(Point(90, 17))
    assert arctic.contains(Point(70, 180))
    assert not arctic.contains(Point(65, 0))
    assert list(arctic.contains_many([90, 70, 65], [17, 180, 0])) == [True, True, False]


def test_overlapping_parts_of_a_multipolygon_are_one_area() -> None:
    other = Polygon(((45.5, 9.5), (45.5, 11), (46.5, 11), (46.5, 9.5), (45.5, 9.5)))
    both = MultiPolygon((SQUARE, other))
    assert both.contains(Point(45.75, 9.75))
    assert both.contains(Point(46.4, 10.9))
    assert not both.contains(Point(45.1, 10.9))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Point(91, 0), "latitude 91 is not between -90 and 90"),
        (lambda: Point(9.19, 454.6), "longitude 454.6"),
        (lambda: Point(100.0, 45.0), "did you mean Point"),
        (lambda: Point(math.nan, 0), "latitude nan"),
        (lambda: Point(0, math.inf), "longitude inf"),
        (lambda: Point("45", "9"), "two numbers"),
        (lambda: Circle(DUOMO, radius_m=-1), "radius -1 m"),
        (lambda: Circle(DUOMO, radius_m=math.nan), "radius nan"),
        (lambda: Circle(DUOMO, radius_m=3e7), "use Everywhere"),
        (lambda: Circle((45, 9, 3), radius_m=3), r"\(lat, lon\), not \(45, 9, 3\)"),
        (lambda: Circle(DUOMO, radius_m="2km"), "number of metres"),
        (lambda: Box(46, 9, 45, 10), "south to north"),
        (lambda: Box(45, 9, 46, 190), "max_lon 190"),
        (lambda: Box("a", 9, 46, 10), "four numbers"),
        (lambda: Polygon(((45, 9), (45, 10), (45, 9))), "at least 3 corners"),
        (lambda: Polygon(((0, 0), (1, 1), (0, 1), (1, 0), (0, 0))), "Self-intersection"),
        (lambda: Polygon(((0, 0), (0, 1), (0, 2), (0, 0))), "not simple"),
        (lambda: Polygon(((9, 100), (95, 101), (10, 101), (9, 100))), "latitudes"),
        (lambda: Polygon(((0, math.nan), (1, 1), (0, 1), (0, math.nan))), "open|longitudes"),
        (lambda: Polygon((1, 2, 3)), "sequence of points"),
        (lambda: MultiPolygon(()), "at least one"),
        (lambda: area_from_wkt("POLYGON ((9 45, 10 45"), "well-known text"),
        (lambda: area_from_wkt("garbage"), "well-known text"),
        (lambda: area_from_wkt("LINESTRING (0 0, 1 1)"), "LINESTRING"),
        (lambda: area_from_wkt("POLYGON EMPTY"), "empty"),
        (lambda: area_from_wkt(17), "string"),
        (lambda: area_from_geojson("{"), "GeoJSON"),
        (lambda: area_from_geojson({"type": "Polygon"}), "GeoJSON"),
        (lambda: area_from_geojson({"type": "LineString", "coordinates": []}), "no area"),
        (lambda: area_from_geojson({"type": "Polygon", "coordinates": []}), "GeoJSON"),
        (lambda: area_from_dict({"type": "blob"}), "unknown area type"),
        (lambda: area_from_bytes(b""), "unknown shape"),
        (lambda: area_from_bytes(b"X"), "unknown shape"),
        (lambda: area_from_bytes(b"C123"), "no shape"),
        (lambda: area_from_bytes(b"Pgarbage"), "well-known binary"),
        (lambda: Circle(radius_m=5).to_bytes(), "without a centre"),
        (lambda: Circle(radius_m=5).to_wkt(), "without a centre"),
        (lambda: area_from_dict({"type": "circle"}), "radius_m"),
        (lambda: point_from_wkt("POINT EMPTY"), "expected POINT"),
        (lambda: point_from_wkt("POINT (9 95)"), "latitude 95"),
    ],
)
def test_bad_geometry_says_what_is_wrong(make: Callable[[], object], message: str) -> None:
    with pytest.raises(GeometryError, match=message) as caught:
        make()
    assert isinstance(caught.value, ZonalError)


def test_a_hundred_thousand_vertices_are_handled() -> None:
    turns = np.linspace(0, 2 * np.pi, 100_000)
    ring = [(45 + math.sin(t), 9 + math.cos(t)) for t in turns[:-1]]
    huge = Polygon((*ring, ring[0]))
    assert huge.contains(Point(45, 9))
    assert not huge.contains(Point(46.1, 9))
    assert huge.intersects(Circle(Point(46.5, 9), radius_m=60_000))
    assert not huge.intersects(Circle(Point(46.5, 9), radius_m=50_000))


@given(areas_with_points())
def test_one_point_and_an_array_of_points_get_the_same_answer(case: tuple[Area, Point]) -> None:
    area, point = case
    assert area.contains_many([point.lat], [point.lon]).tolist() == [area.contains(point)]


@given(areas_with_points())
def test_bounds_contain_every_point_of_the_area(case: tuple[Area, Point]) -> None:
    area, point = case
    if area.contains(point):
        assert area.bounds.expanded(1e-9).contains(point)


@given(areas)
def test_every_format_reads_back_what_it_wrote(area: Area) -> None:
    assert area_from_dict(area.to_dict()) == area
    assert area_from_bytes(area.to_bytes()) == area
    assert pickle.loads(pickle.dumps(area)) == area
    if isinstance(area, Circle | Polygon | MultiPolygon):
        assert area_from_wkt(area.to_wkt()) == area
        assert area_from_geojson(area.to_geojson()) == area


@given(points, points)
def test_distance_is_symmetric_and_bounded(a: Point, b: Point) -> None:
    assert distance_m(a, b) == pytest.approx(distance_m(b, a), abs=1e-6)
    assert 0 <= distance_m(a, b) <= 20_015_200


@given(areas)
def test_well_known_binary_is_the_same_area_for_others(area: Area) -> None:
    figure = shapely.from_wkb(area.to_wkb())
    if isinstance(area, Circle):
        assert area.center is not None
        assert (figure.y, figure.x) == tuple(area.center)
    elif isinstance(area, Box):
        assert figure.bounds[0] >= -180.0
        assert figure.bounds[2] <= 180.0
        width = sum(east - west for west, _, east, _ in shapely.bounds(shapely.get_parts(figure)))
        assert width == pytest.approx(area.width_deg)
    elif not isinstance(area, Everywhere):
        assert area_from_wkb(area.to_wkb()) == area


def test_only_a_circle_without_a_centre_is_ego_centric() -> None:
    around = Circle(radius_m=5)
    assert around.is_ego_centric
    assert around.at(DUOMO) == Circle(DUOMO, radius_m=5)
    for area in (around.at(DUOMO), SQUARE, Box(45, 9, 46, 10), Everywhere()):
        assert not area.is_ego_centric


@pytest.mark.parametrize("area", [SQUARE, Box(45, 9, 46, 10)])
def test_an_area_with_a_place_stays_there(area: Area) -> None:
    assert area.at(DUOMO) is area


def test_everywhere_contains_every_point() -> None:
    assert Everywhere().contains(Point(-90, 0))
    assert Everywhere().contains_many([1, 2], [3, 4]).all()


def test_the_sphere_is_off_by_what_the_manual_says() -> None:
    """Along a meridian a degree has the radius of its curvature: b²/a to a²/b."""
    a, flattening = 6_378_137.0, 1 / 298.257223563
    b = a * (1 - flattening)
    least, most = b * b / a, a * a / b
    assert round((EARTH_RADIUS_M / least - 1) * 100, 2) == 0.56
    assert round((EARTH_RADIUS_M / most - 1) * 100, 2) == -0.45
