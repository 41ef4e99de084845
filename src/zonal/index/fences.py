"""What a spatial structure has to offer to stand in for the raster, and the plainest one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zonal.geo import Area, Point
    from zonal.index.columns import Rows


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

    def containing(self, point: Point) -> Rows:
        """The rows whose geofence contains the point, each once, in any order."""


class LinearFences:
    """A list that is read from end to end: no structure, and the yardstick of the others."""

    def __init__(self) -> None:
        self._areas: dict[int, Area] = {}

    def __len__(self) -> int:
        return len(self._areas)

    def __iter__(self) -> Iterator[int]:
        return iter(self._areas)

    def __contains__(self, row: object) -> bool:
        return row in self._areas

    def add(self, row: int, area: Area) -> None:
        """Add a geofence."""
        self._areas[row] = area

    update = add

    def remove(self, row: int) -> None:
        """Remove a row."""
        del self._areas[row]

    def containing(self, point: Point) -> Rows:
        """Ask every area."""
        rows = [row for row, area in self._areas.items() if area.contains(point)]
        return np.array(rows, dtype=np.intp)
