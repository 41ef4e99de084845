"""Wider areas: all that is within some metres of an area, and a little more."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import shapely

from zonal.geo.area import Area, Box, Everywhere, GivenArea, as_area, planar_of
from zonal.geo.circle import Circle
from zonal.geo.formats import area_from_planar
from zonal.geo.point import EARTH_RADIUS_M, HALF_CIRCUMFERENCE_M

if TYPE_CHECKING:
    from collections.abc import Iterable

_CORNERS = 2  # pieces of a quarter circle: a rough round corner
_SPARE = 1.09  # a corner of two pieces is 8 % nearer than a round one
_NEAR_POLE = 89.0
_LEAST_M = 1e-3
_HAIR = 1e-9  # degrees: gives boxes without an extent one


def widened(area: GivenArea, metres: float) -> Area:
    """An area that contains all points within `metres` of this one; circles exactly these.

    Others are a little larger: a metre is taken as long in degrees as it is at the end of the
    area that is nearest to a pole, and corners are cut outside.
    """
    area = as_area(area)
    if metres <= 0 or isinstance(area, Everywhere):
        return area
    if isinstance(area, Circle):
        if area.radius_m + metres >= HALF_CIRCUMFERENCE_M:
            return Everywhere()
        return Circle(area.center, radius_m=area.radius_m + metres)
    degrees = math.degrees(max(metres, _LEAST_M) / EARTH_RADIUS_M) * _SPARE
    bounds = area.bounds
    farthest = max(abs(bounds.min_lat), abs(bounds.max_lat)) + degrees
    across = degrees / math.cos(math.radians(min(farthest, _NEAR_POLE)))
    if farthest >= _NEAR_POLE or bounds.width_deg + 2 * across >= 360.0:
        return _whole_band(bounds, degrees)
    if isinstance(area, Box):
        return area.expanded(across)
    stretch = across / degrees
    narrow = shapely.transform(planar_of(area), lambda xy: xy / np.array([stretch, 1.0]))
    wide = shapely.buffer(narrow, degrees, quad_segs=_CORNERS)
    return area_from_planar(shapely.transform(wide, lambda xy: xy * np.array([stretch, 1.0])))


def _whole_band(bounds: Box, degrees: float) -> Box:
    south, north = bounds.min_lat - degrees, bounds.max_lat + degrees
    if north > _NEAR_POLE:
        north = 90.0
    if south < -_NEAR_POLE:
        south = -90.0
    return Box(max(-90.0, south), -180.0, min(90.0, north), 180.0)


def together(areas: Iterable[GivenArea]) -> Area:
    """One area that contains all of these; of polygons it is their union.

    Of several, circles are taken by their bounds; one that comes to the antimeridian or to a pole
    makes it a box of all longitudes.
    """
    every = list(map(as_area, areas))
    if len(every) == 1:
        return every[0]
    if any(isinstance(area, Everywhere) for area in every):
        return Everywhere()
    boxes = [area.bounds for area in every]
    if any(_is_at_seam(box) for box in boxes):
        low, high = min(box.min_lat for box in boxes), max(box.max_lat for box in boxes)
        return Box(low, -180.0, high, 180.0)
    figures = [
        planar_of(box.expanded(_HAIR) if isinstance(area, Circle | Box) else area)
        for area, box in zip(every, boxes, strict=True)
    ]
    return area_from_planar(shapely.union_all(figures))


def _is_at_seam(box: Box) -> bool:
    west, east = min(box.min_lon, box.max_lon), max(box.min_lon, box.max_lon)
    highest = max(abs(box.min_lat), abs(box.max_lat))
    return box.crosses_antimeridian or west <= -179.9 or east >= 179.9 or highest >= 89.9
