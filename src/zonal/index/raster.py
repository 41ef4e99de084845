"""The raster: geofences by the fields they intersect, so that a point asks one field.

GeoBroker (section 3.3) divides the world into fields of 1°/granularity. Here every geofence
stands at one level of fields that suits its own size, so nobody has to choose a granularity, and
a geofence of half the world stands in a few large fields instead of millions of small ones. A
look-up reads one field per level in use. With a fixed granularity (for the experiments) there is
one level, and coarser ones only for geofences that would fill too many fields.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from zonal.errors import GeometryError
from zonal.geo import Point
from zonal.index.columns import Circles, PointQuestion
from zonal.index.fences import merged, paired
from zonal.index.fields import field_count, field_of, fields_of
from zonal.index.figures import Figure, figure_of
from zonal.index.sheets import Sheet

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from zonal.geo import Area
    from zonal.index.columns import Columns, Numbers, Rows
    from zonal.index.fences import Pairs

MAX_FIELDS = 1024
"""A geofence that would stand in more fields of a fixed granularity moves to coarser ones."""

FEW_FIELDS_A_SIDE = 16
"""Up to here nobody needs to count."""

MAX_GRANULARITY = 1 << 20

PLACES_TO_COPY = 8
"""Copying n circles side by side costs about as much as n/8 places that it then speeds up."""

CROWD = 64
"""Where a field has more circles than this, its own table answers as fast."""

LARGEST_SHEET = 1 << 18
"""Circles, each counted in every field that it stands in: 10 MiB."""

FINEST_SIDE_EXPONENT = -14  # a side of 2⁻¹⁴ degrees, about 7 m


class Layer:
    """The fields of one granularity, with their tables for one kind of figure."""

    __slots__ = ("_asked", "_count", "_sheet", "granularity", "kind", "tables")

    def __init__(self, kind: type[Columns], granularity: float) -> None:
        self.kind = kind
        self.granularity = granularity
        self.tables: dict[int, Columns] = {}
        self._sheet: Sheet | None = None
        self._asked = 0  # places since the last change
        self._count = 0  # circles in all fields, once it was of interest

    def sheet(self, places: int) -> Sheet | None:
        """All its circles side by side; None where that does not pay for so many places more."""
        if self._sheet is None and self.kind is Circles:
            self._asked += places
            paid, fields = self._asked * PLACES_TO_COPY, len(self.tables)
            if self._count == 0 and paid > fields:  # each has a circle at least
                self._count = sum(map(len, self.tables.values()))
            if 0 < self._count < paid and self._count <= min(LARGEST_SHEET, CROWD * fields):
                self._sheet = Sheet(self.tables, self.granularity)
        return self._sheet

    def _changed(self) -> None:
        self._sheet, self._asked, self._count = None, 0, 0

    def put(self, row: int, numbers: Numbers, keys: Iterable[int]) -> None:
        """Let a geofence stand in these fields, or change its numbers there."""
        self._changed()
        tables = self.tables
        for key in keys:
            table = tables.get(key)
            if table is None:
                table = tables[key] = self.kind()
            table.put(row, numbers)

    def drop(self, row: int, keys: Iterable[int]) -> None:
        """Take a geofence out of these fields."""
        self._changed()
        for key in keys:
            table = self.tables[key]
            table.drop(row)
            if not table:
                del self.tables[key]


Place = tuple["Area", Layer, tuple[int, ...]]
"""A geofence, the layer in which it stands, and the keys of its fields."""


class Raster:
    """Geofences by row number; finds the rows whose geofence contains a point."""

    def __init__(self, granularity: float | None = None) -> None:
        if granularity is not None and not 0 < granularity <= MAX_GRANULARITY:
            raise GeometryError(
                f"granularity {granularity} is not between 0 and {MAX_GRANULARITY} per degree"
            )
        self._fixed = granularity
        self._layers: dict[tuple[type[Columns], float], Layer] = {}
        # By the binary exponent of an extent: which layer has fields of about that size.
        self._nearest: dict[tuple[type[Columns], int], Layer] = {}
        self._places: dict[int, Place] = {}

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[int]:
        return iter(self._places)

    def __contains__(self, row: object) -> bool:
        return row in self._places

    @property
    def granularities(self) -> tuple[float, ...]:
        """The levels in use, in fields per degree, coarse to fine."""
        return tuple(sorted({granularity for _, granularity in self._layers}))

    @property
    def field_count(self) -> int:
        """How many fields hold a geofence."""
        fields = {(each.granularity, key) for each in self._layers.values() for key in each.tables}
        return len(fields)

    def add(self, row: int, area: Area) -> None:
        """Let a geofence stand in every field that it intersects."""
        figure = figure_of(area)
        layer = self._layer_for(figure)
        keys = fields_of(area, figure, layer.granularity)
        layer.put(row, figure.numbers, keys)
        self._places[row] = area, layer, keys

    def update(self, row: int, area: Area) -> None:
        """Give a geofence a new area; fields of both areas are written in place."""
        figure = figure_of(area)
        layer = self._layer_for(figure)
        _, old_layer, old_keys = self._places[row]
        if layer is not old_layer:
            self.remove(row)
            self.add(row, area)
            return
        keys = fields_of(area, figure, layer.granularity)
        layer.put(row, figure.numbers, keys)
        if keys != old_keys:
            layer.drop(row, [key for key in old_keys if key not in keys])
        self._places[row] = area, layer, keys

    def remove(self, row: int) -> None:
        """Take a geofence out of all its fields."""
        _, layer, keys = self._places.pop(row)
        layer.drop(row, keys)
        if not layer.tables:
            del self._layers[layer.kind, layer.granularity]
            self._nearest.clear()

    def containing(self, point: Point) -> Rows | list[int]:
        """The rows of the geofences that contain the point; a list where they are few."""
        lat, lon = point.lat, point.lon
        question: PointQuestion | None = None
        found: list[Rows | list[int]] = []
        for layer in self._layers.values():
            table = layer.tables.get(field_of(lat, lon, layer.granularity))
            if table is not None:
                if question is None:
                    question = PointQuestion(point, self._area)
                found.append(table.find(question))
        return _joined(found)

    def containing_each(self, lats: NDArray[np.float64], lons: NDArray[np.float64]) -> Pairs:
        """The same for many places."""
        found: list[Pairs] = []
        points: list[Point] = []
        for layer in self._layers.values():
            sheet = layer.sheet(len(lats))
            if sheet is not None:
                found.append(sheet.containing(lats, lons, self._area))
                continue
            points = points or list(map(Point, lats.tolist(), lons.tolist()))
            found.append(paired([self._in_layer(layer, point) for point in points]))
        return merged(found)

    def _in_layer(self, layer: Layer, point: Point) -> Rows | list[int]:
        table = layer.tables.get(field_of(point.lat, point.lon, layer.granularity))
        return [] if table is None else table.find(PointQuestion(point, self._area))

    def _area(self, row: int) -> Area:
        return self._places[row][0]

    def _layer_for(self, figure: Figure) -> Layer:
        kind, _, south, west, north, east = figure
        width = east - west if west <= east else east - west + 360.0
        height = north - south
        exponent = math.frexp(max(height, width))[1]
        layer = self._nearest.get((kind, exponent))
        if layer is None or self._fixed is not None:
            granularity = self._granularity_for(figure, exponent)
            layer = self._layers.get((kind, granularity))
            if layer is None:
                layer = self._layers[kind, granularity] = Layer(kind, granularity)
                self._nearest.clear()
            self._nearest[kind, exponent] = layer
        return layer

    def _granularity_for(self, figure: Figure, exponent: int) -> float:
        if self._fixed is not None:
            granularity = self._fixed
            while math.ldexp(granularity, exponent) > FEW_FIELDS_A_SIDE and (
                field_count(figure, granularity) > MAX_FIELDS
            ):
                granularity /= 4.0
            return granularity
        best: float = 2.0 ** -max(exponent, FINEST_SIDE_EXPONENT)
        # A level near enough that is in use already spares every look-up another field.
        for granularity in (best, best / 2.0, best * 2.0):
            if (figure.kind, granularity) in self._layers:
                return granularity
        return best


def _joined(found: list[Rows | list[int]]) -> Rows | list[int]:
    if len(found) == 1:
        return found[0]
    few: list[int] = []
    for part in found:
        if not isinstance(part, list):
            return np.concatenate([np.asarray(part, dtype=np.intp) for part in found])
        few += part
    return few
