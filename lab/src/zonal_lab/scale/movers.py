"""A subscriber of a small network: where its area is, where it lives, and what it declares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal_lab.scale.city import cells_of, left_margin

if TYPE_CHECKING:
    from zonal.geo import Circle
    from zonal_lab.scale.gateway import CellSubscriptions


class Mover:
    """A subscriber who may move.

    Args:
        area: margin included.
        at: the city in which it lies.
        home: the city at whose router it is declared.
    """

    def __init__(self, area: Circle, at: int, home: int) -> None:
        self.area, self.at, self.home = area, at, home
        self.cover = cells_of(area)
        self.client: CellSubscriptions | None = None

    def leave_margin(self, turn: float) -> frozenset[int]:
        """Go as far as the margin is wide; the cover until then."""
        old = self.cover
        self.area = left_margin(self.area, turn)
        self.cover = cells_of(self.area)
        return old
