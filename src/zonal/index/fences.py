"""What a spatial structure has to offer to stand in for the raster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

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

    def containing(self, point: Point) -> Rows | list[int]:
        """The rows whose geofence contains the point, each once, in any order."""
