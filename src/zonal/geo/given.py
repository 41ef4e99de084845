"""Points and areas as users have them: pairs, shapely geometries, GeoJSON, well-known text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import shapely

from zonal.errors import GeometryError
from zonal.geo.area import Area
from zonal.geo.formats import (
    area_from_dict,
    area_from_geojson,
    area_from_planar,
    area_from_wkt,
    point_from_wkt,
)
from zonal.geo.point import Point, point_of_pair

GivenPoint: TypeAlias = "Point | Sequence[float] | shapely.Point | Mapping[str, Any] | str"
"""A `Point`; latitude and longitude; or, longitude first as their standards have it, a shapely
point, a GeoJSON `Point` or a text `POINT (lon lat)`."""

GivenArea: TypeAlias = "Area | shapely.Geometry | Mapping[str, Any] | str"
"""An `Area`; a shapely geometry, GeoJSON or well-known text, longitude first as their standards
have it; or a dictionary that `Area.to_dict` made."""


def as_point(given: GivenPoint) -> Point:
    """The point that was meant; `GeometryError` where none was."""
    if isinstance(given, Point):
        return given
    if isinstance(given, str):
        return point_from_wkt(given)
    if isinstance(given, shapely.Point) and not given.is_empty:
        return Point(given.y, given.x)
    if isinstance(given, Mapping):
        coordinates = given.get("coordinates") if given.get("type") == "Point" else None
        if not isinstance(coordinates, Sequence):
            raise GeometryError(f"a point in GeoJSON has the type Point, not as {given!r:.80}")
        return point_of_pair(coordinates[1::-1])
    return point_of_pair(given)


def as_area(given: GivenArea) -> Area:
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
