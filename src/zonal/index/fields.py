"""Fields: the numbered squares of a raster, and which of them an area really intersects."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from zonal.geo import Area, Box, Circle
from zonal.index.columns import Boxes, Circles, Shapes
from zonal.index.figures import HAIR, Figure, circle_reaches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zonal.geo import Point

NORTH_POLE, SOUTH_POLE = -1, -2
"""The poles are fields of their own, since a pole has every longitude."""

_ROW_SHIFT = 32
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


def field_count(figure: Figure, granularity: float) -> int:
    """How many fields the box around an area touches."""
    return len(_rows(figure, granularity)) * sum(map(len, _columns(figure, granularity)))


def fields_of(area: Area, figure: Figure, granularity: float) -> tuple[int, ...]:
    """The keys of the fields that an area intersects: those in its box, then the exact test."""
    if -180.0 < figure.west <= figure.east < 180.0 and -90.0 < figure.south <= figure.north < 90.0:
        south, north = (
            math.floor(figure.south * granularity),
            math.floor(figure.north * granularity),
        )
        west, east = math.floor(figure.west * granularity), math.floor(figure.east * granularity)
        if figure.kind is not Shapes and (south == north or west == east):
            return _block(south, west, north, east)
        if figure.kind is Circles and figure.north - figure.south <= _SMALL_DEG:
            return _fields_of_small_circle(figure, granularity, south, west, north, east)
    return tuple(dict.fromkeys(_fields_one_by_one(area, figure, granularity)))


def _block(south: int, west: int, north: int, east: int) -> tuple[int, ...]:
    """The keys from one corner to the other."""
    first = (south + _OFFSET << _ROW_SHIFT) + west + _OFFSET
    if south == north:
        return tuple(range(first, first + east - west + 1))
    return tuple(
        key
        for start in range(first, first + (north - south << _ROW_SHIFT) + 1, 1 << _ROW_SHIFT)
        for key in range(start, start + east - west + 1)
    )


def _fields_of_small_circle(
    figure: Figure, granularity: float, south: int, west: int, north: int, east: int
) -> tuple[int, ...]:
    """The fields of a circle that are not all in a strip, without those beyond its corners.

    For small angles the distance is at least √(dlat² + (c·dlon)²), c the smallest cosine of a
    latitude in the circle: a field whose corner is farther away than that is left out.
    """
    lat, lon = (figure.south + figure.north) / 2, (figure.west + figure.east) / 2
    reach = (figure.north - figure.south) / 2 + HAIR
    stretch = math.cos(math.radians(max(-figure.south, figure.north))) ** 2
    limit = reach * reach / _FLATNESS
    side = 1.0 / granularity
    across = [_gap(lon, column * side, side) ** 2 * stretch for column in range(west, east + 1)]
    keys = []
    for row in range(south, north + 1):
        rest = limit - _gap(lat, row * side, side) ** 2
        start = (row + _OFFSET << _ROW_SHIFT) + west + _OFFSET
        keys += [start + number for number, squared in enumerate(across) if squared <= rest]
    return tuple(keys)


def _gap(value: float, start: float, side: float) -> float:
    """The distance from a value to a range, less a hair; 0 inside."""
    if value < start:
        return max(0.0, start - value - HAIR)
    return max(0.0, value - start - side - HAIR)


def _columns(figure: Figure, granularity: float) -> Iterator[range]:
    last = math.ceil(180.0 * granularity) - 1
    for west, east in figure.lon_ranges:
        yield range(math.floor(west * granularity), min(math.floor(east * granularity), last) + 1)


def _rows(figure: Figure, granularity: float) -> range:
    last = math.ceil(90.0 * granularity) - 1
    south, north = math.floor(figure.south * granularity), math.floor(figure.north * granularity)
    return range(south, min(north, last) + 1)


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
    return area.intersects(
        Box(max(south, -90.0), max(west, -180.0), min(north, 90.0), min(east, 180.0))
    )
