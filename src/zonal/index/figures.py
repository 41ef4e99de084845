"""Figures: what the raster needs to know of an area: its kind, its numbers, its extent."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from zonal.geo import (
    EARTH_RADIUS_M,
    EDGE_TOLERANCE_M,
    Area,
    Box,
    Circle,
    MultiPolygon,
    Polygon,
    unit_vector,
)
from zonal.index.columns import Boxes, Circles, Columns, Polygons, Shapes

if TYPE_CHECKING:
    from zonal.geo import Point
    from zonal.index.columns import Numbers

HAIR = 1e-9
"""Degrees (0.1 mm) by which extents and fields are widened: a field is never missed."""

_ANYWHERE = (math.inf, math.inf, math.inf, math.inf)


class Figure(NamedTuple):
    """An area's kind of table, the numbers of its column, and the box around it.

    The box wraps around the antimeridian where `west > east`.
    """

    kind: type[Columns]
    numbers: Numbers
    south: float
    west: float
    north: float
    east: float

    @property
    def lon_ranges(self) -> tuple[tuple[float, float], ...]:
        """The longitudes as ranges that do not wrap; −180 stands for the whole antimeridian."""
        if self.west > self.east:
            return ((self.west, 180.0), (-180.0, self.east))
        if self.east == 180.0 and self.west > -180.0:
            return ((self.west, 180.0), (-180.0, -180.0))
        return ((self.west, self.east),)


def figure_of(area: Area) -> Figure:
    """The figure of a placed area."""
    if isinstance(area, Circle) and area.center is not None:
        return _figure_of_circle(area.center, area.radius_m)
    if isinstance(area, Polygon | MultiPolygon):
        west, south, east, north = area.planar.bounds
        if west > -180.0 and east < 180.0 and south > -90.0 and north < 90.0:
            return Figure(Polygons, (-south, north, -west, east), south, west, north, east)
    box = area.bounds
    sides = (box.min_lat, box.min_lon, box.max_lat, box.max_lon)
    on_seam = box.min_lon > box.max_lon or 180.0 in (-box.min_lon, box.min_lon, box.max_lon)
    if on_seam or box.min_lat == -90.0 or box.max_lat == 90.0:
        # A pole has all longitudes and the antimeridian two: left to the area's own test.
        return Figure(Shapes, _ANYWHERE, *sides)
    numbers = (-box.min_lat, box.max_lat, -box.min_lon, box.max_lon)
    return Figure(Boxes if isinstance(area, Box) else Shapes, numbers, *sides)


class _Reach(NamedTuple):
    """What a radius means, as angles; circles of equal size are many, so it is remembered."""

    height_deg: float
    sine: float
    minus_cosine: float


@lru_cache(maxsize=1024)
def _reach_of(radius_m: float) -> _Reach:
    angle = (radius_m + 2 * EDGE_TOLERANCE_M) / EARTH_RADIUS_M
    edge = min((radius_m + EDGE_TOLERANCE_M) / EARTH_RADIUS_M, math.pi)
    return _Reach(math.degrees(angle) + HAIR, math.sin(angle), -math.cos(edge))


def plane_of(center: Point, radius_m: float) -> Numbers:
    """A circle as the half space that cuts it out of the unit sphere (any radius)."""
    x, y, z = unit_vector(center)
    return x, y, z, _reach_of(radius_m).minus_cosine


def _figure_of_circle(center: Point, radius_m: float) -> Figure:
    lat_deg, lon_deg = center.lat, center.lon
    height, sine, minus_cosine = _reach_of(radius_m)
    x, y, z = unit_vector(center)
    cos_lat, plane = math.hypot(x, y), (x, y, z, minus_cosine)
    south, north = lat_deg - height, lat_deg + height
    if south <= -90.0 or north >= 90.0:
        return Figure(Circles, plane, max(south, -90.0), -180.0, min(north, 90.0), 180.0)
    width = math.degrees(math.asin(sine / cos_lat)) + HAIR if sine < cos_lat else 90.0 + HAIR
    west, east = lon_deg - width, lon_deg + width
    if west < -180.0:
        west += 360.0
    if east > 180.0:
        east -= 360.0
    return Figure(Circles, plane, south, west, north, east)


def circle_reaches(circle: Circle, south: float, west: float, north: float, east: float) -> bool:
    """Whether a circle meets a field; never a false no (a hair of tolerance).

    The nearest point of a field lies on the meridian of the centre if the field spans it, and
    else on the nearer side: at the foot of the perpendicular from the centre, or at the corner
    next to it; beyond a quarter turn, where that meridian leads away over the poles, at a corner.
    """
    center = circle.center
    assert center is not None
    lat, low, high = map(math.radians, (center.lat, max(south, -90.0), min(north, 90.0)))
    across = math.radians(_turn_to(center.lon, west, east))
    reach = min((circle.radius_m + 2 * EDGE_TOLERANCE_M) / EARTH_RADIUS_M + 1e-10, math.pi)
    limit = math.sin(reach / 2) ** 2 * (1 + 1e-12)
    if across >= math.pi / 2:
        return min(_haversine(lat, low, across), _haversine(lat, high, across)) <= limit
    foot = math.atan2(math.sin(lat), math.cos(lat) * math.cos(across))
    return _haversine(lat, min(max(foot, low), high), across) <= limit


def _haversine(lat: float, other_lat: float, lon_difference: float) -> float:
    """The squared sine of half the angle between two points (all in radians)."""
    along, across = math.sin((other_lat - lat) / 2), math.sin(lon_difference / 2)
    return along * along + math.cos(lat) * math.cos(other_lat) * across * across


def _turn_to(lon: float, west: float, east: float) -> float:
    """Degrees from a meridian to the nearest one of a range (which may pass ±180); 0 inside."""
    offset, width = (lon - west) % 360.0, east - west
    return 0.0 if offset <= width else min(offset - width, 360.0 - offset)
