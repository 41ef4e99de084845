"""What the clients of a broker want from elsewhere, as a bounded set of Zenoh key expressions.

For each topic filter the union of its subscribers' geofences is kept as few cells, and so are the
places where its subscribers are: other brokers' messages come only from where somebody listens, and
messages with a geofence only if somebody may be inside it. Of encodings that do not write areas as
cells all messages of the topic are asked for. When all of it would be too much, detail is given up
step by step; what arrives is checked exactly in any case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from zonal.broker.geocontext import follows
from zonal.broker.keymap import fits, key_of_filter
from zonal.geo import Area, Cell, Circle, Everywhere, Point
from zonal.index import InterestCover
from zonal.keys import EVERY_FENCE, cell_keys, encoding_key, encodings, fences_at, join

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from zonal.broker.session import Session
    from zonal.broker.subscription import Subscription
    from zonal.keys import Encoding

KEY_BUDGET = 1000
"""Key expressions one broker declares at most."""
AREA_CELLS, PLACE_CELLS = 64, 16
PLACE_MARGIN_M = 500.0
"""How far a client moves before its place is declared anew."""
AREA_MARGIN_M = 50.0
FENCED_AREAS = 8
"""Cells of areas up to which each is paired with each place for messages with a geofence."""
COARSE_LEVEL = 8
"""The level of cells, some 40 km wide, that are declared when finer ones would be too many."""

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

    def added(self, subscription: Subscription) -> None:
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

    def removed(self, subscription: Subscription) -> None:
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

    def moved(self, session: Session) -> None:
        """A client is somewhere else."""
        for subscription in session.subscriptions.values():
            key = _key(subscription)
            wish = self._wishes.get(key) if key is not None else None
            if wish is not None:
                self._place(wish, subscription)

    def _place(self, wish: Wish, subscription: Subscription) -> None:
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
        shared = [encoding for encoding in _routed() if encoding.cell_level is not None]
        others = (frozenset(_of_topics(self._wishes)), frozenset(_of_all(self._wishes)))
        for detail in (_exact, _coarse, _topics, _roots):
            found = frozenset(key for each in self._wishes.items() for key in detail(*each, shared))
            for more in others:
                if len(found) + len(more) <= budget:
                    return found | more
        return frozenset(_everything("**", _routed(), plain=True))


def _id(subscription: Subscription) -> Id:
    return subscription.session.client_id, subscription.pattern


def _key(subscription: Subscription) -> str | None:
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


def _routed() -> list[Encoding]:
    """The encodings whose messages reach whoever names the topic; `json` sends to shapes only."""
    return [encoding for encoding in encodings() if not encoding.announces_areas]


def _exact(key: str, wish: Wish, shared: list[Encoding]) -> Iterator[str]:
    """Every cell of the areas, and every pair of place and area for messages with a geofence."""
    areas = wish.areas.cells
    yield from _keys(key, wish, areas, wish.places.cells, shared, pairs=len(areas) <= FENCED_AREAS)


def _coarse(key: str, wish: Wish, shared: list[Encoding]) -> Iterator[str]:
    """Cells of the areas, but geofences from anywhere, and only to the wider surroundings."""
    areas, places = _wider(wish.areas.cells), _wider(wish.places.cells)
    yield from _keys(key, wish, areas, places, shared, pairs=False)


def _wider(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    return tuple(sorted({cell.parent(min(cell.level, COARSE_LEVEL)) for cell in cells}))


def _keys(
    key: str,
    wish: Wish,
    areas: tuple[Cell, ...],
    places: tuple[Cell, ...],
    shared: list[Encoding],
    *,
    pairs: bool,
) -> Iterator[str]:
    """`pairs`: fenced messages from the areas only, not from anywhere."""
    fences = fences_at(places)
    if wish.anywhere:
        yield key
        yield from (join(key, fence) for fence in fences)
    for encoding in shared:
        if wish.anywhere:
            yield encoding_key(key, encoding)
        else:
            yield from cell_keys(key, areas, encoding)
        if pairs and not wish.anywhere:
            yield from cell_keys(key, areas, encoding, fences)
        else:
            yield from (encoding_key(key, encoding, fence) for fence in fences)


def _topics(key: str, wish: Wish, shared: list[Encoding]) -> Iterator[str]:
    """Topics only, places left out."""
    yield from _everything(key, shared, plain=bool(wish.anywhere))


def _roots(key: str, wish: Wish, shared: list[Encoding]) -> Iterator[str]:
    """The first level of each topic."""
    root = key.partition("/")[0]
    whole = "**" if "*" in root else f"{root}/**"
    yield from _everything(whole, shared, plain=bool(wish.anywhere))


def _everything(key: str, kinds: list[Encoding], *, plain: bool) -> Iterator[str]:
    if plain:
        yield key
        yield join(key, EVERY_FENCE)
    for encoding in kinds:
        yield encoding_key(key, encoding)
        yield encoding_key(key, encoding, EVERY_FENCE)


def _of_topics(keys: Collection[str]) -> Iterator[str]:
    """All messages of the topics in the encodings that do not write areas as cells."""
    kinds = [encoding for encoding in _routed() if encoding.cell_level is None]
    for key in keys:
        yield from _everything(key, kinds, plain=False)


def _of_all(keys: Collection[str]) -> Iterator[str]:
    """The same of all topics, if there are any."""
    yield from _of_topics(["**"] if keys else [])
