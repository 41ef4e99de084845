"""Reading areas: shapely geometries, well-known text and binary, GeoJSON, dictionaries, bytes."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import shapely

from zonal.errors import GeometryError
from zonal.geo.area import BOX_BYTES, Area, Box, Everywhere
from zonal.geo.circle import CIRCLE_BYTES, Circle
from zonal.geo.point import Point
from zonal.geo.polygon import (
    MultiPolygon,
    Polygon,
)
from zonal.geo.well_known import MAX_VERTICES, POINT, POLYGON, WkbReader, check_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.geo.area import GivenArea

_Unite: TypeAlias = "Callable[[tuple[Polygon, ...]], MultiPolygon]"
"""What makes one area of several polygons."""
_NUMBER = r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
_CIRCLE_WKT = re.compile(
    rf"\s*CIRCLE\s*\(\s*{_NUMBER}\s+{_NUMBER}\s*,\s*{_NUMBER}\s*\)\s*", re.IGNORECASE
)
_EVERYWHERE_WKT = re.compile(r"\s*EVERYWHERE\s*", re.IGNORECASE)
_SHOWN = 80
_MISUSED = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
"""What reading values of the wrong kind raises."""


def area_from_wkt(text: str) -> Area:
    """The area of a well-known text: POLYGON, MULTIPOLYGON, or a POINT (a circle of radius 0).

    Two extensions of ours: `CIRCLE (lon lat, metres)` and `EVERYWHERE`. As in all well-known
    text, longitude comes first.
    """
    if isinstance(text, str) and (match := _CIRCLE_WKT.fullmatch(text)):
        lon, lat, radius_m = match.groups()
        return Circle(Point(float(lat), float(lon)), radius_m=float(radius_m))
    if isinstance(text, str) and _EVERYWHERE_WKT.fullmatch(text):
        return Everywhere()
    text = check_text(text)
    try:
        return area_from_planar(shapely.from_wkt(text, on_invalid="fix") or shapely.from_wkt(text))
    except shapely.errors.ShapelyError as error:
        raise GeometryError(f"cannot read {_shown(text)} as well-known text: {error}") from error


def area_from_wkb(
    data: bytes, max_vertices: int = MAX_VERTICES, *, of_stranger: bool = False
) -> Area:
    """The area of a well-known binary: a polygon, a multipolygon, or a point (radius 0).

    `of_stranger`: refuse overlapping parts that it would take long to unite.
    """
    try:
        kind, polygons = WkbReader(data, max_vertices).read()
        if kind == POINT:
            return Circle(Point(*polygons[0][0][0]), radius_m=0.0)
        parts = tuple(Polygon(tuple(shell), tuple(map(tuple, holes))) for shell, *holes in polygons)
        if kind == POLYGON:
            return parts[0]
        return MultiPolygon(parts, of_stranger=of_stranger)
    except GeometryError as error:
        raise GeometryError(
            f"cannot read {len(data)} bytes as well-known binary: {error}"
        ) from error


def area_from_bytes(data: bytes, max_vertices: int = MAX_VERTICES) -> Area:
    """The area of the bytes that `Area.to_bytes` wrote; `GeometryError` for any others."""
    letter, body = data[:1], data[1:]
    try:
        match letter:
            case b"E":
                return Everywhere()
            case b"C":
                lat, lon, radius_m = CIRCLE_BYTES.unpack(body)
                return Circle(Point(lat, lon), radius_m=radius_m)
            case b"B":
                return Box(*BOX_BYTES.unpack(body))
            case b"P":
                return area_from_wkb(body, max_vertices, of_stranger=True)
    except struct.error as error:
        raise GeometryError(f"{len(body)} bytes are no shape {letter!r}: {error}") from error
    raise GeometryError(f"unknown shape {letter!r}")


def area_from_geojson(geometry: Mapping[str, Any] | str, *, of_stranger: bool = False) -> Area:
    """The area of a GeoJSON geometry, feature, or collection (whose parts become one area).

    A `Point` with the member (or property) `radius_m` is a circle. `of_stranger`: refuse
    overlapping parts that it would take long to unite.
    """
    if isinstance(geometry, str):
        try:
            geometry = json.loads(geometry)
        except (json.JSONDecodeError, RecursionError) as error:
            raise GeometryError(f"cannot read GeoJSON: {error}") from error
    unite = partial(MultiPolygon, of_stranger=of_stranger)
    try:
        return _from_geojson(geometry, unite)
    except _MISUSED as error:
        if isinstance(error, GeometryError):
            raise
        raise GeometryError(f"cannot read GeoJSON: {type(error).__name__} {error}") from error


def _from_geojson(geometry: Any, unite: _Unite) -> Area:
    match geometry["type"]:
        case "Feature":
            radius = (geometry.get("properties") or {}).get("radius_m")
            inner = dict(geometry["geometry"])
            return _from_geojson(inner if radius is None else {**inner, "radius_m": radius}, unite)
        case "FeatureCollection":
            return _united([_from_geojson(each, unite) for each in geometry["features"]], unite)
        case "GeometryCollection":
            return _united([_from_geojson(each, unite) for each in geometry["geometries"]], unite)
        case "Point":
            lon, lat, *_ = geometry["coordinates"]
            return Circle(Point(lat, lon), radius_m=float(geometry.get("radius_m", 0.0)))
        case "Polygon":
            return _polygon_of_lon_lat(geometry["coordinates"])
        case "MultiPolygon":
            return unite(tuple(_polygon_of_lon_lat(p) for p in geometry["coordinates"]))
    raise GeometryError(
        f"a GeoJSON {geometry['type']} is no area; Polygon, MultiPolygon and Point (radius_m) are"
    )


def _polygon_of_lon_lat(rings: Any) -> Polygon:
    shell, *holes = ([(lat, lon) for lon, lat, *_ in ring] for ring in rings)
    return Polygon(tuple(shell), tuple(tuple(hole) for hole in holes))


def _united(parts: list[Area], unite: _Unite) -> Area:
    if len(parts) == 1:
        return parts[0]
    polygons: list[Polygon] = []
    for part in parts:
        match part:
            case Polygon():
                polygons.append(part)
            case MultiPolygon():
                polygons.extend(part.polygons)
            case _:
                raise GeometryError("a collection of several areas may hold polygons only")
    return unite(tuple(polygons))


def area_from_dict(values: Mapping[str, Any]) -> Area:
    """The area of a dictionary that `to_dict` made (or a person wrote)."""
    try:
        match values["type"]:
            case "everywhere":
                return Everywhere()
            case "circle":
                center = values.get("center")
                place = None if center is None else Point(center["lat"], center["lon"])
                return Circle(place, radius_m=values["radius_m"])
            case "box":
                names = ("min_lat", "min_lon", "max_lat", "max_lon")
                return Box(*(values[name] for name in names))
            case "polygon":
                return _polygon_of_dict(values)
            case "multipolygon":
                return MultiPolygon(tuple(_polygon_of_dict(part) for part in values["polygons"]))
            case other:
                raise GeometryError(
                    f"unknown area type {other!r}; known: circle, box, polygon, multipolygon, "
                    "everywhere"
                )
    except _MISUSED as error:
        if isinstance(error, GeometryError):
            raise
        raise GeometryError(f"an area's dictionary lacks or misuses {error}") from error


def _polygon_of_dict(values: Mapping[str, Any]) -> Polygon:
    return Polygon(
        tuple((lat, lon) for lat, lon in values["shell"]),
        tuple(tuple((lat, lon) for lat, lon in hole) for hole in values.get("holes", ())),
    )


def area_from_planar(planar: shapely.Geometry) -> Area:
    """The area of a shapely geometry (x = longitude): a polygon, several, or a point (radius 0)."""
    match planar.geom_type:
        case _ if planar.is_empty:
            raise GeometryError("an empty geometry is no area; use Everywhere() for no limit")
        case "Point":
            return Circle(Point(planar.y, planar.x), radius_m=0.0)
        case "Polygon":
            return Polygon.of_figure(planar)
        case "MultiPolygon":
            return MultiPolygon(tuple(Polygon.of_figure(part) for part in planar.geoms))
    raise GeometryError(
        f"a {planar.geom_type} is no area; POLYGON, MULTIPOLYGON, POINT and CIRCLE are"
    )


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")


def read_area(given: GivenArea) -> Area:
    """The area that was meant; `GeometryError` where none was."""
    match given:
        case Area():
            return given
        case str():
            return area_from_wkt(given)
        case shapely.Geometry():
            # A copy: whoever gave it may prepare it, and then only one thread may ask it.
            return area_from_planar(shapely.set_srid(given, 0))
        case Mapping():
            kind = given.get("type")
            ours = isinstance(kind, str) and kind.islower()
            return area_from_dict(given) if ours else area_from_geojson(given)
    raise GeometryError(
        "an area is a Circle, Box, Polygon, …, a shapely geometry, a GeoJSON dictionary or "
        f"well-known text, not {given!r:.80}"
    )


Area.read = read_area
