"""Covers of MGRS squares: from squares of 100 km down, split where it spares the most area.

A square is split into a hundred smaller ones or into ten columns, each of which is one expression:
`32T/NR/1$*` are the ten squares `10` to `19`. Splitting ends where the blocks together are little
larger than the area, or where there are as many as allowed.
"""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ENOUGH = 1.7
"""Declared area over wanted area below which no block is split any more."""
_FINEST_M = 10


class Disk(NamedTuple):
    """A circle on the grid of a zone, in metres, enlarged by what the projection distorts."""

    easting: float
    northing: float
    radius_m: float


class Frame(NamedTuple):
    """What has to be covered in one zone: a rectangle in metres, and a disk that narrows it."""

    zone: str
    easting: tuple[float, float]
    northing: tuple[float, float]
    disk: Disk | None = None

    def needs(self, block: Block) -> bool:
        """Whether the block has a point in common with what has to be covered."""
        east, north = block.east + block.width, block.north + block.height
        if block.east > self.easting[1] or east < self.easting[0]:
            return False
        if block.north > self.northing[1] or north < self.northing[0]:
            return False
        if self.disk is None:
            return True
        aside = max(block.east - self.disk.easting, self.disk.easting - east, 0.0)
        above = max(block.north - self.disk.northing, self.disk.northing - north, 0.0)
        return aside * aside + above * above <= self.disk.radius_m**2

    @property
    def wanted_m2(self) -> float:
        """The size of what has to be covered, where the disk lies in one zone."""
        if self.disk is not None:
            return math.pi * self.disk.radius_m**2
        return (self.easting[1] - self.easting[0]) * (self.northing[1] - self.northing[0])


class Block(NamedTuple):
    """A square of the grid, or a column of ten of them, in metres."""

    frame: int
    east: int
    north: int
    width: int
    height: int

    def parts(self, *, columns: bool) -> Iterator[Block]:
        """Its ten columns, or its squares of a tenth of its height."""
        size = self.height // 10
        for east in range(self.east, self.east + self.width, size):
            if columns:
                yield Block(self.frame, east, self.north, size, self.height)
            else:
                for north in range(self.north, self.north + self.height, size):
                    yield Block(self.frame, east, north, size, size)


def blocks_of(frames: list[Frame], start: Iterable[Block], most: int) -> list[Block]:
    """At most so many blocks that contain what the frames want."""
    wanted_m2 = max((frame.wanted_m2 for frame in frames), default=0.0)
    splits: list[tuple[float, Block, list[Block]]] = []
    settled: list[Block] = []
    declared_m2 = 0.0

    def consider(block: Block) -> None:
        parts = _best_parts(block, frames[block.frame])
        if parts is None:
            settled.append(block)
        else:
            heapq.heappush(splits, (-_spared(block, parts), block, parts))

    for block in start:
        declared_m2 += block.width * block.height
        consider(block)
    while splits and declared_m2 > _ENOUGH * wanted_m2:
        _, block, parts = heapq.heappop(splits)
        if len(settled) + len(splits) + len(parts) > most:
            settled.append(block)
            continue
        declared_m2 -= block.width * block.height
        for part in parts:
            declared_m2 += part.width * part.height
            consider(part)
    return settled + [block for _, block, _ in splits]


def _best_parts(block: Block, frame: Frame) -> list[Block] | None:
    """The needed parts of the way of splitting that spares more for each expression."""
    if block.height <= _FINEST_M:
        return None
    ways = (False,) if block.width < block.height else (True, False)
    found = [[part for part in block.parts(columns=way) if frame.needs(part)] for way in ways]
    parts = max(found, key=lambda parts: _spared(block, parts))
    return parts or None


def _spared(block: Block, parts: list[Block]) -> float:
    spared = block.width * block.height - sum(part.width * part.height for part in parts)
    return math.inf if len(parts) <= 1 else spared / (len(parts) - 1)
