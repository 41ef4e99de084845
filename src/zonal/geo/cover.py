"""Covers: a bounded number of S2 cells that together contain an area.

A cover contains the area under the area's own edge semantics. Circles are S2 caps and boxes S2
rectangles, whose edges S2 treats exactly; but polygon edges are straight in longitude and
latitude while S2's polygons have geodesic ones, so polygons are covered here: a cell is kept
while the box around it intersects the polygon.
"""

from __future__ import annotations

import heapq
from functools import lru_cache
from typing import TYPE_CHECKING

import s2geometry as s2

from zonal.errors import GeometryError
from zonal.geo.area import Area, Box, Everywhere, planar_of
from zonal.geo.cell import MAX_LEVEL, Cell, outline
from zonal.geo.circle import Circle
from zonal.geo.planar import EDGE_TOLERANCE_M
from zonal.geo.point import EARTH_RADIUS_M, HALF_CIRCUMFERENCE_M

if TYPE_CHECKING:
    from collections.abc import Iterable

DEFAULT_MAX_CELLS = 8
_SPARSE = 0.3  # a figure that fills less of its bounds is worth the dearer way of covering
LEVEL_STEP = 2
"""Covers use even levels only, so that more areas share cells, and a key chunk is two levels."""


def cover(
    area: Area, max_cells: int = DEFAULT_MAX_CELLS, *, max_level: int = MAX_LEVEL
) -> tuple[Cell, ...]:
    """At most `max_cells` cells of even levels that contain the area, in order of their ids.

    Areas that touch several of the cube's six faces need a cell on each, so below 6 the limit may
    be exceeded by them. No cell is finer than `max_level`.
    """
    if max_cells < 1:
        raise GeometryError(f"a cover needs at least 1 cell; max_cells is {max_cells}")
    if not 0 <= max_level <= MAX_LEVEL:
        raise GeometryError(f"max_level {max_level} is not between 0 and {MAX_LEVEL}")
    if isinstance(area, Everywhere):
        return tuple(Cell.from_face(face) for face in range(6))
    if isinstance(area, Circle):
        return _region_cover(_cap(area), max_cells, max_level)
    if isinstance(area, Box):
        return _region_cover(rect_of(area), max_cells, max_level)
    return _polygon_cover(area, max_cells, max_level)


@lru_cache(maxsize=64)
def _coverer(max_cells: int, max_level: int) -> s2.S2RegionCoverer:
    coverer = s2.S2RegionCoverer()
    coverer.set_max_cells(max_cells)
    coverer.set_level_mod(LEVEL_STEP)
    coverer.set_max_level(max_level - max_level % LEVEL_STEP)
    return coverer


def _region_cover(region: object, max_cells: int, max_level: int) -> tuple[Cell, ...]:
    # S2's own bound is soft with a step of two levels; asking for fewer cells makes it hard.
    allowed = max_cells
    while True:
        ids = [cell.id() for cell in _coverer(allowed, max_level).GetCovering(region)]
        if len(ids) <= max_cells or allowed == 1:
            return tuple(Cell(id_) for id_ in ids)
        allowed -= 1


def _cap(circle: Circle) -> s2.S2Cap:
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


def _polygon_cover(area: Area, max_cells: int, max_level: int) -> tuple[Cell, ...]:
    """The needed cells of the bounds' cover; of a sparse figure, split as long as parts fit."""
    test, bounds = _PolygonTest(area), area.bounds
    start = [
        cell
        for cell in _region_cover(rect_of(bounds), max_cells, max_level)
        if test.may_intersect(cell)
    ]
    if planar_of(area).area > _SPARSE * bounds.width_deg * bounds.height_deg:
        return tuple(start)
    splittable = [(cell.level, cell.id) for cell in start]
    heapq.heapify(splittable)
    count, settled = len(start), []
    while splittable:
        _, id_ = heapq.heappop(splittable)
        cell = Cell(id_)
        parts = _needed_parts(cell, test, max_level)
        if parts is None or count - 1 + len(parts) > max_cells:
            settled.append(cell)
            continue
        count += len(parts) - 1
        for part in parts:
            heapq.heappush(splittable, (part.level, part.id))
    return tuple(sorted(_merged(settled)))


def _needed_parts(cell: Cell, test: _PolygonTest, max_level: int) -> list[Cell] | None:
    """The parts two levels down that the area needs; None where splitting is of no use."""
    level = cell.level + LEVEL_STEP
    if level > max_level or test.contains(cell):
        return None
    return [part for part in cell.children(level) if test.may_intersect(part)]


def _merged(cells: Iterable[Cell]) -> list[Cell]:
    """Without cells that lie in another one of the list."""
    kept: list[Cell] = []
    for cell in sorted(cells, key=lambda cell: (cell.level, cell.id)):
        if not any(other.contains(cell) for other in kept):
            kept.append(cell)
    return kept


def cell_intersects(cell: Cell, area: Area) -> bool:
    """Whether a cell and an area have a point in common.

    Exact for circles and boxes; for polygons the cell's geodesic edges are followed by sixteen
    straight pieces each, which for a cell of 10 km is exact to well below a metre.
    """
    if isinstance(area, Everywhere):
        return True
    if isinstance(area, Circle):
        return bool(_cap(area).MayIntersect(s2.S2Cell(s2.S2CellId(cell.id))))
    if isinstance(area, Box):
        return bool(rect_of(area).Intersects(s2.S2Cell(s2.S2CellId(cell.id))))
    return area.intersects(cell.bounds) and area.intersects(outline(cell))


class _PolygonTest:
    """Cells against a polygon, by the box around the cell: never a false "no"."""

    def __init__(self, area: Area) -> None:
        self._area = area

    def may_intersect(self, cell: Cell) -> bool:
        return self._area.intersects(cell.bounds)

    def contains(self, cell: Cell) -> bool:
        bounds = cell.bounds
        if bounds.width_deg >= 360.0 or not self._area.contains(bounds.center):
            return False
        figure, outline = planar_of(self._area), planar_of(bounds)
        return bool(figure.covers(outline))
