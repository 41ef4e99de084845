"""Columns: the numbers of many geofences side by side, so that one test answers for all.

A raster field holds one table per kind of figure. A table is four numbers wide and one column
per geofence; columns beyond the count are filled so that they never match, which keeps the
table in one piece for the vectorized tests. A handful of geofences stays in a plain dictionary,
since up to there a loop is faster than numpy's fixed costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from zonal.geo import Area, Point

Numbers = tuple[float, float, float, float]
Rows = np.ndarray[tuple[int], np.dtype[np.intp]]

FEW = 8
"""Up to here the geofences of a field are tested in a loop."""

DOUBT = 4e-15
"""Nearer to a circle's plane than this, rounding could decide; then the area itself is asked."""

NEVER = -np.inf


class Question:
    """A point, prepared once for all the tables it meets."""

    __slots__ = ("edges", "point", "vector")

    def __init__(self, point: Point, vector: NDArray[np.float64]) -> None:
        self.point = point
        self.vector = vector  # x, y, z, 1
        lat, lon = point.lat, point.lon
        self.edges: Numbers = (-lat, lat, -lon, lon)


class Columns:
    """Four numbers for each of many rows, with constant-time put and drop."""

    __slots__ = ("_count", "_few", "_positions", "_rows", "_table")
    _blank: ClassVar[Numbers] = (NEVER, NEVER, NEVER, NEVER)

    def __init__(self) -> None:
        self._few: dict[int, Numbers] | None = {}
        self._count = 0
        self._positions: dict[int, int] = {}
        self._rows: NDArray[np.intp]
        self._table: NDArray[np.float64]

    def __len__(self) -> int:
        return self._count if self._few is None else len(self._few)

    def put(self, row: int, numbers: Numbers) -> None:
        """Add a row, or give it new numbers."""
        if self._few is not None:
            self._few[row] = numbers
            if len(self._few) > FEW:
                self._tabulate()
            return
        position = self._positions.get(row)
        if position is None:
            position = self._positions[row] = self._count
            if position == len(self._rows):
                self._grow()
            self._count += 1
            self._rows[position] = row
        self._table[:, position] = numbers

    def drop(self, row: int) -> None:
        """Remove a row; the last column takes its place."""
        if self._few is not None:
            del self._few[row]
            return
        position = self._positions.pop(row)
        self._count = last = self._count - 1
        if position != last:
            moved = int(self._rows[last])
            self._rows[position] = moved
            self._positions[moved] = position
            self._table[:, position] = self._table[:, last]
        self._table[:, last] = self._blank

    def _tabulate(self) -> None:
        few, self._few = self._few or {}, None
        capacity = 2 * len(few)
        self._rows = np.zeros(capacity, dtype=np.intp)
        self._table = self._blanks(capacity)
        self._count = len(few)
        self._positions = {row: position for position, row in enumerate(few)}
        self._rows[: self._count] = list(few)
        self._table[:, : self._count] = np.array(list(few.values())).T

    def _grow(self) -> None:
        more = len(self._rows) // 2
        self._rows = np.concatenate([self._rows, np.zeros(more, dtype=np.intp)])
        self._table = np.concatenate([self._table, self._blanks(more)], axis=1)

    def _blanks(self, count: int) -> NDArray[np.float64]:
        return np.repeat(np.array(self._blank)[:, np.newaxis], count, axis=1)


class Circles(Columns):
    """Circles as half spaces: inside where x·a + y·b + z·c + d is not negative."""

    __slots__ = ()
    _blank: ClassVar[Numbers] = (0.0, 0.0, 0.0, NEVER)

    def find(self, question: Question, areas: Mapping[int, Area]) -> list[int] | Rows:
        """The rows of the circles that contain the point."""
        if self._few is not None:
            return self._find_in_few(question, areas)
        return self.sift(question, self._table, self._rows, areas)

    @staticmethod
    def sift(
        question: Question,
        table: NDArray[np.float64],
        rows: NDArray[np.intp],
        areas: Mapping[int, Area],
    ) -> Rows:
        """The rows of those circles, given as columns of a table, that contain the point."""
        side = question.vector.dot(table)
        hits = (side >= -DOUBT).nonzero()[0]
        found: Rows = rows[hits]
        if len(hits) and np.minimum.reduce(side[hits]) <= DOUBT:
            keep = side[hits] > DOUBT
            for position in (~keep).nonzero()[0].tolist():
                keep[position] = areas[int(found[position])].contains(question.point)
            found = found[keep]
        return found

    def _find_in_few(self, question: Question, areas: Mapping[int, Area]) -> list[int]:
        x, y, z, _ = question.vector.tolist()
        found = []
        for row, (a, b, c, d) in (self._few or {}).items():
            side = x * a + y * b + z * c + d
            if side > DOUBT or (side >= -DOUBT and areas[row].contains(question.point)):
                found.append(row)
        return found


class Boxes(Columns):
    """Boxes as (−south, north, −west, east): inside where none is below the point's own."""

    __slots__ = ()

    def find(self, question: Question) -> list[int] | Rows:
        """The rows of the boxes that contain the point."""
        if self._few is not None:
            s, n, w, e = question.edges
            return [
                row
                for row, (south, north, west, east) in self._few.items()
                if south >= s and north >= n and west >= w and east >= e
            ]
        edges = np.array(question.edges)[:, np.newaxis]
        inside = np.logical_and.reduce(self._table >= edges, axis=0)
        rows: Rows = self._rows[inside.nonzero()[0]]
        return rows
