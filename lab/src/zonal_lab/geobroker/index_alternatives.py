"""Other spatial structures behind the raster's interface, to compare it with.

`RTreeFences` is libspatialindex through PyPI's `rtree`, the structure that GeoBroker's authors
tried first; `STRTreeFences` is shapely's packed tree, which cannot be changed, so that it is
built anew for the first look-up after a change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import shapely

from zonal.index.columns import Circles, PointQuestion, sift_circles
from zonal.index.figures import Figure, figure_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from zonal.geo import Area, Point
    from zonal.index.columns import Rows

Rectangle = tuple[float, float, float, float]
"""West, south, east, north."""


def rectangles_of(figure: Figure) -> Iterator[Rectangle]:
    """The boxes around an area, cut at the antimeridian; poles have all longitudes."""
    if figure.north >= 90.0 or figure.south <= -90.0:
        yield (-180.0, figure.south, 180.0, figure.north)
        return
    for west, east in figure.lon_ranges:
        yield (west, figure.south, east, figure.north)


class _Candidates:
    """The exact test behind a tree of boxes: all circles at once, other areas one by one."""

    def __init__(self) -> None:
        self.areas: dict[int, Area] = {}
        self._planes = np.zeros((16, 4))
        self._is_circle = np.zeros(16, dtype=np.bool_)

    def put(self, row: int, area: Area, figure: Figure) -> None:
        self.areas[row] = area
        while row >= len(self._planes):
            self._planes = np.concatenate([self._planes, np.zeros_like(self._planes)])
            self._is_circle = np.concatenate([self._is_circle, np.zeros_like(self._is_circle)])
        self._is_circle[row] = figure.kind is Circles
        self._planes[row] = figure.numbers if figure.kind is Circles else 0.0

    def sift(self, rows: Rows, point: Point) -> Rows:
        circular = self._is_circle[rows]
        circles = rows[circular]
        question = PointQuestion(point, self.areas.__getitem__)
        side = self._planes[circles].dot(question.vector())
        inside = sift_circles(question, side, circles)
        others = [row for row in rows[~circular].tolist() if self.areas[row].contains(point)]
        return np.concatenate([inside, np.array(others, dtype=np.intp)])


def _unique(rows: Iterable[int]) -> Rows:
    return np.array(list(dict.fromkeys(rows)), dtype=np.intp)


def _seam_lon(point: Point) -> float:
    return -180.0 if point.lon == 180.0 else point.lon


class RTreeFences:
    """An R-tree of the boxes around the areas."""

    def __init__(self) -> None:
        from rtree import index

        self._tree = index.Index()
        self._candidates = _Candidates()

    def __len__(self) -> int:
        return len(self._candidates.areas)

    def __iter__(self) -> Iterator[int]:
        return iter(self._candidates.areas)

    def __contains__(self, row: object) -> bool:
        return row in self._candidates.areas

    def add(self, row: int, area: Area) -> None:
        """Insert the boxes of an area."""
        figure = figure_of(area)
        for rectangle in rectangles_of(figure):
            self._tree.insert(row, rectangle)
        self._candidates.put(row, area, figure)

    def update(self, row: int, area: Area) -> None:
        """Delete and insert, as R-trees do."""
        self.remove(row)
        self.add(row, area)

    def remove(self, row: int) -> None:
        """Delete the boxes of an area."""
        for rectangle in rectangles_of(figure_of(self._candidates.areas.pop(row))):
            self._tree.delete(row, rectangle)

    def containing(self, point: Point) -> Rows:
        """Ask the tree, then the areas."""
        lat, lon = point.lat, _seam_lon(point)
        rows = _unique(self._tree.intersection((lon, lat, lon, lat)))
        return self._candidates.sift(rows, point)


class STRTreeFences:
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
        figure = figure_of(area)
        self._rectangles[row] = tuple(rectangles_of(figure))
        self._candidates.put(row, area, figure)
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
