"""Covers of polygons: the best cells of a tree of S2 cells that is explored level by level.

Polygon edges are straight in longitude and latitude, those of S2's own polygons geodesic; so a
cell is kept here while the quadrangle of its corners, a little enlarged, intersects the polygon.
All cells of a level are tested together. Which of them to take is then found by a price: a cell
costs its area and the price of a cell, or what its parts cost, whichever is less; the price is the
lowest at which there are few enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import shapely

from zonal.geo.area import Area, planar_of
from zonal.geo.cell import Cell
from zonal.geo.cell_array import Squares, squares_of_cells

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

_STRAIGHT_LEVEL, _STRAIGHT_LAT = 4, 75.0  # where a cell's edges are nearly straight on the map
_ROUNDING_DEG = 1e-9
_EXPLORED = 2.5  # cells across the edge of the area at the finest level, for each one allowed
_SHADES = 32  # prices to choose from, for each doubling


class _Layer(NamedTuple):
    """The cells of one level that are in the tree."""

    squares: Squares
    parents: NDArray[np.int64]
    """Where in the layer above the cell stands that they are a part of; at the top 0."""
    above: int
    """How many cells the layer above has."""
    is_inside: NDArray[np.bool_]
    areas: NDArray[np.float64]
    """In steradians."""


def polygon_cover(
    area: Area, start: Iterable[Cell], max_cells: int, max_level: int, step: int
) -> list[Cell]:
    """At most `max_cells` cells that contain the area, out of those inside the cells of `start`."""
    layers = _explore(_PolygonTest(area), list(start), max_cells, max_level, step)
    # Exponents of the price: from one that spares no cell to one that takes the start as it is.
    low, high = -2 * _SHADES * (layers[-1].squares.level + 4), 4 * _SHADES
    best = _cells_at(2.0 ** (high / _SHADES), layers)
    while high - low > 1:
        middle = (low + high) // 2
        found = _cells_at(2.0 ** (middle / _SHADES), layers)
        count = sum(map(np.count_nonzero, found))
        if count <= max_cells:
            best, high = found, middle
        else:
            low = middle
        if count == max_cells:
            break
    pairs = zip(layers, best, strict=True)
    taken = [layer.squares.taken(kept).ids.tolist() for layer, kept in pairs if kept.any()]
    return sorted(Cell(id_) for ids in taken for id_ in ids)


def _explore(
    test: _PolygonTest, start: list[Cell], max_cells: int, max_level: int, step: int
) -> list[_Layer]:
    """The cells that are needed, level by level, until the edge of the area has enough of them."""
    level = min(cell.level for cell in start)
    squares = squares_of_cells(sorted({cell.parent(level) for cell in start}), level)
    parents = np.zeros(len(squares), np.int64)
    layers: list[_Layer] = []
    while True:
        needed, is_inside = test.of(squares)
        squares, is_inside = squares.taken(needed), is_inside[needed]
        above = len(layers[-1].parents) if layers else 1
        layers.append(_Layer(squares, parents[needed], above, is_inside, squares.areas()))
        across = np.flatnonzero(~is_inside)
        if squares.level + step > max_level or not 0 < len(across) <= _EXPLORED * max_cells:
            return layers
        squares, parents = squares.taken(across).parts(step), np.repeat(across, 4**step)


def _cells_at(price: float, layers: list[_Layer]) -> list[NDArray[np.bool_]]:
    """Which cells of each layer to take where each costs its area and a price."""
    is_split: list[NDArray[np.bool_]] = []
    parts = np.full(len(layers[-1].areas), np.inf)  # what those of each cell cost
    for layer in reversed(layers):
        whole = layer.areas + price
        split = ~layer.is_inside & (parts < whole)
        is_split.append(split)
        cost = np.where(split, parts, whole)
        parts = np.bincount(layer.parents, cost, minlength=layer.above).astype(np.float64)
    taken = []
    is_open = np.ones(layers[0].above, np.bool_)
    for layer, split in zip(layers, reversed(is_split), strict=True):
        reached = is_open[layer.parents]
        taken.append(reached & ~split)
        is_open = reached & split
    return taken


class _PolygonTest:
    """Cells against a polygon: never a false "not needed", never a false "inside"."""

    def __init__(self, area: Area) -> None:
        self._area = area
        self._figure = planar_of(area)
        self._west, _, self._east, _ = self._figure.bounds

    def of(self, squares: Squares) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether the cells have something in common with the area; whether they lie in it."""
        lats, lons = squares.corners()
        quads, straight = _quadrangles(squares.level, lats, lons, self._west)
        needed, inside = self._compare(quads)
        again = straight & (quads[..., 0].min(axis=1) + 360.0 <= self._east)
        if again.any():  # the polygon goes around the globe
            needed_too, inside_too = self._compare(quads[again] + [360.0, 0.0])
            needed[again] |= needed_too
            inside[again] |= inside_too
        for number in np.flatnonzero(~straight):
            needed[number], inside[number] = self._by_bounds(Cell(int(squares.ids[number])))
        return needed, inside

    def _compare(self, quads: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        figures = shapely.polygons(quads)
        needed = np.asarray(shapely.intersects(self._figure, figures))
        inside = np.zeros_like(needed)
        inside[needed] = shapely.covers(self._figure, figures[needed])
        return needed, inside

    def _by_bounds(self, cell: Cell) -> tuple[bool, bool]:
        """Large cells and those near poles: by the box around them."""
        bounds = cell.bounds
        if not self._area.intersects(bounds):
            return False, False
        if bounds.width_deg >= 360.0 or not self._area.contains(bounds.center):
            return True, False
        return True, bool(self._figure.covers(planar_of(bounds)))


def _quadrangles(
    level: int, lats: NDArray[np.float64], lons: NDArray[np.float64], west: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The cells' corners, enlarged by more than the true edges bend, not west of a longitude.

    And whether that holds: not for large cells and those near poles.
    """
    lons = lons[:, :1] + (lons - lons[:, :1] + 180.0) % 360.0 - 180.0
    east = lons.max(axis=1, keepdims=True)
    lons += west - east + (east - west) % 360.0
    steepest = np.abs(lats).max(axis=1)
    straight = (steepest <= _STRAIGHT_LAT) & (level >= _STRAIGHT_LEVEL)
    slope = np.tan(np.radians(np.minimum(steepest, _STRAIGHT_LAT)))
    span = np.radians(np.ptp(lons, axis=1)) ** 2 + np.radians(np.ptp(lats, axis=1)) ** 2
    # A geodesic bends by Δλ²/16 in latitude and Δφ·Δλ·tan φ/4 in longitude: at most half of this.
    bend = np.degrees(span * (1.0 + slope) / 4.0) + _ROUNDING_DEG
    corners = np.stack([lons, lats], axis=-1)
    middle = corners.mean(axis=1, keepdims=True)
    to, edge = corners - middle, np.roll(corners, -1, axis=1) - corners
    reach = np.abs(edge[..., 0] * to[..., 1] - edge[..., 1] * to[..., 0])
    reach = (reach / np.maximum(np.hypot(edge[..., 0], edge[..., 1]), 1e-300)).min(axis=1)
    grown = 1.0 + bend / np.maximum(reach, 1e-300)
    grown[~straight] = 1.0
    return middle + to * grown[:, np.newaxis, np.newaxis], straight
