"""Points and areas as users have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import shapely

from zonal.errors import GeometryError
from zonal.geo import Box, Circle, Everywhere, Point, Polygon, as_area, as_point

DUOMO = Point(45.4642, 9.19)
SQUARE = Polygon(((45, 9), (45, 10), (46, 10), (46, 9), (45, 9)))


@pytest.mark.parametrize(
    "given",
    [
        DUOMO,
        (45.4642, 9.19),
        [45.4642, 9.19],
        np.array([45.4642, 9.19]),
        shapely.Point(9.19, 45.4642),
        {"type": "Point", "coordinates": [9.19, 45.4642, 120.0]},
        "POINT (9.19 45.4642)",
    ],
)
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
