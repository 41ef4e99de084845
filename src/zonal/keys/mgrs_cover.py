"""Covers of MGRS squares: those of several precisions, and columns of them.

A column of squares is one expression: `32T/NR/1$*` are the ten squares `10` to `19`, `32T/N$*` all
squares of 100 km of a letter. So a zone has columns, a column squares, and a square columns of
smaller ones; out of this tree, as deep as it is worth, the cover takes what fits.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import utm

from zonal.geo import CoverLayer, cheapest, compare_quadrangles

if TYPE_CHECKING:
    from collections.abc import Iterator

    import shapely
    from numpy.typing import NDArray

SQUARE_M = 100_000
SQUARES = 2  # the depth of squares of 100 km; behind zones and their columns
DEEPEST = 10  # squares of 10 m
PARTS = 10
_COLUMNS_A_ZONE = 6.7  # of 100 km, at the equator
_EXPLORED = 1.5  # blocks across the edge of the area at the deepest, for each one allowed


def width_of(depth: int) -> int:
    """Metres from west to east of a square or column of this depth, from 100 km on."""
    return int(SQUARE_M // 10 ** ((depth - 1) // 2))


def height_of(depth: int) -> int:
    """The same from south to north: a column is as high as ten squares."""
    return width_of(depth) * (PARTS if depth % 2 else 1)


class GridBlocks(NamedTuple):
    """Squares (of an even depth) or columns of ten of them (of an odd one), in metres."""

    depth: int
    frame: NDArray[np.int64]
    east: NDArray[np.int64]
    north: NDArray[np.int64]

    @property
    def width(self) -> int:
        """From west to east, from squares of 100 km on."""
        return width_of(self.depth)

    @property
    def height(self) -> int:
        """From south to north."""
        return height_of(self.depth)

    @property
    def size_m2(self) -> float:
        """Of all of them together; zones and their columns are as large as can be."""
        if self.depth < SQUARES and len(self.east):
            return math.inf
        return float(self.width * self.height * len(self.east))

    def taken(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> GridBlocks:
        """Those of them."""
        return GridBlocks(self.depth, self.frame[which], self.east[which], self.north[which])

    def parts(self) -> GridBlocks:
        """The columns of the squares, or the squares of the columns, those of one in a row."""
        below = GridBlocks(self.depth + 1, np.repeat(self.frame, PARTS), self.east, self.north)
        steps = np.arange(PARTS) * below.width
        east, north = np.repeat(self.east, PARTS), np.repeat(self.north, PARTS)
        moved = np.tile(steps, len(self.east))
        if self.depth % 2:
            return below._replace(east=east, north=north + moved)
        return below._replace(east=east + moved, north=north)


class Shape(Protocol):
    """What has to be covered in a zone."""

    def compare(self, blocks: GridBlocks) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether the blocks have a point of it; whether they lie in it."""


class Disk(NamedTuple):
    """A circle on the grid of a zone, in metres, enlarged by what the projection distorts."""

    easting: float
    northing: float
    radius_m: float

    def compare(self, blocks: GridBlocks) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """By the nearest and the farthest point of each."""
        east, north = blocks.east - self.easting, blocks.north - self.northing
        far_east, far_north = east + blocks.width, north + blocks.height
        aside = np.maximum(np.maximum(east, -far_east), 0.0)
        above = np.maximum(np.maximum(north, -far_north), 0.0)
        farthest = np.hypot(np.maximum(-east, far_east), np.maximum(-north, far_north))
        return np.hypot(aside, above) <= self.radius_m, farthest <= self.radius_m

    def reaches(self, east: float, north: float, width: float, height: float) -> bool:
        """Whether one block has a point of it."""
        aside = max(east - self.easting, self.easting - east - width, 0.0)
        above = max(north - self.northing, self.northing - north - height, 0.0)
        return math.hypot(aside, above) <= self.radius_m


class ZoneFigure(NamedTuple):
    """The part of a planar figure that lies in a zone."""

    figure: shapely.Geometry
    number: int
    is_north: bool
    margin_deg: float

    def compare(self, blocks: GridBlocks) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """By the corners of each on the globe."""
        east = blocks.east[:, np.newaxis] + np.array([0, 1, 1, 0]) * blocks.width
        north = blocks.north[:, np.newaxis] + np.array([0, 0, 1, 1]) * blocks.height
        lats, lons = utm.to_latlon(
            east.astype(float),
            north.astype(float),
            self.number,
            northern=self.is_north,
            strict=False,
        )
        return compare_quadrangles(self.figure, lats, lons, self.margin_deg)


