"""What is wanted of one topic, by any number of those who want it, as the keys to declare for it.

The areas of all of them become a bounded union of cells, and so do their own places, around which
they hear messages with a geofence. Declaring the keys is somebody else's work.
"""

from __future__ import annotations

import enum
from collections import Counter
from typing import TYPE_CHECKING

from zonal.geo import Everywhere
from zonal.index import InterestCover
from zonal.keys import (
    EVERY_FENCE,
    area_keys,
    cell_keys,
    encoding_key,
    fences_at,
    join,
)
from zonal.session.area_keys import AreaKeys

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from zonal.geo import Area, Cell
    from zonal.keys import Encoding
    from zonal.session.wish import Wish

AREA_CELLS, CELLS_AN_AREA = 256, 48
PLACE_CELLS, CELLS_A_PLACE = 16, 4
_COARSE_LEVEL = 8


class Detail(enum.Enum):
    """How much the keys of an interest tell; less detail is fewer keys and more that comes."""

    CELLS = enum.auto()
    """The cells of all areas."""
    COARSE = enum.auto()
    """Cells of some 20 to 30 km at least."""
    TOPIC = enum.auto()
    """No places, only the topic."""
    ROOT = enum.auto()
    """The first chunk of the topic and everything below."""


class Interest:
    """The wishes of all who listen to a topic in some encodings.

    Args:
        topic: a key expression without a location.
        encodings: the ways in which places of its messages may be written.
        area_cells: the bound of all areas' cells together, and of one and a half times the keys of
            areas that are declared by themselves.
        cells_an_area: the bound of each area's own.
        coupled: with at most so many cells of areas, fenced messages from elsewhere are not asked
            for; it costs a key for each pair of area and place.
    """

    def __init__(
        self,
        topic: str,
        encodings: Iterable[Encoding],
        *,
        area_cells: int = AREA_CELLS,
        cells_an_area: int = CELLS_AN_AREA,
        coupled: int = 0,
    ) -> None:
        self.topic = topic
        kinds = tuple(encodings)
        self._by_cells = [each for each in kinds if each.cell_level is not None]
        self._by_areas = [
            each for each in kinds if each.cell_level is None and not each.announces_areas
        ]
        self._area_keys = AreaKeys(
            topic, self._by_areas, most=area_cells * 3 // 2, an_area=cells_an_area, room=area_cells
        )
        self._announcing = [each for each in kinds if each.announces_areas]
        self._cells_an_area = self._announced_cells = cells_an_area
        self._coupled = coupled
        level = min((each.cell_level or 0 for each in self._by_cells), default=0)
        self._areas = InterestCover(area_cells, cells_an_area=cells_an_area, max_level=level)
        self._places = InterestCover(PLACE_CELLS, cells_an_area=CELLS_A_PLACE)
        self._wishes: dict[Hashable, Wish] = {}
        self._anywhere = 0
        self._every_fence = 0
        self._announced: Counter[str] = Counter()

    @property
    def is_empty(self) -> bool:
        """Whether nobody is left."""
        return not self._wishes

    @property
    def cells_an_area(self) -> int:
        """The bound of each area's own cells."""
        return self._cells_an_area

    @property
    def keys_of_areas(self) -> int:
        """How many keys the areas come to; none where messages are wanted from anywhere."""
        if self._anywhere:
            return 0
        return len(self._by_cells) * self._areas.size + len(self._area_keys.keys)

    def fit(self, cells_an_area: int) -> bool:
        """Cover each area anew, with so many cells at the most; whether `keys` may have changed.

        What is announced stays as it is.
        """
        self._cells_an_area = cells_an_area
        self._areas.fit(cells_an_area)
        changed = self._area_keys.fit(cells_an_area)
        return bool(self._areas.take_changes()) or changed

    @property
    def announced(self) -> frozenset[str]:
        """Those of the keys that senders have to be told of."""
        return frozenset(self._announced)

    def want(self, who: Hashable, wish: Wish | None) -> bool:
        """Take a wish in, instead of an earlier one of its; whether `keys` may have changed."""
        old = self._wishes.get(who)
        if old == wish:
            return False
        before = (bool(self._anywhere), bool(self._every_fence), self.announced)
        self._wishes.pop(who, None)
        if wish is not None:
            self._wishes[who] = wish
            self._count(wish, 1)
        if old is not None:
            self._count(old, -1)
        area = wish.area if wish is not None and self._by_cells else None
        around = None if wish is None else wish.around
        closely, place_m = (True, None) if wish is None else (wish.closely, wish.place_m)
        changed = self._area_keys.want(who, wish)
        changed |= _include(self._areas, who, area, closely=closely)
        changed |= _include(self._places, who, around, width_m=place_m)
        return changed or before != (bool(self._anywhere), bool(self._every_fence), self.announced)

    def drop(self, who: Hashable) -> bool:
        """Forget a wish; whether `keys` may have changed."""
        return self.want(who, None)

    def _count(self, wish: Wish, by: int) -> None:
        self._anywhere += by * (wish.area is None)
        self._every_fence += by * wish.every_fence
        area = wish.area or Everywhere()
        for encoding in self._announcing:
            keys = area_keys(self.topic, area, encoding, wish.role, self._announced_cells)
            for key in keys:
                self._announced[key] += by
                if not self._announced[key]:
                    del self._announced[key]

    def keys(self, detail: Detail = Detail.CELLS) -> frozenset[str]:
        """What to declare; together these keys meet every message that somebody wants."""
        if self.is_empty:
            return frozenset()
        match detail:
            case Detail.CELLS:
                cells, fences = self._areas.cells, self._fences(self._places.cells)
                return frozenset(self._placed(cells, fences, coupled=len(cells) <= self._coupled))
            case Detail.COARSE:
                cells, places = _coarsened(self._areas.cells), _coarsened(self._places.cells)
                return frozenset(self._placed(cells, self._fences(places), coupled=False))
            case Detail.TOPIC:
                return frozenset(self._everything(self.topic, (EVERY_FENCE,)))
            case Detail.ROOT:
                root = self.topic.partition("/")[0]
                topic = "**" if "*" in root else f"{root}/**"
                return frozenset(self._everything(topic, (EVERY_FENCE,)))

    def _fences(self, places: tuple[Cell, ...]) -> tuple[str, ...]:
        return (EVERY_FENCE,) if self._every_fence else fences_at(places)

    def _placed(
        self, cells: tuple[Cell, ...], fences: tuple[str, ...], *, coupled: bool
    ) -> Iterator[str]:
        """Messages from the areas, and fenced ones to where we are."""
        if self._anywhere:
            yield from self._everything(self.topic, fences)
            return
        for encoding in self._by_cells:
            yield from cell_keys(self.topic, cells, encoding)
            if coupled:
                yield from cell_keys(self.topic, cells, encoding, fences)
            else:
                yield from (encoding_key(self.topic, encoding, fence) for fence in fences)
        for encoding in self._by_areas:
            if self._area_keys.is_whole:
                yield encoding_key(self.topic, encoding)
            yield from (encoding_key(self.topic, encoding, fence) for fence in fences)
        yield from self._area_keys.keys
        yield from self._announced_keys(fences)

    def _everything(self, topic: str, fences: tuple[str, ...]) -> Iterator[str]:
        """All messages of a topic, wherever they come from."""
        if self._anywhere:
            yield topic
            yield from (join(topic, fence) for fence in fences)
        for encoding in (*self._by_cells, *self._by_areas):
            yield encoding_key(topic, encoding)
            yield from (encoding_key(topic, encoding, fence) for fence in fences)
        yield from self._announced_keys(fences)

    def _announced_keys(self, fences: tuple[str, ...]) -> Iterator[str]:
        """Messages of encodings that announce areas come to the very keys that are announced."""
        for key in self._announced:
            yield key
            yield from (join(key, fence) for fence in fences)


def _include(
    cover: InterestCover,
    who: Hashable,
    area: Area | None,
    *,
    closely: bool = True,
    width_m: float | None = None,
) -> bool:
    """Include an area in a cover, or leave it out; whether the cells changed."""
    if area is not None and who in cover:
        cover.update(who, area, closely=closely, width_m=width_m)
    elif area is not None:
        cover.add(who, area, closely=closely, width_m=width_m)
    elif who in cover:
        cover.remove(who)
    return bool(cover.take_changes())


def _coarsened(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    return tuple(dict.fromkeys(cell.parent(min(cell.level, _COARSE_LEVEL)) for cell in cells))
