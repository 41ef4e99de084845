"""Columns: the numbers of many geofences side by side, so that one test answers for all.

A raster field has one table for each kind of figure. A table is four numbers wide and has one
column per geofence; spare columns are filled so that they never match, which keeps the table in
one piece for the vectorized tests. A handful of geofences stays in a plain dictionary, since up
to there a loop is faster than numpy's fixed costs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from zonal.geo import Area, Point

Numbers = tuple[float, float, float, float]
Rows = np.ndarray[tuple[int], np.dtype[np.intp]]

FEW = 8
"""Up to here the geofences of a field are tested in a loop."""

DOUBT = 4e-15
"""Nearer to a circle's plane than this, rounding could decide; then the area itself is asked."""

_LOW, _HIGH = np.array(-DOUBT), np.array(DOUBT)  # as arrays, which numpy compares with faster
_NEVER = -math.inf


class Question:
    """A point, prepared once for all the tables that it is put to."""

    __slots__ = ("area_of", "point", "vector", "x", "y", "z")

    def __init__(self, point: Point, area_of: Callable[[int], Area]) -> None:
        self.area_of = area_of  # asked where the numbers in a table do not settle a case
        lat, lon = math.radians(point.lat), math.radians(point.lon)
        cos_lat = math.cos(lat)
        self.point = point
        self.x = cos_lat * math.cos(lon)
        self.y = cos_lat * math.sin(lon)
        self.z = math.sin(lat)
        self.vector = np.array((self.x, self.y, self.z, 1.0))


class Columns(ABC):
    """Four numbers for each of many rows, with constant-time put and drop."""

    __slots__ = (
        "_capacity",
        "_cells",
        "_count",
        "_few",
        "_positions",
        "_row_cells",
        "_rows",
        "_table",
    )

    def __init__(self) -> None:
        self._few: dict[int, Numbers] | None = {}
        self._count = self._capacity = 0
        self._positions: dict[int, int]
        self._rows: NDArray[np.intp]
        self._table: NDArray[np.float64]
        # Table and rows again: a memoryview reads and writes single numbers faster.
        self._cells: memoryview[float]
        self._row_cells: memoryview[int]

    def __len__(self) -> int:
        return self._count if self._few is None else len(self._few)

    @abstractmethod
    def find(self, question: Question) -> list[int] | Rows:
        """The rows of the geofences that contain the point."""

    def put(self, row: int, numbers: Numbers) -> None:
        """Add a row, or give it new numbers."""
        few = self._few
        if few is not None:
            few[row] = numbers
            if len(few) > FEW:
                self._tabulate(few)
            return
        position = self._positions.get(row)
        if position is None:
            position = self._positions[row] = self._count
            if position == self._capacity:
                self._make_room(self._capacity + self._capacity // 4)
            self._count += 1
            self._row_cells[position] = row
        cells, capacity = self._cells, self._capacity
        cells[position] = numbers[0]
        cells[position + capacity] = numbers[1]
        cells[position + 2 * capacity] = numbers[2]
        cells[position + 3 * capacity] = numbers[3]

    def drop(self, row: int) -> None:
        """Remove a row; the last column takes its place."""
        if self._few is not None:
            del self._few[row]
            return
        position = self._positions.pop(row)
        self._count = last = self._count - 1
        cells, capacity = self._cells, self._capacity
        if position != last:
            moved = self._row_cells[last]
            self._row_cells[position] = moved
            self._positions[moved] = position
            cells[position] = cells[last]
            cells[position + capacity] = cells[last + capacity]
            cells[position + 2 * capacity] = cells[last + 2 * capacity]
            cells[position + 3 * capacity] = cells[last + 3 * capacity]
        cells[last + 3 * capacity] = _NEVER

    def _tabulate(self, few: dict[int, Numbers]) -> None:
        self._few = None
        self._count = len(few)
        self._rows = np.array(list(few), dtype=np.intp)
        self._table = np.array(list(few.values())).T
        self._positions = {row: position for position, row in enumerate(few)}
        self._make_room(2 * len(few))

    def _make_room(self, capacity: int) -> None:
        rows = np.zeros(capacity, dtype=np.intp)
        table = np.zeros((4, capacity))
        table[3] = _NEVER
        rows[: self._count] = self._rows[: self._count]
        table[:, : self._count] = self._table[:, : self._count]
        self._rows, self._table, self._capacity = rows, table, capacity
        self._cells = cast("memoryview[float]", table.reshape(-1).data)
        self._row_cells = rows.data


class Circles(Columns):
    """Circles as half spaces: inside where x·a + y·b + z·c + d is not negative."""

    __slots__ = ()

    def find(self, question: Question) -> list[int] | Rows:
        """The rows of the circles that contain the point."""
        if self._few is None:
            return sift_circles(question, self._table, self._rows)
        x, y, z = question.x, question.y, question.z
        found = []
        for row, (a, b, c, d) in self._few.items():
            side = x * a + y * b + z * c + d
            if side > DOUBT or (side >= -DOUBT and question.area_of(row).contains(question.point)):
                found.append(row)
        return found


def sift_circles(
    question: Question,
    table: NDArray[np.float64],
    rows: NDArray[np.intp],
) -> Rows:
    """The rows of those circles, given as the columns of a table, that contain the point."""
    side = question.vector.dot(table)
    possible, sure = np.greater_equal(side, _LOW), np.greater(side, _HIGH)
    found: Rows = rows.compress(possible)
    if possible.tobytes() != sure.tobytes():  # by far the fastest way to compare two masks
        keep = side.compress(possible) > DOUBT
        for position in (~keep).nonzero()[0].tolist():
            keep[position] = question.area_of(int(found[position])).contains(question.point)
        found = found.compress(keep)
    return found


class Boxes(Columns):
    """Boxes as (−south, north, −west, east): inside where none is below the point's own."""

    __slots__ = ()

    def find(self, question: Question) -> list[int] | Rows:
        """The rows of the boxes that contain the point."""
        lat, lon = question.point.lat, question.point.lon
        if self._few is not None:
            return [
                row
                for row, (south, north, west, east) in self._few.items()
                if south >= -lat and north >= lat and west >= -lon and east >= lon
            ]
        edges = np.array(((-lat,), (lat,), (-lon,), (lon,)))
        inside = np.logical_and.reduce(self._table >= edges, axis=0)
        rows: Rows = self._rows[inside.nonzero()[0]]
        return rows


class Shapes(Boxes):
    """Any other areas: the boxes around them, then the areas' own test."""

    __slots__ = ()

    def find(self, question: Question) -> list[int]:
        """The rows of the areas that contain the point."""
        near = super().find(question)
        rows: list[int] = near if isinstance(near, list) else near.tolist()
        return [row for row in rows if question.area_of(row).contains(question.point)]
