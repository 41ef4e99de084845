"""Fences in keys: where a message is for, and where a receiver is.

Both are S2 cells behind the chunk `@to`, whatever encoding the place is written in. A message
with a producer geofence is put once for each cell of the fence's cover; a receiver declares the
cells around its own place. Two such expressions intersect when one cell contains the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal.geo import Cell, Everywhere, as_area, cover
from zonal.keys.marks import FENCE_CHUNK
from zonal.keys.s2 import KEY_LEVEL, path_of_cell

if TYPE_CHECKING:
    from collections.abc import Iterable

    from zonal.geo import GivenArea

FENCE_LEVEL = KEY_LEVEL
"""The finest level of cells in fences."""

EVERY_FENCE = f"{FENCE_CHUNK}/**"
"""What a receiver declares that hears fenced messages wherever it is itself."""

FENCE_CELLS = 8
"""How often a fenced message is put at the most: once for each cell of its fence."""


def fence_expressions(fence: GivenArea, most: int = FENCE_CELLS) -> tuple[str, ...]:
    """What a message with this producer geofence appends to its key: one for each cell.

    At most eight, and at most so many: a fence that needs more cells goes to every receiver.
    """
    fence = as_area(fence)
    if isinstance(fence, Everywhere):
        return (EVERY_FENCE,)
    most = min(most, FENCE_CELLS)
    cells = cover(fence, most, max_level=FENCE_LEVEL)
    return fences_at(cells) if len(cells) <= most else (EVERY_FENCE,)


def fences_at(cells: Iterable[Cell]) -> tuple[str, ...]:
    """What receivers declare that are somewhere in these cells: one for each."""
    return tuple(f"{FENCE_CHUNK}/{path_of_cell(_coarsened(cell))}/**" for cell in cells)


def _coarsened(cell: Cell) -> Cell:
    """The cell, or the one around it that keys can name."""
    return cell if cell.level <= FENCE_LEVEL else cell.parent(FENCE_LEVEL)
