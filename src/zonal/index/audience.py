"""An audience: the subscriptions that share one topic filter, with and without a geofence."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from zonal.geo import Area, Circle, Everywhere
from zonal.index.fences import merged, paired
from zonal.index.handful import MOST, Handful

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from zonal.geo import Point
    from zonal.index.columns import Rows
    from zonal.index.fences import Fences, Pairs
    from zonal.index.filters import TopicFilter


class Audience:
    """The rows of one filter; `stamp` counts the changes of who is in it, before they happen."""

    __slots__ = ("_fences", "_open", "_open_rows", "_unplaced", "stamp", "topic_filter")

    def __init__(self, topic_filter: TopicFilter) -> None:
        self.topic_filter = topic_filter
        self.stamp = 0
        self._open: dict[int, None] = {}  # no geofence: every location is welcome
        self._unplaced: dict[int, None] = {}  # an ego-centric geofence without a place: none is
        self._fences: Fences | None = None
        self._open_rows: Rows | None = None

    def __len__(self) -> int:
        fenced = 0 if self._fences is None else len(self._fences)
        return len(self._open) + len(self._unplaced) + fenced

    def everyone(self) -> list[int]:
        """All rows, wherever a message comes from."""
        return [*self._open, *self._unplaced, *(self._fences or ())]

    def add(self, row: int, area: Area | None, make_fences: Callable[[], Fences]) -> None:
        """Let a subscription in."""
        self.stamp += 1
        if _is_placed(area):
            fences = self._fences
            if fences is None:
                fences = self._fences = Handful()
            elif type(fences) is Handful and len(fences) == MOST:
                many = self._fences = make_fences()
                for known, its in fences.areas.items():
                    many.add(known, its)
                fences = many
            fences.add(row, area)
        elif _is_open(area):
            self._open[row] = None
            self._open_rows = None
        else:
            self._unplaced[row] = None

    def move(self, row: int, area: Area | None, make_fences: Callable[[], Fences]) -> None:
        """Give a subscription another geofence."""
        fences = self._fences
        if _is_placed(area) and fences is not None and row in fences:
            fences.update(row, area)
        elif not (row in self._open and _is_open(area)):
            self.remove(row)
            self.add(row, area, make_fences)

    def remove(self, row: int) -> None:
        """Let a subscription go."""
        self.stamp += 1
        if row in self._open:
            del self._open[row]
            self._open_rows = None
        elif row in self._unplaced:
            del self._unplaced[row]
        else:
            assert self._fences is not None
            self._fences.remove(row)

    def listening_at(self, point: Point) -> Rows | list[int]:
        """The rows that want what happens at a place; a list where they are few."""
        if self._fences is None:
            return self._all_open()
        inside = self._fences.containing(point)
        if not self._open:
            return inside
        return np.concatenate([self._all_open(), np.asarray(inside, dtype=np.intp)])

    def listening_at_each(self, lats: NDArray[np.float64], lons: NDArray[np.float64]) -> Pairs:
        """The same for many places."""
        found = []
        if self._fences is not None:
            found.append(self._fences.containing_each(lats, lons))
        if self._open or not found:
            found.append(paired([self._all_open()] * len(lats)))
        return merged(found)

    def _all_open(self) -> Rows:
        if self._open_rows is None:
            self._open_rows = np.array(list(self._open), dtype=np.intp)
        return self._open_rows


def _is_placed(area: Area | None) -> TypeGuard[Area]:
    if isinstance(area, Circle):  # first, since it is usual, and other tests of classes are slow
        return area.center is not None
    return not _is_open(area)


def _is_open(area: Area | None) -> bool:
    return area is None or isinstance(area, Everywhere)
