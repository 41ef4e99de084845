"""The figures of a city of any size: between those simulated, and by laws beyond the largest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from zonal_lab.scale.city import BOUNDS, WORLD, Setting
from zonal_lab.scale.occupancy import OccupancyLaw, mean_levels

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from zonal_lab.scale.city_figures import CityFigures

    Numbers = NDArray[np.float64]
    Value = Callable[[CityFigures], float]

_TINY = 1e-9
LAW_FROM = 100
"""Subscribers of the smallest city whose covers the law takes, where there are larger ones."""


class CityCurve:
    """The figures of a city by its number of subscribers.

    Between simulated cities they lie on straight lines between logarithms, below the smallest they
    are proportional. Beyond the largest one, different keys and their changes follow the law of
    occupancy, the keys of unions the slope between the last two sizes, up to their bound; shares
    and a subscriber's own changes stay as they are.

    Args:
        figures: one of each size.
        setting: in which they were simulated.
    """

    def __init__(self, figures: Sequence[CityFigures], setting: Setting = WORLD) -> None:
        self._figures = sorted(figures, key=lambda each: each.subscribers)
        large = [each for each in self._figures if each.subscribers >= LAW_FROM]
        levels = mean_levels(each.levels for each in large or self._figures)
        self.law = OccupancyLaw(levels, setting.spread_m)
        self.largest = float(self._figures[-1].subscribers)

    def known(self, sizes: Numbers) -> Numbers:
        """Different keys that a city's subscribers declare."""
        return self._by_law(sizes, lambda city: city.together.keys["distinct"], self.law.distinct)

    def own_changes(self, sizes: Numbers) -> Numbers:
        """Keys that a subscriber declares and undeclares when it leaves its margin."""
        return self.at(sizes, lambda city: city.own_changes)

    def changes(self, sizes: Numbers, way: str) -> Numbers:
        """… that change for the next level."""
        found = self.at(sizes, lambda city: city.changes[way])
        if way == "distinct":
            return self._by_law(sizes, lambda city: city.changes[way], self.law.changes)
        return found

    def up(self, sizes: Numbers, way: str, away: float) -> Numbers:
        """Keys that a city passes up: of its own place, and of areas scattered elsewhere."""
        if way == "distinct":
            return self.known(sizes)
        home = self._sloping(sizes, lambda city: city.together.keys[way])
        each = self._figures[0]
        alone = each.together.keys["coarse"] if way == "coarse" else each.declared
        scattered = away * sizes * alone / each.subscribers
        return np.minimum(home + scattered, BOUNDS.get(way, np.inf))

    def down(self, sizes: Numbers, way: str) -> Numbers:
        """Keys that a city is told of others, who want what happens in it."""
        found = self._sloping(sizes, lambda city: city.elsewhere.keys[way])
        return np.minimum(found, BOUNDS.get(way, np.inf))

    def leaves(self, sizes: Numbers, way: str) -> Numbers:
        """The share of a city's publications that others want, as this way lets through."""
        return self.at(sizes, lambda city: city.elsewhere.let_through[way])

    def stays(self, sizes: Numbers, way: str) -> Numbers:
        """The share of a city's publications that its own subscribers' keys let through."""
        return self.at(sizes, lambda city: city.together.let_through[way])

    def wanting(self, sizes: Numbers) -> Numbers:
        """How many areas lie over the middle of a city, by their covers."""
        return self.law.areas_above(sizes)

    def at(self, sizes: Numbers, value: Value) -> Numbers:
        """A figure, as it is at the largest city beyond it."""
        xs = np.array([each.subscribers for each in self._figures], dtype=np.float64)
        ys = np.array([value(each) for each in self._figures], dtype=np.float64)
        found = np.exp(np.interp(np.log(sizes), np.log(xs), np.log(ys + _TINY))) - _TINY
        return np.where(sizes < xs[0], ys[0] * sizes / xs[0], found)

    def _sloping(self, sizes: Numbers, value: Value) -> Numbers:
        found = self.at(sizes, value)
        if len(self._figures) < 2:
            return found
        before, last = self._figures[-2:]
        width = np.log(last.subscribers / before.subscribers)
        slope = max(float(np.log((value(last) + _TINY) / (value(before) + _TINY)) / width), 0.0)
        return found * np.maximum(sizes / last.subscribers, 1.0) ** slope

    def _by_law(self, sizes: Numbers, value: Value, law: Callable[[Numbers], Numbers]) -> Numbers:
        """As simulated; beyond, the law, which is made to go through the largest city."""
        found = self.at(sizes, value)
        scale = value(self._figures[-1]) / law(np.array([self.largest]))
        return np.where(sizes > self.largest, scale * law(sizes), found)
