"""S2 covers of a circle that follows somebody: what is declared already is kept while it serves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import s2geometry as s2

from zonal.geo.cell import MAX_LEVEL, Cell, ancestor_ids, level_for_size
from zonal.geo.cover import DEFAULT_MAX_CELLS, cap_of, region_cover
from zonal.geo.moving_cover import TileSpot, new_tiles
from zonal.geo.point import EARTH_RADIUS_M, Point, unit_vector

if TYPE_CHECKING:
    from collections.abc import Iterable

    from zonal.geo.circle import Circle

_TOPS = 16
_REACH = 0.6
"""How far a cell reaches from its middle, of its width, as the mean of all directions."""
_DEARER, _DEAREST = 4.0, 64.0


def following_cover(
    cells: Iterable[int],
    last: Circle,
    circle: Circle,
    max_cells: int = DEFAULT_MAX_CELLS,
    *,
    price: float,
    max_level: int = MAX_LEVEL,
) -> tuple[Cell, ...] | None:
    """At most `max_cells` cells that contain a circle which came from `last`, where it had these.

    Those that it still touches are kept; what is missing gets cells of `price` (see `new_tiles`),
    or of a higher one where there would be too many. None where a cover of its own is better: for
    a circle of another size, one that has moved by more than its radius or not at all, and one for
    which even that is too many.
    """
    if last.center is None or circle.center is None or last.radius_m != circle.radius_m:
        return None
    if not 0.0 < last.center.distance_m(circle.center) < circle.radius_m:
        return None
    tiles = _CellTiles(last.center, circle, max_level)
    kept = {cell for cell in cells if tiles.touches(cell)}
    while price < _DEAREST:
        every = kept | tiles.missing(kept, price)
        if len(every) <= max_cells:
            return tuple(map(Cell, sorted(every)))
        price *= _DEARER
    return None


class _CellTiles:
    """Cells by their ids, and a circle on its way."""

    def __init__(self, came_from: Point, circle: Circle, max_level: int) -> None:
        assert circle.center is not None
        self._radius_m = circle.radius_m
        self._cap = cap_of(circle)
        self._top_level = min(max_level, level_for_size(circle.radius_m))
        self._finest = 1 << 2 * (MAX_LEVEL - max_level)
        here, before = unit_vector(circle.center), unit_vector(came_from)
        aside = _unit(_cross(here, before))  # of the plane of the way
        self._aside, self._ahead = aside, _cross(here, aside)

    def missing(self, kept: set[int], price: float) -> set[int]:
        """The cells that kept ones lack."""
        above = {up for cell in kept for up in ancestor_ids(cell)}
        tops = [cell.id for cell in region_cover(self._cap, _TOPS, self._top_level, 1)]
        tops = [top for top in tops if kept.isdisjoint(ancestor_ids(top))]
        return set(new_tiles(self, tops, kept, above, self._radius_m, price))

    def parts(self, tile: int) -> tuple[int, ...]:
        """The four cells of the next level."""
        size = tile & -tile
        if size <= self._finest:
            return ()
        part = size >> 2
        return tile - 3 * part, tile - part, tile + part, tile + 3 * part

    def touches(self, tile: int) -> bool:
        """As S2 has it: exactly."""
        return bool(self._cap.MayIntersect(s2.S2Cell(s2.S2CellId(tile))))

    def spot(self, tile: int) -> TileSpot:
        """On the plane that touches the globe at the circle's middle."""
        cell = s2.S2CellId(tile)
        middle = cell.ToPoint()
        place = (middle.x(), middle.y(), middle.z())
        area_m2 = s2.S2Cell(cell).ApproxArea() * EARTH_RADIUS_M**2
        reach_m = _REACH * math.sqrt(area_m2)
        ahead, aside = _dot(place, self._ahead), _dot(place, self._aside)
        return TileSpot(ahead * EARTH_RADIUS_M, aside * EARTH_RADIUS_M, reach_m, reach_m, area_m2)


_Vector = tuple[float, float, float]


def _dot(a: _Vector, b: _Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _cross(a: _Vector, b: _Vector) -> _Vector:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _unit(a: _Vector) -> _Vector:
    length = math.sqrt(_dot(a, a)) or 1.0
    return a[0] / length, a[1] / length, a[2] / length
