"""Sets of S2 cells as ranges of leaves: what is left of some when others are taken away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from zonal.geo import Cell

if TYPE_CHECKING:
    from collections.abc import Iterable

_FACES = tuple(Cell.from_face(face) for face in range(6))


@dataclass(frozen=True, slots=True)
class CellRanges:
    """A set of places that cells make up; ranges of leaf ids, in order and apart."""

    ranges: tuple[tuple[int, int], ...] = ()
    """The first id of each range, and the first one behind it."""

    @classmethod
    def of(cls, cells: Iterable[Cell]) -> CellRanges:
        """The places in these cells."""
        return cls(_joined((cell.range_min, cell.range_max + 2) for cell in cells))

    @property
    def is_everywhere(self) -> bool:
        """Whether no place is missing."""
        return self == EVERYWHERE

    def __or__(self, other: CellRanges) -> CellRanges:
        return CellRanges(_joined((*self.ranges, *other.ranges)))

    def __and__(self, other: CellRanges) -> CellRanges:
        return self - (EVERYWHERE - other)

    def __sub__(self, other: CellRanges) -> CellRanges:
        left = []
        for start, end in self.ranges:
            at = start
            for taken, until in other.ranges:
                if until <= at or taken >= end:
                    continue
                if taken > at:
                    left.append((at, taken))
                at = max(at, until)
            if at < end:
                left.append((at, end))
        return CellRanges(tuple(left))

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def cells(self) -> tuple[Cell, ...]:
        """The fewest cells that make it up."""
        found = []
        for start, end in self.ranges:
            at = start
            while at < end:
                cell = _widest(at, end)
                found.append(cell)
                at = cell.range_max + 2
        return tuple(found)


def _widest(start: int, end: int) -> Cell:
    """The largest cell whose leaves begin with `start` and end before `end`."""
    cell = Cell(start)
    while cell.level > 0:
        parent = cell.parent(cell.level - 1)
        if parent.range_min != start or parent.range_max + 2 > end:
            break
        cell = parent
    return cell


def _joined(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return tuple(joined)


EVERYWHERE = CellRanges.of(_FACES)
