"""Covers: a bounded number of S2 cells that together contain an area.

A cover contains the area under the area's own edge semantics. Circles are S2 caps and boxes S2
rectangles, whose edges S2 treats exactly; but polygon edges are straight in longitude and
latitude while S2's polygons have geodesic ones, so polygons are covered here: a cell is kept
while the quadrangle of its corners, a little enlarged, intersects the polygon.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

import s2geometry as s2
import shapely

from zonal.errors import GeometryError
from zonal.geo.area import Area, Box, Everywhere, planar_of
from zonal.geo.cell import MAX_LEVEL, Cell, outline
from zonal.geo.circle import Circle
from zonal.geo.planar import EDGE_TOLERANCE_M, figures_intersect
from zonal.geo.point import EARTH_RADIUS_M, HALF_CIRCUMFERENCE_M

if TYPE_CHECKING:
    from collections.abc import Iterable

DEFAULT_MAX_CELLS = 48
_ACROSS_A_RADIUS = 3.2
"""How many of the finest cells lie side by side on a circle's radius, unless more are allowed."""
_SAMPLE_LEVEL = 16
_START_CELLS = 6
_HOPE = 0.1  # the share that is spared further down where splitting once spares nothing
_STRAIGHT_LEVEL, _STRAIGHT_LAT = 4, 75.0  # where a cell's edges are nearly straight on the map
_ROUNDING_DEG = 1e-9


def cover(
    area: Area,
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
    finest = max_level - max_level % step
    if isinstance(area, Everywhere):
        return tuple(Cell.from_face(face) for face in range(6))
    if isinstance(area, Circle):
        rim = _rim_level(area, max_cells)
        return _region_cover(_cap(area), max_cells, min(finest, rim + -rim % step), step)
    if isinstance(area, Box):
        return _region_cover(rect_of(area), max_cells, finest, step)
    return _polygon_cover(area, max_cells, finest, step)


@lru_cache(maxsize=64)
def _coverer(max_cells: int, max_level: int, step: int) -> s2.S2RegionCoverer:
    coverer = s2.S2RegionCoverer()
    coverer.set_max_cells(max_cells)
    coverer.set_level_mod(step)
    coverer.set_max_level(max_level)
    return coverer


def _region_cover(region: object, max_cells: int, max_level: int, step: int) -> tuple[Cell, ...]:
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


@lru_cache(maxsize=1024)
def _polygon_cover(area: Area, max_cells: int, max_level: int, step: int) -> tuple[Cell, ...]:
    """From few cells around the bounds: split where it spares the most area for a cell more."""
    test = _PolygonTest(area)
    few = _region_cover(rect_of(area.bounds), min(max_cells, _START_CELLS), max_level, step)
    start = [cell for cell in few if test.may_intersect(cell)]
    splits: list[tuple[float, int, list[Cell]]] = []
    settled: list[Cell] = []

    def consider(cell: Cell) -> None:
        level = cell.level + step
        if level > max_level or test.contains(cell):
            settled.append(cell)
            return
        parts = [part for part in cell.children(level) if test.may_intersect(part)]
        heapq.heappush(splits, (-_spared(cell, parts, step), cell.id, parts))

    for cell in start:
        consider(cell)
    while splits:
        _, id_, parts = heapq.heappop(splits)
        if len(settled) + len(splits) + len(parts) > max_cells:
            settled.append(Cell(id_))
            continue
        for part in parts:
            consider(part)
    return tuple(sorted(_joined(settled, step)))


def _spared(cell: Cell, parts: list[Cell], step: int) -> float:
    """The share of the area that splitting a cell spares, for each cell more, in leaf cells."""
    size, most = cell.id & -cell.id, 4**step
    if len(parts) <= 1:
        return math.inf
    spared = (most - len(parts)) / most or _HOPE
    return size * spared / (len(parts) - 1)


def _joined(cells: Iterable[Cell], step: int) -> set[Cell]:
    """Where all parts of a cell are among the cells: the cell instead."""
    kept = set(cells)
    levels = sorted({cell.level for cell in kept}, reverse=True)
    for level in range(levels[0] if levels else 0, step - 1, -step):
        parents = Counter(cell.parent(level - step) for cell in kept if cell.level == level)
        for parent, count in parents.items():
            if count == 4**step:
                kept.difference_update(parent.children(level))
                kept.add(parent)
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
    """Cells against a polygon: never a false "no"."""

    def __init__(self, area: Area) -> None:
        self._area = area
        self._figure = planar_of(area)

    def may_intersect(self, cell: Cell) -> bool:
        """By the cell's corners; for large cells and near poles by the box around it."""
        bounds = cell.bounds
        if cell.level < _STRAIGHT_LEVEL or max(bounds.max_lat, -bounds.min_lat) > _STRAIGHT_LAT:
            return self._area.intersects(bounds)
        return figures_intersect(self._figure, _quadrangle(cell, bounds))

    def contains(self, cell: Cell) -> bool:
        bounds = cell.bounds
        if bounds.width_deg >= 360.0 or not self._area.contains(bounds.center):
            return False
        return bool(self._figure.covers(planar_of(bounds)))


def _quadrangle(cell: Cell, bounds: Box) -> shapely.Geometry:
    """The cell's corners with straight edges, enlarged by more than the true edges bend."""
    west = bounds.min_lon
    corners = [((lon - west + 180.0) % 360.0 - 180.0 + west, lat) for lat, lon in cell.vertices]
    width, height = math.radians(bounds.width_deg), math.radians(bounds.height_deg)
    slope = math.tan(math.radians(max(bounds.max_lat, -bounds.min_lat)))
    # A geodesic bends by Δλ²/16 in latitude and Δφ·Δλ·tan φ/4 in longitude: at most half of this.
    bend = math.degrees((width**2 + height**2) * (1.0 + slope) / 4.0) + _ROUNDING_DEG
    return shapely.Polygon(corners).buffer(bend, join_style="mitre")
