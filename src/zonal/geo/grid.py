"""Grids: a box cut into rows and columns, as a shared domain of Bloom filters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zonal.errors import GeometryError
from zonal.geo.area import Box, PlanarArea, as_area
from zonal.geo.point import as_point

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zonal.geo.area import GivenArea
    from zonal.geo.point import GivenPoint

_MAX_CELLS = 1_000_000
_HAIR_DEG = 1e-9


@dataclass(frozen=True, slots=True)
class GridCell:
    """One field of a grid, counted from its south-western corner."""

    row: int
    column: int


@dataclass(frozen=True, slots=True)
class Grid:
    """A box of `rows` × `columns` equal fields.

    Each field contains its southern and western edge, so that a point lies in exactly one; the
    last row and column contain the box's northern and eastern edge too.
    """

    domain: Box
    rows: int
    columns: int

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Box):
            raise GeometryError(f"a grid's domain is a Box, not {self.domain!r:.80}")
        if self.rows < 1 or self.columns < 1:
            raise GeometryError(f"a grid needs rows and columns, not {self.rows} × {self.columns}")
        if self.rows * self.columns > _MAX_CELLS:
            raise GeometryError(
                f"{self.rows} × {self.columns} fields exceed the limit of {_MAX_CELLS:,}"
            )
        if self.domain.height_deg == 0.0 or self.domain.width_deg == 0.0:
            raise GeometryError("a grid's domain needs a height and a width")

    def __len__(self) -> int:
        return self.rows * self.columns

    def cell_of(self, point: GivenPoint) -> GridCell:
        """The field that contains the point; outside the domain there is none (an error)."""
        point = as_point(point)
        if not self.domain.contains(point):
            raise GeometryError(f"{point} lies outside the grid's domain {self.domain.to_wkt()}")
        return GridCell(self._row(point.lat), self._column(point.lon))

    def cells_of(self, area: GivenArea) -> Iterator[GridCell]:
        """The fewest fields that contain the part of the area inside the domain."""
        area = as_area(area)
        bounds = area.bounds
        if isinstance(area, Box):
            yield from self._fields_of_box(area)
            return
        area = area.prepared() if isinstance(area, PlanarArea) else area
        for cell in self._fields_of_box(bounds):
            if area.meets(self.box_of(cell).expanded(_HAIR_DEG)):
                yield cell

    def box_of(self, cell: GridCell) -> Box:
        """The field's box."""
        south = self.domain.min_lat + cell.row * self._height
        west = self.domain.min_lon + cell.column * self._width
        east = west + self._width
        return Box(
            south,
            west - 360.0 if west > 180.0 else west,
            min(90.0, south + self._height),
            east - 360.0 if east > 180.0 else east,
        )

    @property
    def _height(self) -> float:
        return self.domain.height_deg / self.rows

    @property
    def _width(self) -> float:
        return self.domain.width_deg / self.columns

    def _row(self, lat: float) -> int:
        return min(self.rows - 1, max(0, math.floor((lat - self.domain.min_lat) / self._height)))

    def _column(self, lon: float) -> int:
        east = (lon - self.domain.min_lon) % 360.0
        return min(self.columns - 1, math.floor(east / self._width))

    def _fields_of_box(self, box: Box) -> Iterator[GridCell]:
        if not self.domain.intersects(box):
            return
        columns = self._columns_of_box(box)
        for row in range(
            self._row(max(box.min_lat, self.domain.min_lat)),
            self._row(min(box.max_lat, self.domain.max_lat)) + 1,
        ):
            for column in columns:
                yield GridCell(row, column)

    def _columns_of_box(self, box: Box) -> list[int]:
        """Columns whose meridians the box spans (all where one of them holds a pole)."""
        at_pole = 90.0 in (box.max_lat, -box.min_lat)
        if at_pole or box.width_deg >= 360.0:
            return list(range(self.columns))
        return [column for column in range(self.columns) if self._spans(column, box)]

    def _spans(self, column: int, box: Box) -> bool:
        """Whether a meridian of the box falls into the column (or, at its end, on its edge)."""
        if self._holds(column, box.min_lon) or self._holds(column, box.max_lon):
            return True
        west = self.domain.min_lon + column * self._width
        return (west - box.min_lon) % 360.0 <= box.width_deg

    def _holds(self, column: int, lon: float) -> bool:
        return self._spans_domain(lon) and self._column(lon) == column

    def _spans_domain(self, lon: float) -> bool:
        return (lon - self.domain.min_lon) % 360.0 <= self.domain.width_deg
