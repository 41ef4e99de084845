"""The raster: geofences by the fields they intersect, so that a point asks one field.

GeoBroker (section 3.3) divides the world into fields of 1°/granularity. Here every geofence
stands at one level of fields that suits its own size, so nobody has to choose a granularity, and
a geofence of half the world stands in a few large fields instead of millions of small ones. A
look-up reads one field per level in use. With a fixed granularity (for the experiments) there is
one level, and coarser ones only for geofences that would fill too many fields.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from zonal.errors import GeometryError
from zonal.geo import Area, Box, Circle
from zonal.index.columns import Boxes, Circles, Question, Rows
from zonal.index.figures import Figure, Kind, circle_reaches, figure_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zonal.geo import Point

MAX_FIELDS = 1024
"""A geofence that would stand in more fields of a fixed granularity moves to coarser ones."""

FINEST_SIDE_EXPONENT = -14  # 2⁻¹⁴ degrees: about 7 m
_NORTH_POLE, _SOUTH_POLE = -1, -2
_ROW_SHIFT = 32
_OFFSET = 1 << 30  # makes row and column numbers positive


class Field:
    """One field: the geofences that intersect it, in a table per kind."""

    __slots__ = ("boxes", "circles", "shapes")

    def __init__(self) -> None:
        self.circles: Circles | None = None
        self.boxes: Boxes | None = None
        self.shapes: Boxes | None = None  # the boxes around shapes that have a test of their own

    def table(self, kind: Kind) -> Circles | Boxes:
        """The table for a kind of figure, made when first needed."""
        if kind is Kind.CIRCLE:
            self.circles = self.circles or Circles()
            return self.circles
        if kind is Kind.BOX:
            self.boxes = self.boxes or Boxes()
            return self.boxes
        self.shapes = self.shapes or Boxes()
        return self.shapes

    @property
    def is_empty(self) -> bool:
        """Whether no geofence stands here any more."""
        return not (self.circles or self.boxes or self.shapes)


class Place(NamedTuple):
    """Where a geofence stands."""

    kind: Kind
    granularity: float
    keys: tuple[int, ...]


class Raster:
    """Geofences by row number; finds the rows whose geofence contains a point."""

    def __init__(self, granularity: float | None = None) -> None:
        if granularity is not None and not 0 < granularity <= 1 << 20:
            raise GeometryError(
                f"granularity {granularity} is not between 0 and {1 << 20} fields per degree"
            )
        self._fixed = granularity
        self._levels: dict[float, dict[int, Field]] = {}
        self._areas: dict[int, Area] = {}
        self._places: dict[int, Place] = {}
        self._vector = np.ones(4)

    def __len__(self) -> int:
        return len(self._areas)

    @property
    def granularities(self) -> tuple[float, ...]:
        """The levels in use, in fields per degree, coarse to fine."""
        return tuple(sorted(self._levels))

    @property
    def field_count(self) -> int:
        """How many fields hold a geofence."""
        return sum(map(len, self._levels.values()))

    def add(self, row: int, area: Area) -> None:
        """Let a geofence stand in every field that it intersects."""
        figure = figure_of(area)
        place = self._place(area, figure)
        fields = self._levels.setdefault(place.granularity, {})
        for key in place.keys:
            field = fields.get(key)
            if field is None:
                field = fields[key] = Field()
            field.table(figure.kind).put(row, figure.numbers)
        self._areas[row] = area
        self._places[row] = place

    def update(self, row: int, area: Area) -> None:
        """Give a geofence a new area; fields of both areas are written in place."""
        old = self._places[row]
        figure = figure_of(area)
        new = self._place(area, figure)
        if old.kind is not new.kind or old.granularity != new.granularity:
            self.remove(row)
            self.add(row, area)
            return
        fields = self._levels[new.granularity]
        for key in new.keys:
            field = fields.get(key)
            if field is None:
                field = fields[key] = Field()
            field.table(figure.kind).put(row, figure.numbers)
        if new.keys != old.keys:
            self._leave(row, old, [key for key in old.keys if key not in new.keys])
        self._areas[row] = area
        self._places[row] = new

    def remove(self, row: int) -> None:
        """Take a geofence out of all its fields."""
        place = self._places.pop(row)
        del self._areas[row]
        self._leave(row, place, place.keys)
        if not self._levels[place.granularity]:
            del self._levels[place.granularity]

    def containing(self, point: Point) -> Rows:
        """The rows of the geofences that contain the point."""
        found: list[Rows | list[int]] = []
        question = self._question(point)
        for granularity, fields in self._levels.items():
            field = fields.get(_key_of(point, granularity))
            if field is not None:
                self._ask(field, question, found)
        return _joined(found)

    def _question(self, point: Point) -> Question:
        lat, lon = math.radians(point.lat), math.radians(point.lon)
        cos_lat = math.cos(lat)
        vector = self._vector
        vector[0] = cos_lat * math.cos(lon)
        vector[1] = cos_lat * math.sin(lon)
        vector[2] = math.sin(lat)
        return Question(point, vector)

    def _ask(self, field: Field, question: Question, found: list[Rows | list[int]]) -> None:
        if field.circles is not None:
            found.append(field.circles.find(question, self._areas))
        if field.boxes is not None:
            found.append(field.boxes.find(question))
        if field.shapes is not None:
            areas, point = self._areas, question.point
            near = field.shapes.find(question)
            rows = near if isinstance(near, list) else near.tolist()
            found.append([row for row in rows if areas[row].contains(point)])

    def _leave(self, row: int, place: Place, keys: tuple[int, ...] | list[int]) -> None:
        fields = self._levels[place.granularity]
        for key in keys:
            field = fields[key]
            field.table(place.kind).drop(row)
            if field.is_empty:
                del fields[key]

    def _place(self, area: Area, figure: Figure) -> Place:
        granularity = self._granularity_for(figure)
        keys = tuple(dict.fromkeys(_keys(area, figure, granularity)))
        return Place(figure.kind, granularity, keys)

    def _granularity_for(self, figure: Figure) -> float:
        if self._fixed is not None:
            granularity = self._fixed
            while _field_count(figure, granularity) > MAX_FIELDS:
                granularity /= 4.0
            return granularity
        exponent = max(math.frexp(figure.extent_deg)[1], FINEST_SIDE_EXPONENT)
        best: float = 2.0**-exponent
        # A level near enough that is in use already spares every look-up another field.
        for granularity in (best, best / 2.0, best * 2.0):
            if granularity in self._levels:
                return granularity
        return best


def _key_of(point: Point, granularity: float) -> int:
    lat, lon = point.lat, point.lon
    if lat >= 90.0:
        return _NORTH_POLE
    if lat <= -90.0:
        return _SOUTH_POLE
    if lon >= 180.0:
        lon = -180.0
    row = math.floor(lat * granularity) + _OFFSET
    return (row << _ROW_SHIFT) + math.floor(lon * granularity) + _OFFSET


def _columns(figure: Figure, granularity: float) -> Iterator[range]:
    last = math.ceil(180.0 * granularity) - 1
    for west, east in figure.lon_ranges:
        yield range(math.floor(west * granularity), min(math.floor(east * granularity), last) + 1)


def _rows(figure: Figure, granularity: float) -> range:
    last = math.ceil(90.0 * granularity) - 1
    south, north = math.floor(figure.south * granularity), math.floor(figure.north * granularity)
    return range(south, min(north, last) + 1)


def _field_count(figure: Figure, granularity: float) -> int:
    return len(_rows(figure, granularity)) * sum(map(len, _columns(figure, granularity)))


def _keys(area: Area, figure: Figure, granularity: float) -> Iterator[int]:
    """The fields that the area intersects: those of the box around it, then the exact test."""
    rows = _rows(figure, granularity)
    for columns in _columns(figure, granularity):
        single = len(rows) == 1 or len(columns) == 1
        # The circle or box in a strip of fields meets them all; parts of a shape can be apart.
        settled = single and (figure.kind is not Kind.SHAPE or len(rows) == len(columns))
        for row in rows:
            high = (row + _OFFSET) << _ROW_SHIFT
            for column in columns:
                if settled or _meets(area, figure.kind, row, column, granularity):
                    yield high + column + _OFFSET
    if figure.north >= 90.0:
        yield _NORTH_POLE
    if figure.south <= -90.0:
        yield _SOUTH_POLE


def _meets(area: Area, kind: Kind, row: int, column: int, granularity: float) -> bool:
    """Whether an area intersects a field; a hair is added, so never a false no."""
    if kind is Kind.BOX:
        return True
    side, hair = 1.0 / granularity, 1e-9
    south, west = row * side - hair, column * side - hair
    north, east = south + side + 2 * hair, west + side + 2 * hair
    if isinstance(area, Circle):
        return circle_reaches(area, south, west, north, east)
    return area.intersects(
        Box(max(south, -90.0), max(west, -180.0), min(north, 90.0), min(east, 180.0))
    )


def _joined(found: list[Rows | list[int]]) -> Rows:
    if len(found) == 1:
        return np.asarray(found[0], dtype=np.intp)
    if not found:
        return np.empty(0, dtype=np.intp)
    return np.concatenate([np.asarray(part, dtype=np.intp) for part in found])
