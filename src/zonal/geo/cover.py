"""Covers: a bounded number of S2 cells that together contain an area.

A cover contains the area under the area's own edge semantics. Circles are S2 caps and boxes S2
rectangles, whose edges S2 treats exactly; polygons have a module of their own.
"""

from __future__ import annotations

import math
from functools import lru_cache

import s2geometry as s2

from zonal.errors import GeometryError
from zonal.geo.area import Area, Box, Everywhere, GivenArea, as_area
from zonal.geo.cell import MAX_LEVEL, Cell, outline
from zonal.geo.circle import Circle
from zonal.geo.planar import EDGE_TOLERANCE_M
from zonal.geo.point import EARTH_RADIUS_M, HALF_CIRCUMFERENCE_M
from zonal.geo.polygon_cover import polygon_cover

DEFAULT_MAX_CELLS = 48
_ACROSS_A_RADIUS = 3.2
"""How many of the finest cells lie side by side on a circle's radius, unless more are allowed."""
_SAMPLE_LEVEL = 16
_START_CELLS = 6


def cover(
    area: GivenArea,
    max_cells: int = DEFAULT_MAX_CELLS,
    *,
    max_level: int = MAX_LEVEL,
    step: int = 1,
) -> tuple[Cell, ...]:
    """At most `max_cells` cells that contain the area, in order of their ids.

    Areas that touch several of the cube's six faces need a cell on each, so below 6 the limit may
    be exceeded by them. No cell is finer than `max_level`, and levels are multiples of `step`.
    The finest cells of a circle have one size wherever it is near by, so that a circle that moves
    a little keeps most of its cells.
    """
    if max_cells < 1:
        raise GeometryError(f"a cover needs at least 1 cell; max_cells is {max_cells}")
    if not 0 <= max_level <= MAX_LEVEL:
        raise GeometryError(f"max_level {max_level} is not between 0 and {MAX_LEVEL}")
    area = as_area(area)
    finest = max_level - max_level % step
    if isinstance(area, Everywhere):
        return tuple(Cell.from_face(face) for face in range(6))
    if isinstance(area, Circle):
        rim = _rim_level(area, max_cells)
        return region_cover(cap_of(area), max_cells, min(finest, rim + -rim % step), step)
    if isinstance(area, Box):
        return region_cover(rect_of(area), max_cells, finest, step)
    return _polygon_cover(area, max_cells, finest, step)


@lru_cache(maxsize=64)
def _coverer(max_cells: int, max_level: int, step: int) -> s2.S2RegionCoverer:
    coverer = s2.S2RegionCoverer()
    coverer.set_max_cells(max_cells)
    coverer.set_level_mod(step)
    coverer.set_max_level(max_level)
    return coverer


def region_cover(region: object, max_cells: int, max_level: int, step: int) -> tuple[Cell, ...]:
    """At most so many cells of S2's own choice."""
    # S2's own bound is soft with a step of two levels; asking for fewer cells makes it hard.
    allowed = max_cells
    while True:
        ids = [cell.id() for cell in _coverer(allowed, max_level, step).GetCovering(region)]
        if len(ids) <= max_cells or allowed == 1:
            return tuple(Cell(id_) for id_ in ids)
        allowed -= 1


def _rim_level(circle: Circle, max_cells: int) -> int:
    """The coarsest level at which so many cells lie side by side on the radius as are worth it."""
    center = circle.bounds.center if circle.center is None else circle.center
    place = s2.S2CellId(s2.S2LatLng.FromDegrees(center.lat, center.lon)).parent(_SAMPLE_LEVEL)
    width_m = math.sqrt(s2.S2Cell(place).ApproxArea()) * EARTH_RADIUS_M * 2.0**_SAMPLE_LEVEL
    across = _ACROSS_A_RADIUS * max(1.0, max_cells / DEFAULT_MAX_CELLS)
    level = math.log2(width_m * across / max(circle.radius_m, EDGE_TOLERANCE_M))
    return max(0, min(MAX_LEVEL, math.ceil(level)))


def cap_of(circle: Circle) -> s2.S2Cap:
    """The circle as S2's cap, a hair wider than the edge's tolerance."""
    center = circle.bounds.center if circle.center is None else circle.center
    reach = min(circle.radius_m + 2 * EDGE_TOLERANCE_M, HALF_CIRCUMFERENCE_M)
    middle = s2.S2LatLng.FromDegrees(center.lat, center.lon).ToPoint()
    return s2.S2Cap(middle, s2.S1Angle.Radians(reach / EARTH_RADIUS_M))


def rect_of(box: Box) -> s2.S2LatLngRect:
    """The box as S2's rectangle; all longitudes where it touches a pole."""
    whole = abs(box.min_lat) == 90.0 or abs(box.max_lat) == 90.0 or box.width_deg >= 360.0
    west, east = (-180.0, 180.0) if whole else (box.min_lon, box.max_lon)
    if not whole and west == 180.0:  # S2 takes the interval from 180 to −180 for the empty one
        west = min(east, -180.0)
    return s2.S2LatLngRect(
        s2.S2LatLng.FromDegrees(box.min_lat, west), s2.S2LatLng.FromDegrees(box.max_lat, east)
    )


@lru_cache(maxsize=1024)
def _polygon_cover(area: Area, max_cells: int, max_level: int, step: int) -> tuple[Cell, ...]:
    start = region_cover(rect_of(area.bounds), min(max_cells, _START_CELLS), max_level, step)
    return tuple(polygon_cover(area, start, max_cells, max_level, step))


def cell_intersects(cell: Cell, area: GivenArea) -> bool:
    """Whether a cell and an area have a point in common.

    Exact for circles and boxes; for polygons the cell's geodesic edges are followed by sixteen
    straight pieces each, which for a cell of 10 km is exact to well below a metre.
    """
    area = as_area(area)
    if isinstance(area, Everywhere):
        return True
    if isinstance(area, Circle):
        return bool(cap_of(area).MayIntersect(s2.S2Cell(s2.S2CellId(cell.id))))
    if isinstance(area, Box):
        return bool(rect_of(area).Intersects(s2.S2Cell(s2.S2CellId(cell.id))))
    return area.meets(cell.bounds) and area.meets(outline(cell))
