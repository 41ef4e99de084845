"""Where one who subscribes listens: its area, which may follow it, and what that asks for."""

from __future__ import annotations

from zonal.geo import Area, Circle, Everywhere, Point
from zonal.keys import Role
from zonal.session.given import check_length
from zonal.session.wish import Wish

OWN_MARGIN_M = 100.0
"""How far one moves before its own place is declared anew, unless asked otherwise."""
_ROUNDING_M = 1.0
MOVES_A_RADIUS, MOVES_OF_KEPT_CELLS = 32, 64
"""How often what follows is declared anew while it moves by its radius: more often where that
keeps most of the keys."""
_ANNOUNCED_AHEAD = 2
"""What is announced reaches so many times as far beyond what follows: until senders have heard of
the next area, which takes a network's time and theirs, the last one still has to do."""
_CLOSELY, _STILL_CLOSELY = 256.0, 64.0
"""So many messages from beside the area, while it moves by its radius, are worth close covers: a
key that is declared costs routers as much as some eight messages."""
_PLACES_A_RADIUS, _PLACES_A_RADIUS_CLOSELY = 4, 8
_PLACE_OF_MARGIN = 2


class Scope:
    """The area of a subscription and the place of its subscriber, as they are now.

    What has to be declared (`wish`) includes a margin, so that small moves declare nothing.

    Args:
        area: where messages come from; a circle without a centre follows the subscriber, None is
            the whole network.
        own: where the subscriber is; None: not known.
        fenced: whether messages with a geofence are heard wherever it is.
        margin_m: how far it moves before its area is declared anew; by default the radius over
            `moves_a_radius`.
        announced: whether senders have to be told of the area, since routers cannot match it.
        moves: whether the subscriber is known to move: what follows it has few keys from the
            first on, until much comes from beside it.
        own_margin_m: the same for its own place.
    """

    def __init__(
        self,
        area: Area | None,
        own: Point | None,
        *,
        fenced: bool = False,
        margin_m: float | None = None,
        own_margin_m: float = OWN_MARGIN_M,
        moves_a_radius: int = MOVES_A_RADIUS,
        announced: bool = False,
        moves: bool = False,
        role: Role = Role.SUBSCRIBER,
    ) -> None:
        self._wanted = area
        self.fenced = fenced
        check_length("margin_m", margin_m)
        if margin_m is None and isinstance(area, Circle) and area.is_ego_centric:
            margin_m = area.radius_m / moves_a_radius
        self._step_m = own_margin_m if margin_m is None else margin_m
        self._margin_m = self._step_m * (_ANNOUNCED_AHEAD if announced else 1)
        self._role = role
        self._declared_at: Point | None = None
        self._closely = not (moves and self.is_ego_centric)
        self._left_out = 0
        self.area: Area | None = area
        """The area now; an ego-centric one where it is at the moment."""
        self.wish: Wish | None = None
        """What has to be declared; None while the area follows somebody who is nowhere."""
        self._follow(own)
        self._declare(own)

    @property
    def is_ego_centric(self) -> bool:
        """Whether the area follows the subscriber."""
        return isinstance(self._wanted, Circle) and self._wanted.is_ego_centric

    @property
    def follows_position(self) -> bool:
        """Whether moving changes what is heard: the area, or the fences around."""
        return self.is_ego_centric or not self.fenced

    def move(self, own: Point | None, left_out: int = 0) -> None:
        """The subscriber is here now: the area follows at once, the wish beyond the margin.

        `left_out` is how many messages have come so far that were not from the area. Where they
        are many, the area is covered closely as it moves, otherwise with few keys.
        """
        self._follow(own)
        last = self._declared_at
        if own is None or last is None:
            if own is not last:
                self._declare(own)
            return
        moved_m = own.distance_m(last)
        if moved_m > self._step_m:
            self._weigh(left_out, moved_m)
            self._declare(own)
        elif self.is_ego_centric and not self._closely and left_out - self._left_out >= _CLOSELY:
            # It stays among many: covered anew where it was, all of it is close.
            self._closely, self._left_out = True, left_out
            self._declare(last)

    def _weigh(self, left_out: int, moved_m: float) -> None:
        """Whether what came from beside the area would have been worth more keys."""
        if isinstance(self._wanted, Circle) and self._wanted.is_ego_centric:
            a_radius = (left_out - self._left_out) * self._wanted.radius_m / moved_m
            self._closely = a_radius >= (_STILL_CLOSELY if self._closely else _CLOSELY)
        self._left_out = left_out

    def _follow(self, own: Point | None) -> None:
        if own is not None and isinstance(self._wanted, Circle) and self._wanted.is_ego_centric:
            self.area = self._wanted.at(own)

    def _declare(self, own: Point | None) -> None:
        self._declared_at = own
        area = self._wanted
        if isinstance(area, Circle) and area.is_ego_centric:
            if own is None:
                self.wish = None
                return
            area = _circle(own, area.radius_m + self._margin_m)
        around = None if own is None or self.fenced else _circle(own, self._margin_m + _ROUNDING_M)
        self.wish = Wish(area, around, self.fenced, self._role, self._closely, self._place_m())

    def _place_m(self) -> float:
        """How wide the cells of its own place are: it has fewer than its area."""
        if isinstance(self._wanted, Circle) and self._wanted.is_ego_centric:
            parts = _PLACES_A_RADIUS_CLOSELY if self._closely else _PLACES_A_RADIUS
            return max(self._wanted.radius_m / parts, _ROUNDING_M)
        return max(self._margin_m * _PLACE_OF_MARGIN, _ROUNDING_M)


def _circle(center: Point, radius_m: float) -> Area:
    try:
        return Circle(center, radius_m=radius_m)
    except ValueError:  # wider than the Earth
        return Everywhere()
