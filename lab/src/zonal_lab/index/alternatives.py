"""Other spatial structures behind the raster's interface, to compare it with.

`RTreeFences` is libspatialindex through PyPI's `rtree`, the structure that GeoBroker's authors
tried first; `BTreeFences` is SQLite's B-tree, in memory; `STRTreeFences` is shapely's packed tree,
which cannot be changed, so that it is built anew for the first look-up after a change;
`LinearFences` is a list.
"""

from __future__ import annotations

import abc
import math
import sqlite3
from typing import TYPE_CHECKING

import numpy as np
import shapely

from zonal.geo import EARTH_RADIUS_M, EDGE_TOLERANCE_M, Circle, unit_vector
from zonal.index import Fences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from zonal.geo import Area, Point

Rows = np.ndarray[tuple[int], np.dtype[np.intp]]
Rectangle = tuple[float, float, float, float]
"""West, south, east, north."""

_DOUBT = 4e-15
"""Nearer to a circle's plane than this, rounding could decide; then the area itself is asked."""


def rectangles_of(area: Area) -> Iterator[Rectangle]:
    """The boxes around an area, cut at the antimeridian; poles have all longitudes."""
    box = area.bounds
    south, west, north, east = box.min_lat, box.min_lon, box.max_lat, box.max_lon
    if north >= 90.0 or south <= -90.0:
        yield (-180.0, south, 180.0, north)
    elif west > east:
        yield (west, south, 180.0, north)
        yield (-180.0, south, east, north)
    else:
        yield (west, south, east, north)
        if east == 180.0:
            yield (-180.0, south, -180.0, north)


def plane_of(circle: Circle) -> tuple[float, float, float, float]:
    """A circle as the half space that cuts it out of the unit sphere, edge included."""
    assert circle.center is not None
    angle = min((circle.radius_m + EDGE_TOLERANCE_M) / EARTH_RADIUS_M, math.pi)
    return (*unit_vector(circle.center), -math.cos(angle))


class _Candidates:
    """The exact test behind a tree of boxes: all circles at once, other areas one by one."""

    def __init__(self) -> None:
        self.areas: dict[int, Area] = {}
        self._planes = np.zeros((16, 4))
        self._is_circle = np.zeros(16, dtype=np.bool_)

    def put(self, row: int, area: Area) -> None:
        self.areas[row] = area
        while row >= len(self._planes):
            self._planes = np.concatenate([self._planes, np.zeros_like(self._planes)])
            self._is_circle = np.concatenate([self._is_circle, np.zeros_like(self._is_circle)])
        self._is_circle[row] = isinstance(area, Circle)
        self._planes[row] = plane_of(area) if isinstance(area, Circle) else 0.0

    def sift(self, rows: Rows, point: Point) -> Rows:
        circular = self._is_circle[rows]
        circles = rows[circular]
        side = self._planes[circles].dot((*unit_vector(point), 1.0))
        sure = circles[side > _DOUBT]
        doubtful = circles[np.abs(side) <= _DOUBT].tolist() + rows[~circular].tolist()
        asked = [row for row in doubtful if self.areas[row].contains(point)]
        return np.concatenate([sure, np.array(asked, dtype=np.intp)])


def _unique(rows: Iterable[int]) -> Rows:
    return np.array(list(dict.fromkeys(rows)), dtype=np.intp)


def _seam_lon(point: Point) -> float:
    return -180.0 if point.lon == 180.0 else point.lon


class _ChangedInPlace(Fences, abc.ABC):
    """A tree of boxes in which an area is replaced by deleting it and inserting it again."""

    def __init__(self) -> None:
        self._candidates = _Candidates()

    def __len__(self) -> int:
        return len(self._candidates.areas)

    def __iter__(self) -> Iterator[int]:
        return iter(self._candidates.areas)

    def __contains__(self, row: object) -> bool:
        return row in self._candidates.areas

    @abc.abstractmethod
    def add(self, row: int, area: Area) -> None:
        """Insert the boxes of an area."""

    @abc.abstractmethod
    def remove(self, row: int) -> None:
        """Delete the boxes of an area."""

    def update(self, row: int, area: Area) -> None:
        """Delete and insert."""
        self.remove(row)
        self.add(row, area)


