"""What the clients of a broker want from elsewhere, as a bounded set of Zenoh key expressions.

For each topic filter the union of its subscribers' geofences is kept as few cells, and so are the
places where its subscribers are: other brokers' messages come only from where somebody listens, and
messages with a geofence only if somebody may be inside it. When all of it would be too much, detail
is given up step by step; what arrives is checked exactly in any case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from zonal.broker.geocontext import follows
from zonal.broker.keymap import fits, key_of_filter
from zonal.geo import Area, Cell, Circle, Everywhere, Point
from zonal.index import InterestCover
from zonal.keys import FENCE_CHUNK, encodings
from zonal.keys.s2 import KEY_LEVEL, path_of_cell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zonal.broker.session import ClientSession, ClientSubscription

KEY_BUDGET = 1000
"""Key expressions one broker declares at most."""
AREA_CELLS, PLACE_CELLS = 64, 16
PLACE_MARGIN_M = 500.0
"""How far a client moves before its place is declared anew."""
AREA_MARGIN_M = 50.0

Id = tuple[str, str]


class Wish:
    """What all subscribers of one filter want together."""

    __slots__ = ("anywhere", "areas", "places", "somewhere")

    def __init__(self) -> None:
        self.anywhere = 0
        """Subscriptions without a geofence."""
        self.somewhere = 0
        """Subscriptions with a geofence, placed or not."""
        self.areas = InterestCover(AREA_CELLS)
        self.places = InterestCover(PLACE_CELLS, cells_an_area=4)

    def is_empty(self) -> bool:
        """Whether nobody is left."""
        return not self.anywhere and not self.somewhere


class Declared(NamedTuple):
    """Where a moving thing was when it was last declared."""

    center: Point
    margin_m: float

    def holds(self, point: Point) -> bool:
        """Whether nothing needs to be declared for this point."""
        return self.center.distance_m(point) <= self.margin_m


class Interest:
    """Keeps the wishes of all subscriptions while they come, move and go."""

    def __init__(self) -> None:
        self._wishes: dict[str, Wish] = {}
        self._areas: dict[Id, Declared] = {}
        self._places: dict[Id, Declared] = {}
        self.changes = 0
        """Rises whenever `keys` may have changed."""

    def added(self, subscription: ClientSubscription) -> None:
        """A subscription was made."""
        key = _key(subscription)
        if key is None:
            return
        wish = self._wishes.setdefault(key, Wish())
        self.changes += 1
        if subscription.area is None:
            wish.anywhere += 1
        else:
            wish.somewhere += 1
            if not follows(subscription.area):
                wish.areas.add(_id(subscription), subscription.area)
        self._place(wish, subscription)

    def removed(self, subscription: ClientSubscription) -> None:
        """A subscription is gone."""
        key = _key(subscription)
        wish = self._wishes.get(key) if key is not None else None
        if wish is None or key is None:
            return
        self.changes += 1
        id_ = _id(subscription)
        if subscription.area is None:
            wish.anywhere -= 1
        else:
            wish.somewhere -= 1
        for cover, declared in ((wish.areas, self._areas), (wish.places, self._places)):
            declared.pop(id_, None)
            if id_ in cover:
                cover.remove(id_)
        if wish.is_empty():
            del self._wishes[key]

    def moved(self, session: ClientSession) -> None:
        """A client is somewhere else."""
        for subscription in session.subscriptions.values():
            key = _key(subscription)
            wish = self._wishes.get(key) if key is not None else None
            if wish is not None:
                self._place(wish, subscription)

    def _place(self, wish: Wish, subscription: ClientSubscription) -> None:
        """Declares where a subscriber is, and its ego-centric geofence, with a margin to move."""
        here = subscription.session.location
        if here is None:
            return
        id_ = _id(subscription)
        self._move(wish.places, self._places, id_, here, 0.0, PLACE_MARGIN_M)
        area = subscription.area
        if isinstance(area, Circle) and area.is_ego_centric:
            margin = max(area.radius_m / 4, AREA_MARGIN_M)
            self._move(wish.areas, self._areas, id_, here, area.radius_m, margin)

    def _move(self, cover: InterestCover, known: dict[Id, Declared], id_: Id, here: Point,
              radius_m: float, margin_m: float) -> None:  # fmt: skip
        declared = known.get(id_)
        if declared is not None and declared.holds(here):
            return
        self.changes += 1
        known[id_] = Declared(here, margin_m)
        wide = _circle(here, radius_m + margin_m)
        if id_ in cover:
            cover.update(id_, wide)
        else:
            cover.add(id_, wide)

    def keys(self, budget: int = KEY_BUDGET) -> frozenset[str]:
        """The key expressions to declare: as precise as the budget allows."""
        for detail in (_exact, _coarse, _topics, _roots):
            found = frozenset(key for each in self._wishes.items() for key in detail(*each))
            if len(found) <= budget:
                return found
        return frozenset(_everything("**", plain=True))


def _id(subscription: ClientSubscription) -> Id:
    return subscription.session.client_id, subscription.pattern


def _key(subscription: ClientSubscription) -> str | None:
    """The key expression of a filter; the broker's own topics and endless ones stay at home."""
    if subscription.filter.startswith("$"):
        return None
    key = key_of_filter(subscription.filter)
    return key if fits(key) else None


