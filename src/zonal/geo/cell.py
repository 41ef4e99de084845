"""S2 cells: a hierarchy of squares on the globe, four children each, named by 64-bit integers.

Only what needs S2's projection asks the S2 library; the hierarchy is arithmetic on the integers
(three bits of face, two bits a level, then a one).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import s2geometry as s2

from zonal.errors import GeometryError
from zonal.geo.area import Box
from zonal.geo.curve import middle_of
from zonal.geo.point import EARTH_RADIUS_M, GivenPoint, Point, as_point
from zonal.geo.polygon import Polygon

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zonal.geo.area import Area

MAX_LEVEL = 30
"""The level of leaf cells, about a centimetre wide; level 0 is one of six faces."""

_FACE_SIZE = 1 << 2 * MAX_LEVEL


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """One cell of S2's hierarchy."""

    id: int

    def __post_init__(self) -> None:
        lowest = self.id & -self.id
        if not (0 < self.id < 6 << 61 and lowest & 0x1555_5555_5555_5555):
            raise GeometryError(f"{self.id:#x} is not the id of an S2 cell")

    @classmethod
    def from_face(cls, face: int) -> Cell:
        """One of the six cells of level 0."""
        if not 0 <= face < 6:
            raise GeometryError(f"face {face} is not between 0 and 5")
        return cls((face << 61) | (1 << 60))

    @classmethod
    def from_token(cls, token: str) -> Cell:
        """The cell of a token (hexadecimal id without trailing zeros), as S2 writes it."""
        try:
            if not 0 < len(token) <= 16:
                raise ValueError("1 to 16 hexadecimal digits are needed")  # noqa: TRY301
            return cls(int(token, 16) << 4 * (16 - len(token)))
        except ValueError as error:
            raise GeometryError(f"{token!r} is not the token of an S2 cell: {error}") from error

    @property
    def token(self) -> str:
        """The id in hexadecimal without trailing zeros."""
        return f"{self.id:016x}".rstrip("0")

    @property
    def level(self) -> int:
        """0 for a face to 30 for a leaf."""
        return MAX_LEVEL - ((self.id & -self.id).bit_length() - 1) // 2

    @property
    def face(self) -> int:
        """The face of the cube: 0 to 5."""
        return self.id >> 61

    @property
    def range_min(self) -> int:
        """The smallest id of a leaf inside."""
        return self.id - (self.id & -self.id) + 1

    @property
    def range_max(self) -> int:
        """The greatest id of a leaf inside."""
        return self.id + (self.id & -self.id) - 1

    def parent(self, level: int) -> Cell:
        """The ancestor at this level (or the cell itself)."""
        if not 0 <= level <= self.level:
            raise GeometryError(f"level {level} is not between 0 and the cell's own {self.level}")
        lowest = 1 << 2 * (MAX_LEVEL - level)
        return Cell((self.id & -lowest) | lowest)

    def children(self, level: int | None = None) -> Iterator[Cell]:
        """The descendants at a level, in order along the curve; by default the next level."""
        level = self.level + 1 if level is None else level
        if not self.level <= level <= MAX_LEVEL:
            raise GeometryError(f"level {level} is not between {self.level} and {MAX_LEVEL}")
        lowest = 1 << 2 * (MAX_LEVEL - level)
        for id_ in range(self.range_min - 1 + lowest, self.range_max + 1, 2 * lowest):
            yield Cell(id_)

    def contains(self, other: Cell) -> bool:
        """Whether the other cell is this one or a descendant."""
        return self.range_min <= other.id <= self.range_max

    def intersects(self, other: Cell) -> bool:
        """Whether one of the two contains the other (cells that only touch do not count)."""
        return self.contains(other) or other.contains(self)

    @property
    def center(self) -> Point:
        """The cell's centre."""
        level, face = self.level, self.id >> 61
        position = self.id - (face << 61) >> 61 - 2 * level
        return Point(*middle_of(face, position, level))

    @property
    def vertices(self) -> tuple[Point, Point, Point, Point]:
        """The four corners, counter-clockwise; the edges between them are geodesics."""
        cell = s2.S2Cell(s2.S2CellId(self.id))
        corners = [s2.S2LatLng(cell.GetVertex(corner)) for corner in range(4)]
        a, b, c, d = (Point(c.lat().degrees(), c.lng().degrees()) for c in corners)
        return a, b, c, d

    @property
    def bounds(self) -> Box:
        """A box that contains the cell."""
        rect = s2.S2Cell(s2.S2CellId(self.id)).GetRectBound()
        return Box(
            max(-90.0, rect.lat_lo().degrees()),
            max(-180.0, rect.lng_lo().degrees()),
            min(90.0, rect.lat_hi().degrees()),
            min(180.0, rect.lng_hi().degrees()),
        )


def cell_id_of(point: GivenPoint, level: int = MAX_LEVEL) -> int:
    """The id of the cell of this level that contains the point."""
    if type(point) is not Point:
        point = as_point(point)
    leaf: int = s2.S2CellId(s2.S2LatLng.FromDegrees(point.lat, point.lon)).id()
    if level == MAX_LEVEL:
        return leaf
    lowest = 1 << 2 * (MAX_LEVEL - level)
    return (leaf & -lowest) | lowest


def cell_of(point: GivenPoint, level: int = MAX_LEVEL) -> Cell:
    """The cell of this level that contains the point."""
    if not 0 <= level <= MAX_LEVEL:
        raise GeometryError(f"level {level} is not between 0 and {MAX_LEVEL}")
    return Cell(cell_id_of(point, level))


def level_for_size(size_m: float, *, step: int = 1) -> int:
    """The finest level (a multiple of `step`) whose cells are everywhere at least this wide."""
    if not size_m > 0:
        raise GeometryError(f"a size must be a positive number of metres, not {size_m}")
    # S2's kMinWidth is 2/3 · √2 of a radian at level 0 and halves with every level.
    widest = 2 * math.sqrt(2) / 3 * EARTH_RADIUS_M
    level = math.floor(math.log2(widest / size_m)) if size_m < widest else 0
    return min(MAX_LEVEL, level) // step * step


def outline(cell: Cell, pieces: int = 16) -> Area:
    """The cell as a polygon whose edges follow the geodesics with straight pieces.

    A cell that contains or touches a pole is described by the box around it.
    """
    bounds = cell.bounds
    if bounds.width_deg >= 360.0 or abs(bounds.min_lat) == 90.0 or abs(bounds.max_lat) == 90.0:
        return bounds
    s2_cell = s2.S2Cell(s2.S2CellId(cell.id))
    corners = [s2_cell.GetVertex(corner) for corner in (0, 1, 2, 3, 0)]
    ring: list[tuple[float, float]] = []
    for start, end in pairwise(corners):
        for step in range(pieces):
            place = s2.S2LatLng(s2.Interpolate(start, end, step / pieces))
            lat, lon = place.lat().degrees(), place.lng().degrees()
            if ring:  # go on from the last vertex, also across the antimeridian
                lon += 360.0 * round((ring[-1][1] - lon) / 360.0)
            ring.append((lat, lon))
    return Polygon((*ring, ring[0]))


def ancestor_ids(cell: int) -> Iterator[int]:
    """The ids of the cells that contain a cell, from its parent up to its face."""
    size = (cell & -cell) << 2
    while size <= _FACE_SIZE:
        yield (cell & -size) | size
        size <<= 2
