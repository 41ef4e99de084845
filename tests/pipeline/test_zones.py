from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from property_examples import examples
from zonal.errors import DeclarationError
from zonal.pipeline import Zones


def collection(*shapes: Any, **properties: list[Any]) -> dict[str, Any]:
    features = [
        {
            "type": "Feature",
            "properties": {name: values[i] for name, values in properties.items()},
            "geometry": shape if isinstance(shape, dict) else shapely.geometry.mapping(shape),
        }
        for i, shape in enumerate(shapes)
    ]
    return {"type": "FeatureCollection", "features": features}


BOW_TIE = shapely.Polygon([(0, 0), (1, 1), (1, 0), (0, 1)])


@examples(25)
@given(st.integers(0, 10_000))
def test_the_raster_never_changes_an_answer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shapes = [
        shapely.Point(*rng.uniform(-1, 1, 2)).buffer(
            rng.uniform(0.01, 1), quad_segs=int(rng.integers(1, 9))
        )
        for _ in range(6)
    ]
    zones = Zones.from_geojson(collection(*shapes))
    lons, lats = rng.uniform(-2.2, 2.2, (2, 2000))
    corners = shapely.get_coordinates(shapes[0])
    lons[: len(corners)], lats[: len(corners)] = corners.T  # points on an edge are inside
    lats[-1] = np.nan
    expected = [
        next((i for i, s in enumerate(shapes) if s.intersects(shapely.Point(x, y))), -1)
        for x, y in zip(lons[:-1], lats[:-1], strict=True)
    ]
    assert zones.locate(lats, lons).tolist() == [*expected, -1]


def test_zones_are_named_by_a_property() -> None:
    square = shapely.box(0, 0, 1, 1)
    content = collection(square, shapely.box(2, 0, 3, 1), NIL=["Brera", "Duomo"], id=[1, 2])
    assert Zones.from_geojson(content, name="NIL").names == ("Brera", "Duomo")
    assert Zones.from_geojson(content).names == ("0", "1")


def test_an_invalid_polygon_is_named_with_its_reason_or_repaired() -> None:
    content = collection(shapely.box(5, 5, 6, 6), BOW_TIE, name=["good", "bow tie"])
    with pytest.raises(DeclarationError, match=r"1 zones: bow tie \(Self-intersection"):
        Zones.from_geojson(content)
    zones = Zones.from_geojson(content, repair=True)
    assert zones.locate(np.array([0.25, 0.5]), np.array([0.5, 0.1])).tolist() == [-1, 1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"type": "Polygon"}, "FeatureCollection"),
        (collection({"type": "Point", "coordinates": [1, 2]}), "is a Point, not a polygon"),
        (
            collection(shapely.box(0, 0, 1, 1), shapely.box(0, 0, 1, 1), name=["x", "x"]),
            "called 'x'",
        ),
        (collection(shapely.box(500000, 5000000, 500001, 5000001)), "GeoJSON is in degrees"),
    ],
)
def test_a_wrong_zone_file_says_what_is_wrong(content: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        Zones.from_geojson(content)


def test_a_missing_property_lists_those_there_are() -> None:
    content = collection(shapely.box(0, 0, 1, 1), NIL=["Brera"])
    with pytest.raises(DeclarationError, match="no property 'name'; it has NIL"):
        Zones.from_geojson(content, name="name")
