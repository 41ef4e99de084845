"""Where a subscriber listens: its area, which may follow the position, and what that asks of the
network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal.geo import Area, Circle, Everywhere, Point
from zonal.keys import Role, refine
from zonal.session.interest import Wish

if TYPE_CHECKING:
    from zonal.session.geo_context import GeoContext
    from zonal.session.position import Position

_OWN_MARGIN_M = 100.0
_ROUNDING_M = 1.0


class Scope:
    """The area of a subscriber and its own place, as they are now.

    What has to be declared (`wish`) includes a margin, so that small moves declare nothing.

    Args:
        area: where messages come from; a circle without a centre follows the position, None is
            the whole network.
        position: where the session is.
        fenced: whether messages with a geofence are heard wherever the session is.
        margin_m: how far to move before declaring anew; by default a quarter of the radius.
    """

    def __init__(
        self,
        area: Area | None,
        position: Position,
        *,
        fenced: bool = False,
        margin_m: float | None = None,
        role: Role = Role.SUBSCRIBER,
    ) -> None:
        self._wanted = area
        self._position = position
        self.fenced = fenced
        self._margin_m = margin_m
        self._role = role
        self._declared_at: Point | None = None
        self.area: Area | None = area
        """The area now; an ego-centric one where it is at the moment."""
        self.wish = Wish(area)
        """What has to be declared."""
        self._place(self._own_position())

    @property
    def is_ego_centric(self) -> bool:
        """Whether the area follows the position."""
        return isinstance(self._wanted, Circle) and self._wanted.is_ego_centric

    @property
    def follows_position(self) -> bool:
        """Whether moving changes what is heard: the area, or the fences around."""
        return self.is_ego_centric or not self.fenced

    def move(self) -> None:
        """Follow the position: the exact area at once, the wish when it has left the margin."""
        own = self._own_position()
        if isinstance(self._wanted, Circle) and self.is_ego_centric and own is not None:
            self.area = self._wanted.at(own)
        if self._has_left_margin(own):
            self._place(own)

    def accepts(self, context: GeoContext | None) -> bool:
        """The second and third check: our area holds the place, the fence holds our own place."""
        if context is None:
            return self.area is None
        area = self.area
        if area is not None and (context.place is None or not refine(area, context.place)):
            return False
        if context.fence is None or self.fenced:
            return True
        own = self._position.last
        return own is not None and context.fence.contains(own)

    def _own_position(self) -> Point | None:
        if self.is_ego_centric:
            return self._position.current()
        return self._position.last if self._position.is_known else None

    def _has_left_margin(self, own: Point | None) -> bool:
        if own is None or self._declared_at is None:
            return own is not self._declared_at
        return own.distance_m(self._declared_at) > self._margin

    @property
    def _margin(self) -> float:
        if self._margin_m is not None:
            return self._margin_m
        if isinstance(self._wanted, Circle) and self._wanted.is_ego_centric:
            return self._wanted.radius_m / 4
        return _OWN_MARGIN_M

    def _place(self, own: Point | None) -> None:
        area = self._wanted
        if isinstance(area, Circle) and area.is_ego_centric:
            assert own is not None
            self.area = area.at(own)
            area = _circle(own, area.radius_m + self._margin)
        around = None if own is None or self.fenced else _circle(own, self._margin + _ROUNDING_M)
        self.wish = Wish(area, around, self.fenced, self._role)
        self._declared_at = own


def _circle(center: Point, radius_m: float) -> Area:
    try:
        return Circle(center, radius_m=radius_m)
    except ValueError:  # wider than the Earth
        return Everywhere()