class Frame(NamedTuple):
    """What has to be covered in one zone."""

    zone: str
    zone_m2: float
    easting: tuple[float, float] | None = None
    """The range in metres; None: the zone as a whole."""
    northing: tuple[float, float] | None = None
    shape: Shape | None = None

    def compare(self, blocks: GridBlocks) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether the blocks have a point of what is covered; whether splitting is of no use."""
        assert self.easting is not None
        assert self.northing is not None
        needed = (blocks.east <= self.easting[1]) & (blocks.east + blocks.width >= self.easting[0])
        needed &= blocks.north <= self.northing[1]
        needed &= blocks.north + blocks.height >= self.northing[0]
        inside = needed.copy()
        if self.shape is not None and needed.any():
            needed[needed], inside[inside] = self.shape.compare(blocks.taken(needed))
        return needed, inside & needed

    def has_part_of(self, east: float, north: float, width: float, height: float) -> bool:
        """Whether a block has a point of a circle that is covered; as `compare` has it."""
        assert self.easting is not None
        assert self.northing is not None
        assert isinstance(self.shape, Disk)
        low, high = self.easting
        south, end = self.northing
        if east > high or east + width < low or north > end or north + height < south:
            return False
        return self.shape.reaches(east, north, width, height)

    def corners(self) -> list[tuple[int, int]]:
        """Easting and northing of the squares of 100 km around what is covered."""
        squares = self.squares(0)
        return list(zip(squares.east.tolist(), squares.north.tolist(), strict=True))

    def squares(self, number: int) -> GridBlocks:
        """The squares of 100 km around what is covered."""
        if self.easting is None or self.northing is None:
            empty = np.zeros(0, np.int64)
            return GridBlocks(SQUARES, empty, empty, empty)
        columns, rows = (
            np.arange(math.floor(low / SQUARE_M), math.floor(high / SQUARE_M) + 1) * SQUARE_M
            for low, high in (self.easting, self.northing)
        )
        east, north = (each.ravel() for each in np.meshgrid(columns, rows, indexing="ij"))
        return GridBlocks(SQUARES, np.full(len(east), number), east, north)


def blocks_of(frames: list[Frame], most: int, enough_m2: float) -> Iterator[GridBlocks]:
    """At most so many blocks (unless there are more zones) that contain what the frames want.

    Fewer where these together are not larger than `enough_m2`. Blocks of depth 0 are zones, those
    of depth 1 their columns.
    """
    tree, layers = _top(frames)
    while tree[-1].depth < DEEPEST:
        across = np.flatnonzero(~layers[-1].is_inside)
        if not 0 < len(across) <= _EXPLORED * most:
            break
        parts = tree[-1].taken(across).parts()
        needed, inside = _compared(frames, parts)
        parents = np.repeat(across, PARTS)[needed]
        layers.append(_layer(parts.taken(needed), parents, len(tree[-1].east), inside[needed]))
        tree.append(parts.taken(needed))
    pairs = zip(tree, cheapest(layers, most, enough_m2), strict=True)
    return (blocks.taken(which) for blocks, which in pairs if which.any())


def _top(frames: list[Frame]) -> tuple[list[GridBlocks], list[CoverLayer]]:
    """Zones, their columns, and the squares of 100 km that are needed."""
    every = [frame.squares(number) for number, frame in enumerate(frames)]
    squares = GridBlocks(
        SQUARES, *map(np.concatenate, zip(*(each[1:] for each in every), strict=True))
    )
    needed, inside = _compared(frames, squares)
    squares, inside = squares.taken(needed), inside[needed]
    pairs, column_of = np.unique(
        np.stack([squares.frame, squares.east], axis=1), axis=0, return_inverse=True
    )
    columns = GridBlocks(1, pairs[:, 0], pairs[:, 1], np.zeros(len(pairs), np.int64))
    numbers = np.arange(len(frames))
    zones = GridBlocks(0, numbers, numbers * 0, numbers * 0)
    zone_m2 = np.array([frame.zone_m2 for frame in frames])
    is_whole = np.array([frame.easting is None for frame in frames])
    column_m2 = zone_m2[columns.frame] / _COLUMNS_A_ZONE
    never = np.zeros(len(pairs), np.bool_)
    return [zones, columns, squares], [
        CoverLayer(numbers * 0, 1, is_whole, zone_m2),
        CoverLayer(columns.frame, len(frames), never, column_m2),
        _layer(squares, column_of.ravel(), len(pairs), inside),
    ]


def _layer(
    blocks: GridBlocks, parents: NDArray[np.int64], above: int, inside: NDArray[np.bool_]
) -> CoverLayer:
    size = float(blocks.width * blocks.height)
    return CoverLayer(parents, above, inside, np.full(len(blocks.east), size))


def _compared(
    frames: list[Frame], blocks: GridBlocks
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    needed, inside = (np.zeros(len(blocks.east), np.bool_) for _ in range(2))
    for number in set(blocks.frame.tolist()):
        here = blocks.frame == number
        needed[here], inside[here] = frames[number].compare(blocks.taken(here))
    return needed, inside
