"""Covers of polygons: the cells that a polygon needs, found level by level.

Polygon edges are straight in longitude and latitude, those of S2's own polygons geodesic; so a
cell is kept here while the quadrangle of its corners, a little enlarged, intersects the polygon.
All cells of a level are tested together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import shapely

from zonal.geo.area import Area, PlanarArea, planar_of
from zonal.geo.cell import Cell
from zonal.geo.cell_array import Squares, squares_of_cells
from zonal.geo.tree_cover import CoverLayer, cheapest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

_STRAIGHT_LEVEL, _STRAIGHT_LAT = 4, 75.0  # where a cell's edges are nearly straight on the map
_STEEPEST_LAT = 85.0
_ROUNDING_DEG = 1e-9
_EXPLORED = 2.5  # cells across the edge of the area at the finest level, for each one allowed


def polygon_cover(
    area: Area, start: Iterable[Cell], max_cells: int, max_level: int, step: int
) -> list[Cell]:
    """At most `max_cells` cells that contain the area, which the cells of `start` contain."""
    area = area.prepared() if isinstance(area, PlanarArea) else area
    level = min(cell.level for cell in start)
    squares = squares_of_cells(sorted({cell.parent(level) for cell in start}), level)
    parents = np.zeros(len(squares), np.int64)
    tree: list[Squares] = []
    layers: list[CoverLayer] = []
    while True:
        needed, is_inside = _compared(area, squares)
        above = len(tree[-1]) if tree else 1
        squares, is_inside = squares.taken(needed), is_inside[needed]
        tree.append(squares)
        layers.append(CoverLayer(parents[needed], above, is_inside, squares.areas()))
        across = np.flatnonzero(~is_inside)
        if squares.level + step > max_level or not 0 < len(across) <= _EXPLORED * max_cells:
            break
        squares, parents = squares.taken(across).parts(step), np.repeat(across, 4**step)
    pairs = zip(tree, cheapest(layers, max_cells), strict=True)
    ids = [squares.taken(which).ids.tolist() for squares, which in pairs if which.any()]
    return sorted(Cell(id_) for some in ids for id_ in some)


def _compared(area: Area, squares: Squares) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether the area needs the cells, and whether they lie in it: never a false "not needed"."""
    lats, lons = squares.corners()
    needed, inside = compare_quadrangles(planar_of(area), lats, lons)
    if squares.level < _STRAIGHT_LEVEL:
        crooked = np.arange(len(squares))
    else:
        crooked = np.flatnonzero(np.abs(lats).max(axis=1) > _STRAIGHT_LAT)
    if len(crooked):
        ids = squares.ids
        for number in crooked:
            needed[number], inside[number] = _compared_by_bounds(area, Cell(int(ids[number])))
    return needed, inside


def _compared_by_bounds(area: Area, cell: Cell) -> tuple[bool, bool]:
    """Large cells and those near poles: by the box around them."""
    bounds = cell.bounds
    if not area.intersects(bounds):
        return False, False
    if bounds.width_deg >= 360.0 or not area.contains(bounds.center):
        return True, False
    return True, bool(planar_of(area).covers(planar_of(bounds)))


def compare_quadrangles(
    figure: shapely.Geometry,
    lats: NDArray[np.float64],
    lons: NDArray[np.float64],
    margin_deg: float = _ROUNDING_DEG,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether a figure intersects quadrangles, and whether it covers them; a row of corners each.

    Their edges are geodesics, or nearly so: each quadrangle is enlarged by the margin, and by more
    than such edges bend on the map. So a "no" to the first and a "yes" to the second are certain,
    unless an edge is longer than a tenth of a radian.
    """
    west, _, east, _ = figure.bounds
    quads = _enlarged(lats, lons, west, margin_deg)
    needed, inside = _compare(figure, quads)
    again = quads[..., 0].min(axis=1) + 360.0 <= east
    if again.any():  # the figure goes around the globe
        needed_too, inside_too = _compare(figure, quads[again] + [360.0, 0.0])
        needed[again] |= needed_too
        inside[again] |= inside_too
    return needed, inside


def _compare(
    figure: shapely.Geometry, quads: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    shapes = shapely.polygons(quads)
    needed = np.asarray(shapely.intersects(figure, shapes))
    inside = np.zeros_like(needed)
    inside[needed] = shapely.covers(figure, shapes[needed])
    return needed, inside


def _enlarged(
    lats: NDArray[np.float64], lons: NDArray[np.float64], west: float, margin_deg: float
) -> NDArray[np.float64]:
    """The corners, moved outward; around the globe until they end east of a longitude."""
    lons = lons[:, :1] + (lons - lons[:, :1] + 180.0) % 360.0 - 180.0
    east = lons.max(axis=1, keepdims=True)
    lons += west - east + (east - west) % 360.0
    slope = np.tan(np.radians(np.minimum(np.abs(lats).max(axis=1), _STEEPEST_LAT)))
    span = np.radians(np.ptp(lons, axis=1)) ** 2 + np.radians(np.ptp(lats, axis=1)) ** 2
    # A geodesic bends by Δλ²/16 in latitude and Δφ·Δλ·tan φ/4 in longitude: at most half of this.
    bend = np.degrees(span * (1.0 + slope) / 4.0) + margin_deg
    corners = np.stack([lons, lats], axis=-1)
    middle = corners.mean(axis=1, keepdims=True)
    to, edge = corners - middle, np.roll(corners, -1, axis=1) - corners
    reach = np.abs(edge[..., 0] * to[..., 1] - edge[..., 1] * to[..., 0])
    reach = (reach / np.maximum(np.hypot(edge[..., 0], edge[..., 1]), _ROUNDING_DEG)).min(axis=1)
    grown = 1.0 + bend / np.maximum(reach, _ROUNDING_DEG)
    enlarged: NDArray[np.float64] = middle + to * grown[:, np.newaxis, np.newaxis]
    return enlarged
