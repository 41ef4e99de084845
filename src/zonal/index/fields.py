"""Fields: the numbered squares of a raster, and which of them an area really intersects."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import shapely

from zonal.geo import Area, Box, Circle, MultiPolygon, Polygon
from zonal.index.columns import Boxes, Circles, Polygons
from zonal.index.figures import HAIR, Figure, circle_reaches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

NORTH_POLE, SOUTH_POLE = -1, -2
"""The poles are fields of their own, since a pole has every longitude."""

_QUICK = (Circles, Boxes, Polygons)
_FEW = 16
"""Up to here a polygon stands in all fields of its box: to test them takes longer than it saves,
since whoever asks a field looks at the box first."""
_ROW_SHIFT = 32
_ROW = 1 << _ROW_SHIFT
_MANY_BOXES = 32
"""To compare a polygon with more boxes, it is worth preparing."""

_OFFSET = 1 << 30  # makes row and column numbers positive
_SMALL_DEG = 1.0  # up to this extent the Earth is flat enough for the quick corner test
_FLATNESS = 0.9999  # lower bound of sin²x / x² at that extent, with room to spare


def field_of(lat: float, lon: float, granularity: float) -> int:
    """The key of the field in which a place lies (GeoBroker, algorithm 1)."""
    if not -90.0 < lat < 90.0:
        return NORTH_POLE if lat > 0 else SOUTH_POLE
    if lon == 180.0:
        lon = -180.0
    row, column = math.floor(lat * granularity), math.floor(lon * granularity)
    return (row + _OFFSET << _ROW_SHIFT) + column + _OFFSET


def fields_at(
    lats: NDArray[np.float64], lons: NDArray[np.float64], granularity: float
) -> NDArray[np.int64]:
    """The same for arrays."""
    rows = np.floor(lats * granularity).astype(np.int64)
    columns = np.floor(np.where(lons == 180.0, -180.0, lons) * granularity).astype(np.int64)
    keys: NDArray[np.int64] = (rows + _OFFSET << _ROW_SHIFT) + columns + _OFFSET
    if np.abs(lats).max(initial=0.0) == 90.0:
        keys[lats == 90.0], keys[lats == -90.0] = NORTH_POLE, SOUTH_POLE
    return keys


def field_count(figure: Figure, granularity: float) -> int:
    """How many fields the box around an area touches."""
    return len(_rows(figure, granularity)) * sum(map(len, _columns(figure, granularity)))


def fields_of(area: Area, figure: Figure, granularity: float) -> tuple[int, ...]:
    """The keys of the fields that an area intersects: those in its box, then the exact test."""
    kind, _, south, west, north, east = figure
    if kind in _QUICK and -180.0 < west <= east < 180.0 and -90.0 < south <= north < 90.0:
        floor = math.floor
        low, high = floor(south * granularity), floor(north * granularity)
        left, right = floor(west * granularity), floor(east * granularity)
        few = kind is Polygons and (high - low + 1) * (right - left + 1) <= _FEW
        if few or kind is Boxes or (kind is Circles and (low == high or left == right)):
            return _block(low, left, high, right)
        if kind is Circles and north - south <= _SMALL_DEG and east - west <= _SMALL_DEG:
            if high - low == 1 == right - left:
                return _four_fields(figure, granularity, low, left)
            return _fields_of_small_circle(figure, granularity, low, left, high, right)
    if isinstance(area, Polygon | MultiPolygon) and kind is Polygons:
        return _fields_of_polygon(area, figure, granularity)
    return tuple(dict.fromkeys(_fields_one_by_one(area, figure, granularity)))


def _block(low: int, left: int, high: int, right: int) -> tuple[int, ...]:
    """The keys from one corner to the other."""
    first = (low + _OFFSET << _ROW_SHIFT) + left + _OFFSET
    if low == high:
        return tuple(range(first, first + right - left + 1))
    return tuple(
        key
        for start in range(first, first + (high - low << _ROW_SHIFT) + 1, _ROW)
        for key in range(start, start + right - left + 1)
    )


def _four_fields(figure: Figure, granularity: float, low: int, left: int) -> tuple[int, ...]:
    """As below, for the usual circle around or beside the meeting point of four fields.

    Only the field across from the centre can be beyond the circle.
    """
    _, _, south, west, north, east = figure
    up = (low + 1) / granularity - (south + north) / 2
    over = (left + 1) / granularity - (west + east) / 2
    reach = (north - south) / 2 + 3 * HAIR
    stretch = math.cos(math.radians(max(-south, north)))
    key = (low + _OFFSET << _ROW_SHIFT) + left + _OFFSET
    above = key + _ROW
    if (up * up + over * over * stretch * stretch) * _FLATNESS <= reach * reach:
        return key, key + 1, above, above + 1
    if up >= 0:
        return (key, key + 1, above) if over >= 0 else (key, key + 1, above + 1)
    return (key, above, above + 1) if over >= 0 else (key + 1, above, above + 1)


def _fields_of_small_circle(
    figure: Figure, granularity: float, low: int, left: int, high: int, right: int
) -> tuple[int, ...]:
    """The fields of a circle that are not all in a strip, without those beyond its corners.

    For small angles the distance is at least √(dlat² + (c·dlon)²), c the smallest cosine of a
    latitude in the circle: a field whose corner is farther away than that is left out.
    """
    _, _, south, west, north, east = figure
    lat, lon = (south + north) / 2, (west + east) / 2
    reach = (north - south) / 2 + 3 * HAIR
    stretch = math.cos(math.radians(max(-south, north)))
    limit = reach * reach / _FLATNESS
    side = 1.0 / granularity
    across = [(_gap(lon, column * side, side) * stretch) ** 2 for column in range(left, right + 1)]
    keys: list[int] = []
    for row in range(low, high + 1):
        rest = limit - _gap(lat, row * side, side) ** 2
        start = (row + _OFFSET << _ROW_SHIFT) + left + _OFFSET
        keys += [start + number for number, squared in enumerate(across) if squared <= rest]
    return tuple(keys)


def _gap(value: float, start: float, side: float) -> float:
    """The distance from a value to a range; 0 inside."""
    return max(0.0, start - value, value - start - side)


def _columns(figure: Figure, granularity: float) -> Iterator[range]:
    last = math.ceil(180.0 * granularity) - 1
    for west, east in figure.lon_ranges:
        yield range(math.floor(west * granularity), min(math.floor(east * granularity), last) + 1)


def _rows(figure: Figure, granularity: float) -> range:
    last = math.ceil(90.0 * granularity) - 1
    south, north = math.floor(figure.south * granularity), math.floor(figure.north * granularity)
    return range(south, min(north, last) + 1)


def _fields_of_polygon(
    area: Polygon | MultiPolygon, figure: Figure, granularity: float
) -> tuple[int, ...]:
    """The fields that a polygon away from the seams meets, by one question for all in its box."""
    side, (span,) = 1.0 / granularity, _columns(figure, granularity)
    rows, columns = np.meshgrid(_rows(figure, granularity), span, indexing="ij")
    south, west = rows * side - HAIR, columns * side - HAIR
    boxes = shapely.box(west, south, west + side + 2 * HAIR, south + side + 2 * HAIR)
    keys = (rows + _OFFSET << _ROW_SHIFT) + columns + _OFFSET
    area = area.prepared() if boxes.size > _MANY_BOXES else area
    return tuple(keys[shapely.intersects(area.planar, boxes)].tolist())


def _fields_one_by_one(area: Area, figure: Figure, granularity: float) -> Iterator[int]:
    for columns in _columns(figure, granularity):
        for row in _rows(figure, granularity):
            start = (row + _OFFSET << _ROW_SHIFT) + _OFFSET
            for column in columns:
                if figure.kind is Boxes or _meets(area, row, column, granularity):
                    yield start + column
    if figure.north == 90.0:
        yield NORTH_POLE
    if figure.south == -90.0:
        yield SOUTH_POLE


def _meets(area: Area, row: int, column: int, granularity: float) -> bool:
    """Whether an area intersects a field; a hair is added, so never a false no."""
    side = 1.0 / granularity
    south, west = row * side - HAIR, column * side - HAIR
    north, east = south + side + 2 * HAIR, west + side + 2 * HAIR
    if isinstance(area, Circle):
        return circle_reaches(area, south, west, north, east)
    return area.meets(Box(max(south, -90.0), max(west, -180.0), min(north, 90.0), min(east, 180.0)))
