"""Shapes from strangers: refused with an error of ours, quickly, and never by the end of us."""

from __future__ import annotations

import contextlib
import json
import struct
import time

import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from zonal.errors import GeometryError
from zonal.geo import (
    MultiPolygon,
    Point,
    Polygon,
    area_from_bytes,
    area_from_dict,
    area_from_geojson,
    area_from_wkb,
    area_from_wkt,
    point_from_wkt,
)

SQUARE = Polygon(((45.0, 9.0), (45.0, 10.0), (46.0, 10.0), (45.0, 9.0)))


def nested_collections(depth: int) -> bytes:
    """Collections in collections: GEOS reads them by recursion until its stack is over."""
    return struct.pack("<BII", 1, 7, 1) * depth + struct.pack("<BII", 1, 7, 0)


@pytest.mark.parametrize("depth", [1, 20_000, 1_000_000])
def test_nested_collections_are_refused_before_geos_sees_them(depth: int) -> None:
    started = time.perf_counter()
    with pytest.raises(GeometryError, match="type 7 is no area"):
        area_from_wkb(nested_collections(depth))
    with pytest.raises(GeometryError, match="type 7 is no area"):
        area_from_bytes(b"P" + nested_collections(depth))
    assert time.perf_counter() - started < 1.0


@pytest.mark.parametrize("kind", [*range(7, 18), 0, 2, 4, 5, 1003, 0x80000003, 0xFFFF_FFFF])
def test_other_types_are_refused(kind: int) -> None:
    with pytest.raises(GeometryError, match="is no area"):
        area_from_wkb(struct.pack("<BII", 1, kind, 0))


def test_text_is_refused_before_geos_sees_it() -> None:
    depth = 30_000
    text = "GEOMETRYCOLLECTION (" * depth + "POINT (1 1)" + ")" * depth
    for read in (area_from_wkt, point_from_wkt):
        with pytest.raises(GeometryError, match="is no area"):
            read(text)
    with pytest.raises(GeometryError):
        area_from_wkt("POLYGON " + "(" * depth)
    with pytest.raises(GeometryError, match="is no area"):
        area_from_wkt("CURVEPOLYGON (CIRCULARSTRING (0 0, 4 0, 4 4, 0 4, 0 0))")


@pytest.mark.parametrize("read", [area_from_wkt, point_from_wkt])
@pytest.mark.parametrize("text", [None, 5, b"POINT (1 1)", "", "POINT", "POINT (1)", "POINT (a b)"])
def test_what_is_no_text_is_an_error_of_ours(read: object, text: object) -> None:
    with pytest.raises(GeometryError):
        read(text)  # type: ignore[operator]


def test_vertices_are_counted_before_they_are_read() -> None:
    many = struct.pack("<BIII", 1, 3, 1, 2_000_000_000)
    with pytest.raises(GeometryError, match="vertices"):
        area_from_wkb(many)
    with pytest.raises(GeometryError, match="more than 3 vertices"):
        area_from_wkb(SQUARE.to_wkb(), max_vertices=3)


def test_deep_json_and_wrong_values_are_errors_of_ours() -> None:
    for text in ("[" * 100_000, '{"type":"GeometryCollection","geometries":[' * 20_000):
        with pytest.raises(GeometryError):
            area_from_geojson(text)
    nested: object = {"type": "Point", "coordinates": [9, 45]}
    for _ in range(20_000):
        nested = {"type": "GeometryCollection", "geometries": [nested]}
    with pytest.raises(GeometryError):
        area_from_geojson(nested)  # type: ignore[arg-type]
    with pytest.raises(GeometryError):
        area_from_geojson({"type": "Point", "coordinates": [10**400, 45]})
    with pytest.raises(GeometryError):
        area_from_dict({"type": "circle", "center": {"lat": 10**400, "lon": 9}, "radius_m": 5})
    with pytest.raises(GeometryError):
        area_from_dict({"type": "polygon", "shell": [(1, 2, 3), (1, 2, 3)]})


@given(st.binary(max_size=200))
def test_any_bytes_are_an_area_or_an_error_of_ours(data: bytes) -> None:
    for read in (area_from_wkb, area_from_bytes):
        with contextlib.suppress(GeometryError):
            read(data)


@given(st.data())
def test_mutated_shapes_are_an_area_or_an_error_of_ours(data: st.DataObject) -> None:
    whole = bytearray(MultiPolygon((SQUARE,)).to_wkb())
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(whole)))
    for mutated in (bytes(whole), bytes(whole[:cut])):
        with contextlib.suppress(GeometryError):
            area_from_wkb(mutated)


@given(st.recursive(st.none() | st.floats() | st.text(), st.lists, max_leaves=20))
def test_any_json_is_an_area_or_an_error_of_ours(value: object) -> None:
    for text in (json.dumps(value), json.dumps({"type": "Polygon", "coordinates": value})):
        with contextlib.suppress(GeometryError):
            area_from_geojson(text)


@pytest.mark.parametrize("byte_order", [0, 1])
def test_what_shapely_wrote_is_read_the_same(byte_order: int) -> None:
    planar = shapely.MultiPolygon(
        [
            shapely.box(9, 45, 10, 46).difference(shapely.box(9.4, 45.4, 9.6, 45.6)),
            shapely.box(1, 1, 2, 2),
        ]
    )
    area = area_from_wkb(shapely.to_wkb(planar, byte_order=byte_order))
    assert isinstance(area, MultiPolygon)
    assert area.contains(Point(45.1, 9.1))
    assert not area.contains(Point(45.5, 9.5))
    one = area_from_wkb(shapely.to_wkb(planar.geoms[1], byte_order=byte_order))
    assert isinstance(one, Polygon)
    assert one.contains(Point(1.5, 1.5))
