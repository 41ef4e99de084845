"""How large areas are, and what is declared for them: the figure that covers are judged by."""

from __future__ import annotations

import math
import re
import statistics
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import s2geometry as s2
import shapely
import utm

from zonal.geo import EARTH_RADIUS_M, Box, Cell, Circle, Everywhere, Point, planar_of
from zonal.keys import Role, encoding_named, encoding_of_expression

if TYPE_CHECKING:
    from collections.abc import Iterable

    from zonal.geo import Area

_SPHERE_M2 = 4 * math.pi * EARTH_RADIUS_M**2
_PIECE_DEG = 0.1


def size_m2(area: Area | Cell) -> float:
    """How large an area is on the sphere; edges of polygons are straight in degrees."""
    if isinstance(area, Cell):
        return float(s2.S2Cell(s2.S2CellId(area.id)).ExactArea()) * EARTH_RADIUS_M**2
    if isinstance(area, Everywhere):
        return _SPHERE_M2
    if isinstance(area, Circle):
        return _SPHERE_M2 / 2 * (1 - math.cos(area.radius_m / EARTH_RADIUS_M))
    if isinstance(area, Box):
        south, north = (math.sin(math.radians(lat)) for lat in (area.min_lat, area.max_lat))
        return _SPHERE_M2 / 720 * area.width_deg * (north - south)
    return _figure_m2(planar_of(area))


def _equal_area(degrees: Any) -> Any:
    """Lambert's cylindrical projection, in metres."""
    lons, lats = np.radians(degrees).T
    return np.stack([lons, np.sin(lats)], axis=1) * EARTH_RADIUS_M


def _figure_m2(figure: shapely.Geometry) -> float:
    """Of a figure in degrees, x = longitude."""
    pieces = shapely.segmentize(figure, _PIECE_DEG)
    return float(shapely.transform(pieces, _equal_area).area)


@lru_cache(maxsize=100_000)
def _key_m2(expression: str) -> float:
    if re.match("@mgrs/[0-9]+[A-Z]/", expression):
        return _square_m2(expression)
    place = encoding_of_expression(expression).decode(expression, Role.SUBSCRIBER)
    assert not isinstance(place, Point)
    return size_m2(place)


def _square_m2(expression: str) -> float:
    """Of a square or column of MGRS only what lies in its zone, where the next zone has its own."""
    zone, column = re.match(r"@mgrs/([0-9]+[A-Z])(?:/([A-Z])\$\*)?", expression).groups()  # type: ignore[union-attr]
    decode = encoding_named("mgrs").decode
    box = decode(f"@mgrs/{zone}/**", Role.SUBSCRIBER)
    if column is not None:
        return _figure_m2(shapely.intersection(planar_of(box), _column(zone, column, box)))
    square = decode(expression, Role.SUBSCRIBER)
    return _figure_m2(shapely.intersection(planar_of(box), planar_of(square)))


def _column(zone: str, letter: str, box: Box) -> shapely.Geometry:
    """A column of squares of 100 km, from below the zone to above it."""
    number, steps = int(zone[:-1]), np.arange(91) * 0.1
    west = (("STUVWXYZ", "ABCDEFGH", "JKLMNPQR")[number % 3].index(letter) + 1) * 100_000.0
    is_north = zone[-1] >= "N"
    lats = (box.min_lat, box.max_lat if is_north else min(box.max_lat, -1e-9))
    low, high = (
        utm.from_latlon(lat, box.min_lon + 3, number, force_northern=is_north)[1] for lat in lats
    )
    north = low - 60_000 + (high - low + 120_000) * steps / steps[-1]
    edges = [
        utm.to_latlon(np.full_like(north, east), north, number, northern=is_north, strict=False)
        for east in (west, west + 100_000.0)
    ]
    (lats, lons), (other_lats, other_lons) = edges
    ring = np.concatenate([np.c_[lons, lats], np.c_[other_lons, other_lats][::-1]])
    return shapely.Polygon(ring)


def declared_m2(keys: Iterable[str]) -> float:
    """How large the places of these keys are together; those of fences are none."""
    located = [key for key in keys if "/@to/" not in key and "/@" in key]
    return sum(_key_m2(key[key.index("/@") + 1 :]) for key in located)


def median_and_90(values: Iterable[float]) -> tuple[float, float]:
    """The median, and what nine of ten are at most."""
    ordered = sorted(values)
    return statistics.median(ordered), ordered[math.ceil(0.9 * len(ordered)) - 1]
