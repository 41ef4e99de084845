"""Columns: the numbers of many geofences side by side, so that one test answers for all.

A raster field has one table for each kind of figure. A table is four numbers wide and has one
column per geofence; spare columns are filled so that they never match, which keeps the table in
one piece for the vectorized tests. A handful of geofences stays in a plain dictionary, since up
to there a loop is faster than numpy's fixed costs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely

from zonal.geo import unit_vector

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from zonal.geo import Point

Numbers = tuple[float, float, float, float]
Rows = np.ndarray[tuple[int], np.dtype[np.intp]]

FEW = 32
"""Up to here the geofences of a field are tested in a loop."""

MANY = 512
"""From here on a table that is only read is worth sorting."""

READS_TO_SETTLE = 32
"""Sorting n circles costs about as much as the n/32 reads that it then speeds up."""

DOUBT = 4e-15
"""Nearer to a circle's plane than this, rounding could decide; then the area itself is asked."""

_LOW, _HIGH = np.array(-DOUBT), np.array(DOUBT)  # as arrays, which numpy compares with faster
_NEVER = -math.inf


class PointQuestion:
    """A point, prepared once for all the tables that it is put to."""

    __slots__ = ("area_of", "point", "x", "y", "z")

    def __init__(self, point: Point, area_of: Callable[[int], Any]) -> None:
        self.area_of = area_of  # asked where the numbers in a table do not settle a case
        self.point = point
        self.x, self.y, self.z = unit_vector(point)

    def vector(self) -> NDArray[np.float64]:
        """The point as a vector that a table of planes can be multiplied with."""
        return np.array((self.x, self.y, self.z, 1.0))


