"""What is asked of a store: keys, an area, an age; and how a table finds that."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from zenoh import KeyExpr

from zonal.geo import Cell, Everywhere, Point, cover
from zonal.keys import refine
from zonal.store.thing import signed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zonal.geo import Area
    from zonal.store.thing import StoredThing

_CELLS = 24
_LAST = "\U0010ffff"


@dataclass(frozen=True)
class ThingFilter:
    """The things under these keys; with an area only those in it."""

    key: str
    """A key expression."""
    area: Area | None = None
    newer_than: int = -1
    """Only those with a time stamp (NTP64) above this one."""
    deleted: bool = False
    """Whether things that were deleted count, too."""

    @property
    def is_one_key(self) -> bool:
        """Whether the key has no wildcards."""
        return "*" not in self.key

    @property
    def key_range(self) -> tuple[str, str]:
        """From and to which key there may be wanted ones."""
        start = self.key.partition("*")[0].removesuffix("$")
        # `a/**` is also the key `a`.
        start = start.removesuffix("/")
        return start, start + _LAST

    @cached_property
    def _cells(self) -> tuple[Cell, ...]:
        """Cells that cover the area; none where that is everywhere."""
        if self.area is None or isinstance(self.area, Everywhere):
            return ()
        return cover(self.area, _CELLS)

    @cached_property
    def cell_ranges(self) -> list[tuple[int, int]]:
        """From and to which cells there may be wanted ones; empty where that is everywhere."""
        ranges: list[tuple[int, int]] = []
        for cell in self._cells:
            low, high = signed(cell.range_min), signed(cell.range_max)
            if ranges and ranges[-1][1] + 2 == low:  # numbers of leaves are odd
                ranges[-1] = ranges[-1][0], high
            else:
                ranges.append((low, high))
        return ranges

    @cached_property
    def larger_cells(self) -> list[int]:
        """The cells of blurred places that may reach into the area from outside."""
        larger: set[int] = set()
        for cell in self._cells:
            for level in range(cell.level - 1, -1, -1):
                number = signed(cell.parent(level).id)
                if number in larger:
                    break  # and so are those that hold it
                larger.add(number)
        ranges = self.cell_ranges
        return sorted(
            each for each in larger if not any(low <= each <= high for low, high in ranges)
        )

    def sift(self, things: Sequence[StoredThing]) -> list[StoredThing]:
        """Those of them that are wanted, exactly."""
        if not self.is_one_key:
            expression = KeyExpr(self.key)
            things = [each for each in things if expression.intersects(KeyExpr(each.key))]
        if self.area is None or not things:
            return list(things)
        inside = self.area.contains_many(
            [each.latitude or 0.0 for each in things], [each.longitude or 0.0 for each in things]
        )
        return [
            each
            for each, is_inside in zip(things, np.asarray(inside).tolist(), strict=True)
            if self._holds(each, is_inside=is_inside)
        ]

    def _holds(self, thing: StoredThing, *, is_inside: bool) -> bool:
        if thing.cell is None:
            return False
        if thing.cell & 1:  # a leaf: the place is exact
            return is_inside
        place = thing.place
        assert isinstance(place, Cell | Point)
        assert self.area is not None
        return refine(self.area, place)
