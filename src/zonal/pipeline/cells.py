"""S2 cell ids as columns hold them, and the arithmetic on them that Spark SQL can do too.

Ids are kept as signed 64-bit integers, because Parquet and Spark have no unsigned ones. A cell's
descendants are still one contiguous range: a face never straddles the sign.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from zonal.geo import MAX_LEVEL, Everywhere, cell_ids_of, cover

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from zonal.geo import Area


def cell_ids(lats: NDArray[np.float64], lons: NDArray[np.float64]) -> NDArray[np.int64]:
    """The signed ids of the leaf cells (level 30) that contain the points, given in degrees."""
    return cell_ids_of(lats, lons).view(np.int64)


def parent_sql(column: str, level: int) -> str:
    """The ancestors at a level of a column of ids, as a Spark SQL expression."""
    low = 1 << (2 * (MAX_LEVEL - level))  # the bit that ends every id of the level
    return f"(({column} & {-low}L) | {low}L)"


def signed(cell_id: int) -> int:
    """An unsigned id as the signed number that columns hold."""
    return cell_id - (1 << 64) if cell_id >= 1 << 63 else cell_id


def unsigned(cell_id: int) -> int:
    """The signed number of a column as S2's own unsigned id."""
    return cell_id & ((1 << 64) - 1)


def cover_ranges(area: Area | None, max_cells: int = 16) -> list[tuple[int, int]]:
    """The ranges of leaf cells that hold an area; none for everywhere."""
    if area is None or isinstance(area, Everywhere):
        return []
    return [leaf_range(cell.id) for cell in cover(area, max_cells=max_cells)]


def leaf_range(cell_id: int) -> tuple[int, int]:
    """The first and last leaf id within a cell, both signed and included."""
    below = (cell_id & -cell_id) - 1
    return signed(unsigned(cell_id - below)), signed(unsigned(cell_id + below))


def joined_ranges(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same leaves in as few ranges as can be, in order."""
    joined: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if joined and low <= joined[-1][1] + 2:  # leaves have odd numbers
            joined[-1] = (joined[-1][0], max(joined[-1][1], high))
        else:
            joined.append((low, high))
    return joined