class RTreeFences(_ChangedInPlace):
    """An R-tree of the boxes around the areas."""

    def __init__(self) -> None:
        from rtree import index

        super().__init__()
        self._tree = index.Index()

    def add(self, row: int, area: Area) -> None:
        """Insert the boxes of an area."""
        for rectangle in rectangles_of(area):
            self._tree.insert(row, rectangle)
        self._candidates.put(row, area)

    def remove(self, row: int) -> None:
        """Delete the boxes of an area."""
        for rectangle in rectangles_of(self._candidates.areas.pop(row)):
            self._tree.delete(row, rectangle)

    def containing(self, point: Point) -> Rows:
        """Ask the tree, then the areas."""
        lat, lon = point.lat, _seam_lon(point)
        rows = _unique(self._tree.intersection((lon, lat, lon, lat)))
        return self._candidates.sift(rows, point)


class BTreeFences(_ChangedInPlace):
    """A B-tree of the southern edges of the boxes around the areas."""

    def __init__(self) -> None:
        super().__init__()
        self._base = sqlite3.connect(":memory:", isolation_level=None)
        self._base.execute("CREATE TABLE boxes (row, west, south, east, north)")
        self._base.execute("CREATE INDEX by_row ON boxes (row)")
        self._base.execute("CREATE INDEX by_south ON boxes (south, north, west, east, row)")
        self._tallest = 0.0

    def add(self, row: int, area: Area) -> None:
        """Insert the boxes of an area."""
        for rectangle in rectangles_of(area):
            self._base.execute("INSERT INTO boxes VALUES (?, ?, ?, ?, ?)", (row, *rectangle))
            self._tallest = max(self._tallest, rectangle[3] - rectangle[1])
        self._candidates.put(row, area)

    def remove(self, row: int) -> None:
        """Delete the boxes of an area."""
        self._base.execute("DELETE FROM boxes WHERE row = ?", (row,))
        del self._candidates.areas[row]

    def containing(self, point: Point) -> Rows:
        """Read the boxes that begin near enough in the south, then ask the areas."""
        lat, lon = point.lat, _seam_lon(point)
        found = self._base.execute(
            "SELECT row FROM boxes WHERE south BETWEEN ? AND ? AND north >= ? "
            "AND west <= ? AND east >= ?",
            (math.nextafter(lat - self._tallest, -math.inf), lat, lat, lon, lon),
        )
        return self._candidates.sift(_unique(row for (row,) in found), point)


class STRTreeFences(Fences):
    """A packed tree of the boxes around the areas, rebuilt after changes."""

    def __init__(self) -> None:
        self._rectangles: dict[int, tuple[Rectangle, ...]] = {}
        self._candidates = _Candidates()
        self._tree: shapely.STRtree | None = None
        self._rows: Rows = np.empty(0, dtype=np.intp)

    def __len__(self) -> int:
        return len(self._rectangles)

    def __iter__(self) -> Iterator[int]:
        return iter(self._rectangles)

    def __contains__(self, row: object) -> bool:
        return row in self._rectangles

    def add(self, row: int, area: Area) -> None:
        """Keep the boxes of an area for the next tree."""
        self._rectangles[row] = tuple(rectangles_of(area))
        self._candidates.put(row, area)
        self._tree = None

    update = add

    def remove(self, row: int) -> None:
        """Leave an area out of the next tree."""
        del self._rectangles[row]
        del self._candidates.areas[row]
        self._tree = None

    def containing(self, point: Point) -> Rows:
        """Ask the tree, built if needed, then the areas."""
        if self._tree is None:
            self._tree = self._build()
        found = self._tree.query(shapely.Point(_seam_lon(point), point.lat))
        rows = np.unique(self._rows[found])
        return self._candidates.sift(rows, point)

    def _build(self) -> shapely.STRtree:
        pairs = [(row, box) for row, boxes in self._rectangles.items() for box in boxes]
        self._rows = np.array([row for row, _ in pairs], dtype=np.intp)
        corners = np.array([box for _, box in pairs]).reshape(-1, 4)
        return shapely.STRtree(shapely.box(*corners.T))


class LinearFences(Fences):
    """A list that is read from end to end: no structure, and the yardstick of the others."""

    def __init__(self) -> None:
        self._areas: dict[int, Area] = {}

    def __len__(self) -> int:
        return len(self._areas)

    def __iter__(self) -> Iterator[int]:
        return iter(self._areas)

    def __contains__(self, row: object) -> bool:
        return row in self._areas

    def add(self, row: int, area: Area) -> None:
        """Add a geofence."""
        self._areas[row] = area

    update = add

    def remove(self, row: int) -> None:
        """Remove a row."""
        del self._areas[row]

    def containing(self, point: Point) -> Rows:
        """Ask every area."""
        rows = [row for row, area in self._areas.items() if area.contains(point)]
        return np.array(rows, dtype=np.intp)
