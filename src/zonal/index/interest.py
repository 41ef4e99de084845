"""The interest of many subscriptions as few cells: what one process has to declare.

A session with thousands of area subscriptions on one topic declares the union of their covers,
bounded and shared, and the index decides who gets what. This class keeps that union while areas
come, move and go, and tells the difference; declaring is somebody else's work.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from zonal.errors import GeometryError, SubscriptionError
from zonal.geo import MAX_LEVEL, Cell, Circle, cover, following_cover, level_for_size
from zonal.index.union import MIN_CELLS, bounded_union, holder

if TYPE_CHECKING:
    from collections.abc import Hashable

    from zonal.geo import Area

DEFAULT_MAX_CELLS = 256
DEFAULT_CELLS_AN_AREA = 48
_FEWEST_CELLS_AN_AREA = 8
_FEWEST_TO_FOLLOW = 16  # with fewer, an area that moves is covered anew each time
_KEPT = 3  # times the cells of an area that stays: those that are kept are not merged
_CLOSELY, _LOOSELY = 0.014, 0.25  # prices of cells where an area comes to
_WIDE = 6  # cells at first of one that is to move on, and need not be covered closely
_CROWD = 2  # times the room: what the areas' own covers may have together before they get coarser


class CoverChange(NamedTuple):
    """The difference to apply: first declare, then undeclare, so that nothing is missed."""

    declare: tuple[Cell, ...]
    undeclare: tuple[Cell, ...]

    def __bool__(self) -> bool:
        return bool(self.declare or self.undeclare)


class InterestCover:
    """At most `max_cells` cells that contain all areas, kept as areas come, move and go.

    While there is room, the union is that of the areas' own covers. When it is full, cells are
    merged into common ancestors, cheapest first, down to three quarters of the room, so that the
    next areas find space; when half of the areas have gone or all have moved, it is computed
    anew. The more areas there are, the fewer cells has the cover of a further one, since most of
    them would be merged. Not thread-safe: the caller has a lock around it and the declarations
    that follow.

    Args:
        max_cells: the bound; at least 6, the number of S2's faces.
        cells_an_area: the bound of each area's own cover; where there are many, down to 8.
        max_level: no cell is finer than this.
    """

    def __init__(
        self,
        max_cells: int = DEFAULT_MAX_CELLS,
        *,
        cells_an_area: int = DEFAULT_CELLS_AN_AREA,
        max_level: int = MAX_LEVEL,
    ) -> None:
        if max_cells < MIN_CELLS:
            raise GeometryError(f"max_cells {max_cells} is below {MIN_CELLS}, the number of faces")
        self._max_cells = max_cells
        self._cells_an_area = min(cells_an_area, max_cells)
        self._max_level = max_level
        self._areas: dict[Hashable, Area] = {}
        self._wide: set[Hashable] = set()
        self._covers: dict[Hashable, tuple[int, ...]] = {}
        self._wanted: dict[int, int] = {}  # cells of the areas' covers, and how many want them
        self._union: dict[int, int] = {}  # cells to declare, and how many wanted cells are inside
        self._added: set[int] = set()
        self._dropped: set[int] = set()
        self._areas_when_computed = 0
        self._peak = 0  # areas at most since then
        self._moves = 0  # since the union was last computed from the areas' own covers

    def __len__(self) -> int:
        return len(self._covers)

    def __contains__(self, id_: Hashable) -> bool:
        return id_ in self._covers

    @property
    def size(self) -> int:
        """How many cells have to be declared."""
        return len(self._union)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells that have to be declared, in order of their ids."""
        return tuple(map(Cell, sorted(self._union)))

    def add(
        self, id_: Hashable, area: Area, *, closely: bool = True, width_m: float | None = None
    ) -> None:
        """Include an area; its cells are at least so wide, if that is given.

        One that is to move, and need not be covered `closely`, has few cells from the first on:
        small ones would have to be followed by small ones.
        """
        if id_ in self._covers:
            raise SubscriptionError(f"area {id_!r} is in the cover; update() moves it")
        if closely or width_m is not None:
            cells = self._cover_of(area, width_m)
        else:
            self._wide.add(id_)
            cells = self._following((), area, area, closely=False)
        self._areas[id_], self._covers[id_] = area, cells
        self._peak = max(self._peak, len(self._covers))
        self._want(cells)

    def update(
        self,
        id_: Hashable,
        area: Area,
        *,
        closely: bool = True,
        width_m: float | None = None,
    ) -> None:
        """Move an area; what the old and the new one share is not touched.

        A circle keeps the cells that it still touches. New ones are small and many where it is to
        be covered `closely`, so that little comes from outside; otherwise few, so that it changes
        little as it moves on. Where it begins to be covered closely all of its cells are new.
        """
        old = self._known(id_)
        if width_m is None:
            kept = () if closely and id_ in self._wide else old
            new = self._following(kept, self._areas[id_], area, closely=closely)
        else:
            new = self._cover_of(area, width_m)
        (self._wide.discard if closely else self._wide.add)(id_)
        self._areas[id_] = area
        if new != old:
            self._covers[id_] = new
            self._want(new)
            self._unwant(old)
            self._moves += 1
            if self._moves >= len(self._covers):
                self._compute()

    def remove(self, id_: Hashable) -> None:
        """Leave an area out."""
        cells = self._known(id_)
        del self._areas[id_], self._covers[id_]
        self._wide.discard(id_)
        self._unwant(cells)
        if 2 * len(self._covers) <= self._peak:
            self._refine()

    def fit(self, cells_an_area: int) -> None:
        """Cover each area anew, with so many cells at the most."""
        before = self._fair_share()
        self._cells_an_area = min(cells_an_area, self._max_cells)
        if self._fair_share() != before:
            self._cover_anew()
            self._compute()

    def take_changes(self) -> CoverChange:
        """The net difference since the last call (many adds in a row make one small change)."""
        change = CoverChange(
            tuple(map(Cell, sorted(self._added))), tuple(map(Cell, sorted(self._dropped)))
        )
        self._added.clear()
        self._dropped.clear()
        return change

    def _known(self, id_: Hashable) -> tuple[int, ...]:
        try:
            return self._covers[id_]
        except KeyError:
            raise SubscriptionError(f"no area {id_!r} is in the cover") from None

    def _fair_share(self) -> int:
        """How many cells the cover of an area may have among as many as there are."""
        fair = _CROWD * self._max_cells // max(1, len(self._covers))
        return min(self._cells_an_area, max(fair, _FEWEST_CELLS_AN_AREA))

    def _cover_of(
        self, area: Area, width_m: float | None = None, most: int | None = None
    ) -> tuple[int, ...]:
        finest = self._max_level
        if width_m is not None:
            finest = min(finest, level_for_size(width_m))
        cells = cover(area, most or self._fair_share(), max_level=finest)
        return tuple(cell.id for cell in cells)

    def _following(
        self, cells: tuple[int, ...], last: Area, area: Area, *, closely: bool
    ) -> tuple[int, ...]:
        share = self._fair_share()
        if isinstance(last, Circle) and isinstance(area, Circle) and share >= _FEWEST_TO_FOLLOW:
            most = min(_KEPT * share, self._max_cells)
            followed = following_cover(
                cells,
                last,
                area,
                most,
                price=_CLOSELY if closely else _LOOSELY,
                max_level=self._max_level,
            )
            if followed is not None:
                return tuple(cell.id for cell in followed)
        return self._cover_of(area, most=share if closely else min(share, _WIDE))

    def _refine(self) -> None:
        """Half of the areas have gone: cover the others as finely as so few may be."""
        if self._fair_share() > _FEWEST_CELLS_AN_AREA:
            self._cover_anew()
        self._compute()

    def _cover_anew(self) -> None:
        self._covers = {
            id_: self._following((), area, area, closely=False)
            if id_ in self._wide
            else self._cover_of(area)
            for id_, area in self._areas.items()
        }
        self._wanted = Counter(cell for cells in self._covers.values() for cell in cells)

    def _want(self, cells: tuple[int, ...]) -> None:
        for cell in cells:
            number = self._wanted.get(cell, 0)
            self._wanted[cell] = number + 1
            if not number:
                held = holder(cell, self._union)
                if held is None:
                    self._swallow_smaller(cell)
                else:
                    self._union[held] += 1
        if len(self._union) > self._max_cells:
            self._merge()

    def _swallow_smaller(self, cell: int) -> None:
        """Put a cell into the union, instead of those that it contains."""
        reach = (cell & -cell) - 1
        smaller = [each for each in self._union if cell - reach <= each <= cell + reach]
        inside = sum(self._union[each] for each in smaller)
        for each in smaller:
            self._leave_union(each)
        self._union[cell] = inside + 1
        self._note(cell, self._added, self._dropped)

    def _unwant(self, cells: tuple[int, ...]) -> None:
        for cell in cells:
            self._wanted[cell] -= 1
            if not self._wanted[cell]:
                del self._wanted[cell]
                held = holder(cell, self._union)
                assert held is not None
                self._union[held] -= 1
                if not self._union[held]:
                    self._leave_union(held)

    def _merge(self) -> None:
        """Make room: merge the union itself, or compute it anew when areas have doubled."""
        if len(self._covers) >= 2 * self._areas_when_computed:
            self._compute()
        else:
            self._replace(self._union)

    def _compute(self) -> None:
        """Compute the union from the areas' own covers: dearer, but without old compromises."""
        self._areas_when_computed = self._peak = len(self._covers)
        self._moves = 0
        self._replace(dict.fromkeys(self._wanted, 1))

    def _replace(self, cells: dict[int, int]) -> None:
        room = self._max_cells * 3 // 4
        union = bounded_union(cells, room if len(cells) > self._max_cells else self._max_cells)
        inside = dict.fromkeys(union, 0)
        for cell, number in cells.items():
            held = holder(cell, inside)
            assert held is not None
            inside[held] += number
        for cell in union - self._union.keys():
            self._note(cell, self._added, self._dropped)
        for cell in self._union.keys() - union:
            self._note(cell, self._dropped, self._added)
        self._union = inside

    def _leave_union(self, cell: int) -> None:
        del self._union[cell]
        self._note(cell, self._dropped, self._added)

    @staticmethod
    def _note(cell: int, into: set[int], out_of: set[int]) -> None:
        """Remember a change, or that an earlier one was undone."""
        if cell in out_of:
            out_of.remove(cell)
        else:
            into.add(cell)
