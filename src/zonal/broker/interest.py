"""What the clients of a broker want from elsewhere, as a bounded set of Zenoh key expressions.

For each topic filter the union of its subscribers' geofences is kept as few cells, and so are the
places where its subscribers are: other brokers' messages come only from where somebody listens, and
messages with a geofence only if somebody may be inside it. When all of it would be too much, detail
is given up step by step; what arrives is checked exactly in any case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal.broker.keymap import fits, key_of_filter
from zonal.geo import Circle
from zonal.keys import encodings
from zonal.session import Detail, Interest, Scope, Wish

if TYPE_CHECKING:
    from zonal.broker.session import ClientSession, ClientSubscription

KEY_BUDGET = 1000
"""Key expressions one broker declares at most."""
AREA_CELLS, CELLS_AN_AREA = 64, 8
PLACE_MARGIN_M = 500.0
"""How far a client moves before its place is declared anew."""
AREA_MARGIN_M = 50.0
"""… its ego-centric geofence, at least."""
_COUPLED = 8

Id = tuple[str, str]


class ClientsInterest:
    """Keeps the interest of all subscriptions while they come, move and go."""

    def __init__(self) -> None:
        self._interests: dict[str, Interest] = {}
        self._scopes: dict[Id, Scope] = {}
        self.changes = 0
        """Rises whenever `keys` may have changed."""

    def added(self, subscription: ClientSubscription) -> None:
        """A subscription was made."""
        key = _key(subscription)
        if key is None:
            return
        area, id_ = subscription.area, _id(subscription)
        margin_m = None
        if isinstance(area, Circle) and area.is_ego_centric:
            margin_m = max(area.radius_m / 4, AREA_MARGIN_M)
        here = subscription.session.location
        scope = Scope(area, here, margin_m=margin_m, own_margin_m=PLACE_MARGIN_M)
        self._scopes[id_] = scope
        self._want(key, id_, scope.wish)

    def removed(self, subscription: ClientSubscription) -> None:
        """A subscription is gone."""
        key, id_ = _key(subscription), _id(subscription)
        if key is None or self._scopes.pop(id_, None) is None:
            return
        self._want(key, id_, None)

    def moved(self, session: ClientSession) -> None:
        """A client is somewhere else."""
        for subscription in session.subscriptions.values():
            key, id_ = _key(subscription), _id(subscription)
            scope = self._scopes.get(id_)
            if key is not None and scope is not None:
                scope.move(session.location)
                self._want(key, id_, scope.wish)

    def _want(self, key: str, id_: Id, wish: Wish | None) -> None:
        interest = self._interests.get(key)
        if interest is None:
            interest = self._interests[key] = _interest_in(key)
        self.changes += interest.want(id_, wish)
        if interest.is_empty:
            del self._interests[key]

    def keys(self, budget: int = KEY_BUDGET) -> frozenset[str]:
        """The key expressions to declare: as precise as the budget allows."""
        for detail in Detail:
            found = frozenset(
                key for interest in self._interests.values() for key in interest.keys(detail)
            )
            if len(found) <= budget:
                return found
        everything = _interest_in("**")
        everything.want("", Wish(None, every_fence=True))
        return everything.keys()


def _interest_in(key: str) -> Interest:
    # Messages of encodings that announce areas go to announced areas only.
    kinds = [encoding for encoding in encodings() if not encoding.announces_areas]
    return Interest(
        key, kinds, area_cells=AREA_CELLS, cells_an_area=CELLS_AN_AREA, coupled=_COUPLED
    )


def _id(subscription: ClientSubscription) -> Id:
    return subscription.session.client_id, subscription.pattern


def _key(subscription: ClientSubscription) -> str | None:
    """The key expression of a filter; the broker's own topics and endless ones stay at home."""
    if subscription.filter.startswith("$"):
        return None
    key = key_of_filter(subscription.filter)
    return key if fits(key) else None