class Columns(ABC):
    """Four numbers for each of many rows, with constant-time put and drop."""

    __slots__ = (
        "_capacity",
        "_cells",
        "_count",
        "_few",
        "_is_settled",
        "_positions",
        "_quiet_reads",
        "_row_cells",
        "_rows",
        "_table",
    )

    def __init__(self) -> None:
        self._few: dict[int, Numbers] | None = {}
        self._count = self._capacity = 0
        self._quiet_reads = 0  # since the last write
        self._is_settled = False  # in an order of its own, with positions not kept
        self._positions: dict[int, int]
        self._rows: NDArray[np.intp]
        self._table: NDArray[np.float64]
        # Table and rows again: a memoryview reads and writes single numbers faster.
        self._cells: tuple[Any, Any, Any, Any]
        self._row_cells: memoryview[int]

    def __len__(self) -> int:
        return self._count if self._few is None else len(self._few)

    @abstractmethod
    def find(self, question: PointQuestion) -> list[int] | Rows:
        """The rows of the geofences that contain the point."""

    def columns(self) -> tuple[Rows, NDArray[np.float64]]:
        """The rows, and their numbers in as many columns."""
        few = self._few
        if few is not None:
            return np.array(list(few), dtype=np.intp), np.array(list(few.values())).T
        return self._rows[: self._count], self._table[:, : self._count]

    def put(self, row: int, numbers: Numbers) -> None:
        """Add a row, or give it new numbers."""
        few = self._few
        if few is not None:
            few[row] = numbers
            if len(few) > FEW:
                self._tabulate(few)
            return
        if self._is_settled:
            self._unsettle()
        self._quiet_reads = 0
        count = self._count
        position = self._positions.setdefault(row, count)
        if position == count:
            if count == self._capacity:
                self._make_room(count + count // 4)
            self._count = count + 1
            self._row_cells[position] = row
        a, b, c, d = self._cells
        a[position], b[position], c[position], d[position] = numbers

    def drop(self, row: int) -> None:
        """Remove a row; the last column takes its place."""
        if self._few is not None:
            del self._few[row]
            return
        if self._is_settled:
            self._unsettle()
        self._quiet_reads = 0
        position = self._positions.pop(row)
        self._count = last = self._count - 1
        a, b, c, d = self._cells
        if position != last:
            moved = self._row_cells[last]
            self._row_cells[position] = moved
            self._positions[moved] = position
            a[position], b[position], c[position], d[position] = a[last], b[last], c[last], d[last]
        d[last] = _NEVER

    def _unsettle(self) -> None:
        rows = self._rows[: self._count].tolist()
        self._positions = dict(zip(rows, range(self._count), strict=True))
        self._is_settled = False

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
        self._cells = (table[0].data, table[1].data, table[2].data, table[3].data)
        self._row_cells = rows.data


class Circles(Columns):
    """Circles as half spaces: inside where x·a + y·b + z·c + d is not negative.

    A large table that is read again and again without a change sorts itself by the latitude of
    the centres, and from then on tests only those that are near enough.
    """

    __slots__ = ("_reach",)

    def find(self, question: PointQuestion) -> list[int] | Rows:
        """The rows of the circles that contain the point."""
        few = self._few
        if few is None:
            if self._count >= MANY and (self._is_settled or self._is_worth_settling()):
                return self._find_near(question)
            return sift_circles(question, question.vector().dot(self._table), self._rows)
        x, y, z = question.x, question.y, question.z
        found = []
        for row, (a, b, c, d) in few.items():
            side = x * a + y * b + z * c + d
            if side > DOUBT or (side >= -DOUBT and question.area_of(row).contains(question.point)):
                found.append(row)
        return found

    def _find_near(self, question: PointQuestion) -> Rows:
        if not self._is_settled:
            self._settle()
        # The sines of the latitudes one reach to the south and to the north; beyond a pole, all.
        cosine, sine = self._reach
        z, sines = question.z, self._cells[2]
        cos_lat = math.hypot(question.x, question.y)
        start, end = 0, self._count
        if cos_lat * cosine + z * sine > 0.0:
            start = bisect_left(sines, z * cosine - cos_lat * sine - 1e-15, 0, end)
        if cos_lat * cosine - z * sine > 0.0:
            end = bisect_right(sines, z * cosine + cos_lat * sine + 1e-15, start, end)
        side = np.matmul(question.vector(), self._table[:, start:end])
        return sift_circles(question, side, self._rows[start:end])

    def _is_worth_settling(self) -> bool:
        self._quiet_reads += 1
        return self._quiet_reads * READS_TO_SETTLE > self._count

    def _settle(self) -> None:
        count = self._count
        order = np.argsort(self._table[2, :count])
        self._table[:, :count] = self._table[:, order]
        self._rows[:count] = self._rows[order]
        self._is_settled = True
        # The largest radius; the arc cosine is exact to 2e-8 near 1, so a little is added.
        cosine = min(1.0, -float(self._table[3, :count].max()))
        reach = min(math.acos(max(-1.0, cosine)) + 1e-7, math.pi)
        self._reach = math.cos(reach), math.sin(reach)


def sift_circles(
    question: PointQuestion, side: NDArray[np.float64], rows: NDArray[np.intp]
) -> Rows:
    """The rows whose circles contain the point, by the side of their planes that it is on."""
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

    def find(self, question: PointQuestion) -> list[int] | Rows:
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


class Polygons(Boxes):
    """Polygons away from the seams: the boxes around them, then one test for all that are left."""

    __slots__ = ()

    def find(self, question: PointQuestion) -> list[int]:
        """The rows of the polygons that contain the point."""
        rows = _as_list(super().find(question))
        if not rows:
            return rows
        figures = np.array(
            [question.area_of(row).planar_for_points for row in rows], dtype=np.object_
        )
        inside = shapely.intersects_xy(figures, question.point.lon, question.point.lat)
        return [row for row, is_inside in zip(rows, inside.tolist(), strict=True) if is_inside]


class Shapes(Boxes):
    """Any other areas: the boxes around them, then each area's own test."""

    __slots__ = ()

    def find(self, question: PointQuestion) -> list[int]:
        """The rows of the areas that contain the point."""
        # Many may have subscribed with one area: it is asked once.
        answers: dict[int, bool] = {}
        found = []
        for row in _as_list(super().find(question)):
            area = question.area_of(row)
            inside = answers.get(id(area))
            if inside is None:
                inside = answers[id(area)] = area.contains(question.point)
            if inside:
                found.append(row)
        return found


def _as_list(rows: list[int] | Rows) -> list[int]:
    return rows if isinstance(rows, list) else rows.tolist()
