"""Covers of MGRS squares for a circle that moves: what is declared is kept while it serves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from zonal.geo import TileSpot, new_tiles
from zonal.keys.mgrs_cover import (
    DEEPEST,
    PARTS,
    SQUARES,
    Disk,
    Frame,
    height_of,
    width_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_DEARER, _DEAREST = 4.0, 64.0


class Block(NamedTuple):
    """A square (of an even depth) or a column of ten of them (of an odd one), in metres."""

    zone: str
    depth: int
    east: int
    north: int

    @property
    def width(self) -> int:
        """From west to east."""
        return width_of(self.depth)

    @property
    def height(self) -> int:
        """From south to north."""
        return height_of(self.depth)

    def on_grid(self) -> Block:
        """The block of its depth that its corner lies in."""
        width, height = self.width, self.height
        east, north = self.east // width * width, self.north // height * height
        return Block(self.zone, self.depth, east, north)

    def above(self) -> Iterator[Block]:
        """The columns and squares around it, up to the one of 100 km."""
        block = self
        while block.depth > SQUARES:
            block = block._replace(depth=block.depth - 1).on_grid()
            yield block


class ZoneWay(NamedTuple):
    """Where a circle in a zone comes from, and where it is now: its frame's shape."""

    frame: Frame
    disk: Disk
    ahead: tuple[float, float]
    """The direction to east and north, of length 1."""


class _BlockTiles:
    def __init__(self, ways: Collection[ZoneWay]) -> None:
        self._ways = {way.frame.zone: way for way in ways}

    def parts(self, tile: Block) -> list[Block]:
        """The columns of a square, or the squares of a column."""
        if tile.depth >= DEEPEST:
            return []
        first = tile._replace(depth=tile.depth + 1)
        if tile.depth % 2:
            return [first._replace(north=tile.north + n * first.width) for n in range(PARTS)]
        return [first._replace(east=tile.east + n * first.width) for n in range(PARTS)]

    def touches(self, tile: Block) -> bool:
        """By the nearest point of it; only what lies in the zone."""
        way = self._ways.get(tile.zone)
        return way is not None and way.frame.has_part_of(
            tile.east, tile.north, tile.width, tile.height
        )

    def spot(self, tile: Block) -> TileSpot:
        """On the grid of its zone."""
        way = self._ways[tile.zone]
        x, y = way.ahead
        half_width, half_height = tile.width / 2, tile.height / 2
        east = tile.east + half_width - way.disk.easting
        north = tile.north + half_height - way.disk.northing
        return TileSpot(
            ahead_m=east * x + north * y,
            aside_m=east * y - north * x,
            along_m=half_width * abs(x) + half_height * abs(y),
            across_m=half_width * abs(y) + half_height * abs(x),
            area_m2=float(tile.width * tile.height),
        )


def following_blocks(
    ways: Collection[ZoneWay], blocks: Collection[Block], most: int, radius_m: float, price: float
) -> set[Block] | None:
    """At most so many blocks that contain a circle: those of these that it touches, and new ones.

    None where it would need more.
    """
    tiles = _BlockTiles(ways)
    kept = {block for block in blocks if tiles.touches(block)}
    above = {up for block in kept for up in block.above()}
    tops = [
        Block(way.frame.zone, SQUARES, east, north)
        for way in ways
        for east, north in way.frame.corners()
    ]
    while price < _DEAREST:
        every = kept.union(new_tiles(tiles, tops, kept, above, radius_m, price))
        if len(every) <= most:
            return every
        price *= _DEARER
    return None


def direction(before: tuple[float, float], now: tuple[float, float]) -> tuple[float, float]:
    """From one place to another, of length 1; to the east where they are the same."""
    east, north = now[0] - before[0], now[1] - before[1]
    length = math.hypot(east, north)
    return (east / length, north / length) if length else (1.0, 0.0)
