"""Zones as users have them, and the wider areas around them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from places import areas, points
from zonal.border import ZoneSet
from zonal.errors import FenceError
from zonal.geo import Area, Box, Circle, Point, together, widened

SQUARE = [[[9, 45], [9.1, 45], [9.1, 45.1], [9, 45.1], [9, 45]]]


def feature(**members: object) -> dict[str, object]:
    return {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": SQUARE}, **members}


def test_features_are_zones_named_by_a_property() -> None:
    collection = {
        "type": "FeatureCollection",
        "features": [
            feature(properties={"name": "Brera", "NIL": 2}),
            feature(properties={"zone": "Duomo", "name": "other", "NIL": 1}),
            feature(properties=None, id=7),
            feature(),
        ],
    }
    assert ZoneSet.given(collection).names == ("Brera", "Duomo", "7", "4")
    collection["features"] = collection["features"][:2]  # type: ignore[index]
    assert ZoneSet.from_geojson(json.dumps(collection), "NIL").names == ("2", "1")
    with pytest.raises(FenceError, match="no property 'x'"):
        ZoneSet.given(collection, "x")


def test_areas_by_name_and_one_area_are_zones() -> None:
    circle, box = Circle(Point(45, 9), radius_m=10), Box(1, 2, 3, 4)
    assert ZoneSet.given({"a": circle, "b": box}).areas == (circle, box)
    assert ZoneSet.given(circle).names == (None,)
    assert ZoneSet.given("POINT (9 45)").areas == (Circle(Point(45, 9), radius_m=0),)
    assert ZoneSet.given(Circle(radius_m=5)).is_ego_centric


@pytest.mark.parametrize(
    ("given_", "wrong"),
    [
        ({"type": "FeatureCollection", "features": []}, "at least one"),
        ({"type": "FeatureCollection", "features": [7]}, "no GeoJSON feature"),
        ({"type": "FeatureCollection", "features": [feature(id=1), feature(id=1)]}, "two zones"),
        ({"a": Circle(radius_m=5), "b": Box(1, 2, 3, 4)}, "alone"),
        ({}, "no zones"),
    ],
)
def test_what_are_no_zones_is_refused(given_: object, wrong: str) -> None:
    with pytest.raises(FenceError, match=wrong):
        ZoneSet.given(given_)  # type: ignore[arg-type]
    with pytest.raises(FenceError, match="cannot read"):
        ZoneSet.from_geojson("{")


@given(area=areas, metres=st.one_of(st.floats(0, 3000), st.just(2e6)), point=points)
def test_a_widened_area_contains_all_that_is_near(area: Area, metres: float, point: Point) -> None:
    wide = widened(area, metres)
    if area.contains(point) or area.comes_within(point, metres * 0.999):
        assert wide.contains(point)


@given(st.lists(areas, min_size=1, max_size=4), points)
def test_areas_together_contain_each(parts: list[Area], point: Point) -> None:
    if any(part.contains(point) for part in parts):
        assert together(parts).contains(point)
