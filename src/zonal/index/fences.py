"""What a spatial structure has to offer to stand in for the raster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from zonal.geo import Point

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from zonal.geo import Area
    from zonal.index.columns import Rows

Pairs = tuple["Rows", "Rows"]
"""Numbers of places, in order, and beside each a row that wants what happens there."""


class Fences(Protocol):
    """Geofences by row number, for the subscriptions of one filter."""

    def __len__(self) -> int:
        """How many geofences there are."""

    def __iter__(self) -> Iterator[int]:
        """The rows."""

    def __contains__(self, row: object) -> bool:
        """Whether a row has a geofence here."""

    def add(self, row: int, area: Area) -> None:
        """Add a geofence under a row number that is not in use."""

    def update(self, row: int, area: Area) -> None:
        """Give a row another area."""

    def remove(self, row: int) -> None:
        """Remove a row."""

    def containing(self, point: Point) -> Rows | list[int]:
        """The rows whose geofence contains the point, each once, in any order."""

    def containing_each(self, lats: NDArray[np.float64], lons: NDArray[np.float64]) -> Pairs:
        """The same for many places."""
        return paired(
            [self.containing(point) for point in map(Point, lats.tolist(), lons.tolist())]
        )


def paired(found: Sequence[Rows | list[int]]) -> Pairs:
    """What was found at one place after the other."""
    numbers = np.arange(len(found)).repeat(np.array([len(rows) for rows in found], dtype=np.intp))
    return numbers, _in_a_row([np.asarray(rows, dtype=np.intp) for rows in found])


def merged(found: Sequence[Pairs]) -> Pairs:
    """What several have found at the same places."""
    if len(found) == 1:
        return found[0]
    numbers = _in_a_row([numbers for numbers, _ in found])
    rows = _in_a_row([rows for _, rows in found])
    order = np.argsort(numbers, kind="stable")
    return numbers[order], rows[order]


def _in_a_row(parts: list[Rows]) -> Rows:
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.intp)
