"""Points and areas as users have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import shapely

from zonal.errors import GeometryError
from zonal.geo import (
    Area,
    Box,
    Circle,
    Everywhere,
    Grid,
    MultiPolygon,
    Point,
    Polygon,
    as_area,
    as_point,
    cell_id_of,
    cell_intersects,
    cell_of,
    common_part,
    cover,
    destination,
    distance_m,
    is_within,
    planar_of,
    together,
    unit_vector,
    widened,
)

DUOMO = Point(45.4642, 9.19)
SQUARE = Polygon(((45, 9), (45, 10), (46, 10), (46, 9), (45, 9)))
SHAPES: list[Area] = [
    SQUARE,
    MultiPolygon((SQUARE,)),
    Box(45, 9, 46, 10),
    Circle(DUOMO, radius_m=500),
    Everywhere(),
]
GIVEN_POINTS = [
    DUOMO,
    (45.4642, 9.19),
    [45.4642, 9.19],
    np.array([45.4642, 9.19]),
    shapely.Point(9.19, 45.4642),
    {"type": "Point", "coordinates": [9.19, 45.4642, 120.0]},
    "POINT (9.19 45.4642)",
]
GIVEN_AREAS = [
    shapely.box(9, 45, 10, 46),
    SQUARE.to_geojson(),
    SQUARE.to_dict(),
    "POLYGON ((9 45, 10 45, 10 46, 9 46, 9 45))",
]


@pytest.mark.parametrize("given", GIVEN_POINTS)
def test_points(given: Any) -> None:
    assert as_point(given) == DUOMO


@pytest.mark.parametrize(
    "given",
    [
        (45,),
        (45, 9, 0),
        45,
        None,
        "45,9",
        b"ab",
        {"type": "Polygon"},
        {"type": "Point", "coordinates": [1]},
        {},
        shapely.Point(),
        ("a", "b"),
        (10**400, 0),
        (91, 0),
    ],
)
def test_what_is_no_point(given: Any) -> None:
    with pytest.raises(GeometryError):
        as_point(given)


@pytest.mark.parametrize(
    "given",
    [
        SQUARE,
        shapely.box(9, 45, 10, 46),
        SQUARE.to_geojson(),
        SQUARE.to_dict(),
        {"type": "Feature", "properties": None, "geometry": SQUARE.to_geojson()},
        {"type": "Polygon", "coordinates": [[[9, 45], [10, 45], [10, 46], [9, 46]]]},
        "POLYGON ((9 45, 10 45, 10 46, 9 46, 9 45))",
        "POLYGON ((9 45, 10 45, 10 46, 9 46))",
        Polygon(((45, 9), (45, 10), (46, 10), (46, 9))),
    ],
)
def test_areas_whose_open_rings_are_closed(given: Any) -> None:
    area = as_area(given)
    assert isinstance(area, Polygon)
    assert shapely.equals(area.planar, SQUARE.planar)
    assert area.shell[0] == area.shell[-1]


def test_other_areas() -> None:
    assert as_area("CIRCLE (9.19 45.4642, 500)") == Circle((45.4642, 9.19), radius_m=500)  # type: ignore[arg-type]
    assert as_area({"type": "circle", "radius_m": 500}) == Circle(radius_m=500)
    assert as_area("EVERYWHERE") == Everywhere()
    assert as_area(Box(1, 2, 3, 4)) == Box(1, 2, 3, 4)


@pytest.mark.parametrize(
    "given",
    [
        None,
        17,
        (45, 9),
        "here",
        {},
        {"type": "LineString", "coordinates": []},
        shapely.LineString([(0, 0), (1, 1)]),
        shapely.Polygon(),
    ],
)
def test_what_is_no_area(given: Any) -> None:
    with pytest.raises(GeometryError):
        as_area(given)


def test_a_geometry_that_its_owner_prepares_later_is_not_the_areas_own() -> None:
    given = shapely.box(9, 45, 10, 46)
    area = as_area(given)
    shapely.prepare(given)
    assert isinstance(area, Polygon)
    assert not shapely.is_prepared(area.planar)


GRID = Grid(Box(45, 9, 46, 10), 10, 10)
ASKS_OF_A_POINT: list[Callable[[Any], Any]] = [
    *(shape.contains for shape in SHAPES),
    *(lambda place, shape=shape: shape.comes_within(place, 10.0) for shape in SHAPES),
    Circle(radius_m=5).at,
    SQUARE.at,
    lambda place: Circle(place, radius_m=5),
    Point(45, 9).distance_m,
    lambda place: distance_m(place, place),
    lambda place: distance_m(place, Point(45, 9)),
    lambda place: destination(place, 30, 100),
    unit_vector,
    cell_of,
    cell_id_of,
    GRID.cell_of,
]


@pytest.mark.parametrize("ask", ASKS_OF_A_POINT)
def test_wherever_a_point_is_asked_about_it_is_taken_as_users_have_it(
    ask: Callable[[Any], Any],
) -> None:
    for given in GIVEN_POINTS:
        assert ask(given) == ask(DUOMO)


@pytest.mark.parametrize("ask", [ask for ask in ASKS_OF_A_POINT if ask != SQUARE.at])
@pytest.mark.parametrize("given", ["here", 17, None, (91, 0), SQUARE, shapely.box(0, 0, 1, 1)])
def test_what_is_no_point_is_refused_wherever_one_is_asked_about(
    ask: Callable[[Any], Any], given: Any
) -> None:
    if given is None and isinstance(ask(DUOMO), Circle):
        return  # a circle without a centre
    with pytest.raises(GeometryError):
        ask(given)


CELL = cell_of(DUOMO, 12)
ASKS_OF_AN_AREA: list[Callable[[Any], Any]] = [
    *(shape.intersects for shape in SHAPES),
    cover,
    lambda area: cell_intersects(CELL, area),
    lambda area: common_part(area, SQUARE),
    lambda area: common_part(SQUARE, area),
    lambda area: is_within(area, SQUARE),
    lambda area: is_within(SQUARE, area),
    planar_of,
    lambda area: together([area, SQUARE]),
    lambda area: widened(area, 10.0),
    lambda area: list(GRID.cells_of(area)),
]


@pytest.mark.parametrize("ask", ASKS_OF_AN_AREA)
def test_wherever_an_area_is_asked_about_it_is_taken_as_users_have_it(
    ask: Callable[[Any], Any],
) -> None:
    for given in GIVEN_AREAS:
        assert ask(given) == ask(as_area(given))


@pytest.mark.parametrize("ask", ASKS_OF_AN_AREA)
@pytest.mark.parametrize("given", ["here", 17, None, DUOMO, shapely.LineString([(0, 0), (1, 1)])])
def test_what_is_no_area_is_refused_wherever_one_is_asked_about(
    ask: Callable[[Any], Any], given: Any
) -> None:
    with pytest.raises(GeometryError):
        ask(given)


def test_a_grid_needs_a_box() -> None:
    with pytest.raises(GeometryError, match="is a Box"):
        Grid(SQUARE, 1, 1)  # type: ignore[arg-type]


def test_a_shape_of_ones_own_is_an_area() -> None:
    class Parcel(Box):
        """A box by another name."""

    parcel = Parcel(45, 9, 46, 10)
    assert as_area(parcel) is parcel
    assert SQUARE.intersects(parcel)
