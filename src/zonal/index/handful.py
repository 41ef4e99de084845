"""A handful of geofences: so few that asking each is faster than any structure.

Most filters that name a thing of their own have one subscription, and a raster for one geofence
takes longer to set up than everything else in the index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal.index.fences import Fences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zonal.geo import Area, Point

MOST = 2
"""From one more on a raster answers faster."""


class Handful(Fences):
    """Geofences by row number, asked one after the other."""

    __slots__ = ("areas",)

    def __init__(self) -> None:
        self.areas: dict[int, Area] = {}
        """By row."""

    def __len__(self) -> int:
        return len(self.areas)

    def __iter__(self) -> Iterator[int]:
        return iter(self.areas)

    def __contains__(self, row: object) -> bool:
        return row in self.areas

    def add(self, row: int, area: Area) -> None:
        """Add a geofence."""
        self.areas[row] = area

    update = add

    def remove(self, row: int) -> None:
        """Remove a row."""
        del self.areas[row]

    def containing(self, point: Point) -> list[int]:
        """The rows whose geofence contains the point."""
        return [row for row, area in self.areas.items() if area.contains(point)]
