"""Bounded unions of S2 cells: few cells that contain many, at the price of some extra area.

Cells are handled by their ids: 64-bit numbers whose lowest set bit tells the level.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from zonal.geo import MAX_LEVEL, ancestor_ids

if TYPE_CHECKING:
    from collections.abc import Iterable

_STEP_BITS = 2
_FACE_SIZE = 1 << 2 * MAX_LEVEL
MIN_CELLS = 6
"""The cube has six faces, and no cell is larger than a face."""


def holder(cell: int, cells: Iterable[int]) -> int | None:
    """The member of a set (or mapping) of cells that contains a cell, perhaps itself."""
    if cell in cells:
        return cell
    return next((ancestor for ancestor in ancestor_ids(cell) if ancestor in cells), None)


def maximal(cells: Iterable[int]) -> set[int]:
    """The cells that no other cell of the collection contains."""
    every = set(cells)
    return {cell for cell in every if not any(up in every for up in ancestor_ids(cell))}


def bounded_union(cells: Iterable[int], max_cells: int) -> set[int]:
    """At most `max_cells` (but never fewer than 6 are promised) cells that contain all of these.

    From fine to coarse: at each level the cells below a common ancestor are merged, those first
    that cost the least extra area for each cell saved, until there are few enough.
    """
    union = maximal(cells)
    size = 1 << _STEP_BITS
    while len(union) > max(max_cells, MIN_CELLS) and size <= _FACE_SIZE:
        _merge_below(union, size, max(max_cells, MIN_CELLS))
        size <<= _STEP_BITS
    return union


def _merge_below(union: set[int], size: int, max_cells: int) -> None:
    """Merge cells into their ancestors of one size, cheapest first, as far as needed."""
    groups: dict[int, list[int]] = {}
    for cell in union:
        if cell & -cell < size:
            groups.setdefault((cell & -size) | size, []).append(cell)
    mergers = [(_price(size, parts), ancestor) for ancestor, parts in groups.items()]
    for price, ancestor in sorted(mergers):
        if len(union) <= max_cells or price == math.inf:
            return
        union.difference_update(groups[ancestor])
        union.add(ancestor)


def _price(size: int, parts: list[int]) -> float:
    """The extra area for each cell that merging saves."""
    if len(parts) == 1:
        return math.inf
    return (size - sum(cell & -cell for cell in parts)) / (len(parts) - 1)