def _circle(center: Point, radius_m: float) -> Area:
    try:
        return Circle(center, radius_m=radius_m)
    except ValueError:  # wider than the Earth
        return Everywhere()


def _path(cell: Cell) -> str:
    # Keys name cells no finer than KEY_LEVEL; a finer one would match nothing.
    if cell.level > KEY_LEVEL:
        cell = cell.parent(KEY_LEVEL)
    return path_of_cell(cell)


def _exact(key: str, wish: Wish) -> Iterator[str]:
    """Every cell of the areas, and every pair of place and area for messages with a geofence."""
    areas = [f"{_path(cell)}/**" for cell in wish.areas.cells]
    yield from _keys(key, wish, areas, areas if len(areas) <= 8 else ["**"], wish.places.cells)


def _coarse(key: str, wish: Wish) -> Iterator[str]:
    """Cells of the areas, but geofences from anywhere, and only to the wider surroundings."""
    areas = sorted({f"{_path(cell.parent(min(cell.level, 8)))}/**" for cell in wish.areas.cells})
    places = {cell.parent(min(cell.level, 8)) for cell in wish.places.cells}
    yield from _keys(key, wish, areas, ["**"], tuple(places))


def _keys(
    key: str, wish: Wish, areas: list[str], fenced: list[str], places: tuple[Cell, ...]
) -> Iterator[str]:
    if wish.anywhere:
        yield key
        for prefix in located_prefixes():
            yield f"{key}/{prefix}/**"
        areas, fenced = [], ["**"]
    for area in areas:
        yield f"{key}/@s2/{area}"
    for place in places:
        to = f"{FENCE_CHUNK}/{_path(place)}/**"
        for area in fenced:
            yield f"{key}/@s2/{area}/{to}"
        if wish.anywhere:
            yield f"{key}/{to}"


def located_prefixes() -> list[str]:
    """The encodings whose messages reach whoever names the topic; `json` sends to shapes only."""
    return [encoding.prefix for encoding in encodings() if not encoding.announces_areas]


def _topics(key: str, wish: Wish) -> Iterator[str]:
    """Topics only, places left out."""
    yield from _everything(key, plain=bool(wish.anywhere))


def _roots(key: str, wish: Wish) -> Iterator[str]:
    """The first level of each topic."""
    root = key.partition("/")[0]
    whole = "**" if "*" in root else f"{root}/**"
    yield from _everything(whole, plain=bool(wish.anywhere))


def _everything(key: str, *, plain: bool) -> Iterator[str]:
    if plain:
        yield key
        yield f"{key}/{FENCE_CHUNK}/**"
    for prefix in located_prefixes() if plain else ["@s2"]:
        yield f"{key}/{prefix}/**"
    yield f"{key}/@s2/**/{FENCE_CHUNK}/**"
