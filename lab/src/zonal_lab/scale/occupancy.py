"""How many cells the areas of a city have together: a law, with its saturation.

Subscribers are spread normally around a middle, so a level's cells are wanted by Poisson numbers
of areas, with the rate λ·exp(−r²/2s²) at the distance r. There are K = 2πs²/a cells of area a
where most areas lie; n areas with m cells of that level each make λ = n·m/K. Of these cells
K·Ein(λ) are wanted by somebody, with Ein(λ) = ∫ (1 − exp(−λe⁻ᵘ)) du over u from 0 on: as many as
are declared (n·m) while there are few, and K·(ln λ + 0.577) when nearly all are wanted: then only
the outskirts still grow. A declared cell is wanted by nobody else with the chance (1 − exp(−λ))/λ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

_STEPS = np.linspace(0, 60, 6001)
_FEW, _MANY = 1e-6, 1e5  # there Ein is the rate itself, and its logarithm with Euler's constant
_NEARLY_NONE = 1e-12


@dataclass(frozen=True)
class LevelCells:
    """Cells of one level in the covers of a city's areas.

    Attributes:
        level: of S2.
        an_area: how many the cover of an area has on average.
        a_move: how many come and go when a subscriber leaves its margin.
        offset_m2: the mean square of their distance from the middle of their area, by axis.
        cell_m2: the area of such a cell there.
    """

    level: int
    an_area: float
    a_move: float
    offset_m2: float
    cell_m2: float

    def rate(self, subscribers: Numbers, spread_m: Numbers) -> Numbers:
        """λ: how many areas want a cell in the middle of a city."""
        return subscribers * self.an_area / self.room(spread_m)

    def room(self, spread_m: Numbers) -> Numbers:
        """K: how many such cells there are where most areas of a city lie."""
        return 2 * math.pi * (spread_m**2 + self.offset_m2) / self.cell_m2


@dataclass(frozen=True)
class OccupancyLaw:
    """What a city of any size declares, from the covers of its areas.

    Attributes:
        levels: cells of the areas' covers.
        spread_m: the standard deviation of where subscribers are, by axis, of a city's size.
    """

    levels: Sequence[LevelCells]
    spread_m: Callable[[Numbers], Numbers]

    def distinct(self, subscribers: Numbers) -> Numbers:
        """How many different cells the subscribers of each city want."""
        spread_m = self.spread_m(subscribers)
        found = np.zeros_like(spread_m)
        for each in self.levels:
            found += each.room(spread_m) * entire_exponential(each.rate(subscribers, spread_m))
        return found

    def changes(self, subscribers: Numbers) -> Numbers:
        """How many cells come or go for all when one subscriber leaves its margin."""
        spread_m = self.spread_m(subscribers)
        found = np.zeros_like(spread_m)
        for each in self.levels:
            rates = np.maximum(each.rate(subscribers, spread_m), _NEARLY_NONE)
            found += each.a_move * -np.expm1(-rates) / rates
        return found

    def areas_above(self, subscribers: Numbers) -> Numbers:
        """How many areas lie over the middle of each city, by their covers."""
        spread_m = self.spread_m(subscribers)
        found = np.zeros_like(spread_m)
        for each in self.levels:
            found += each.rate(subscribers, spread_m)
        return found


def entire_exponential(rates: Numbers) -> Numbers:
    """Ein, the entire exponential integral, of rates from 0 on; to five digits."""
    logs, values = _table()
    few, many = np.maximum(rates, _NEARLY_NONE), np.maximum(rates, _MANY)
    between = np.exp(np.interp(np.log(few), logs, values))
    found: Numbers = np.where(rates > _MANY, np.log(many) + np.euler_gamma, between)
    return np.where(rates < _FEW, rates, found)


@lru_cache(maxsize=1)
def _table() -> tuple[Numbers, Numbers]:
    """Logarithms of rates and of their integrals."""
    logs = np.linspace(math.log(_FEW), math.log(_MANY), 1000)
    inner = -np.expm1(-np.exp(logs[:, None] - _STEPS[None, :]))
    step = _STEPS[1] - _STEPS[0]
    summed = step * (inner.sum(axis=1) - (inner[:, 0] + inner[:, -1]) / 2)
    return logs, np.log(summed)


def mean_levels(cities: Iterable[Sequence[LevelCells]]) -> list[LevelCells]:
    """The levels of several cities in one: means, a level that a city has not counts as none."""
    all_cities = [{each.level: each for each in levels} for levels in cities]
    return [
        _mean_level(level, [city.get(level) for city in all_cities])
        for level in sorted({level for city in all_cities for level in city})
    ]


def _mean_level(level: int, cities: Sequence[LevelCells | None]) -> LevelCells:
    found = [each for each in cities if each is not None]

    def mean(values: Sequence[float], of: int) -> float:
        return math.fsum(values) / of

    return LevelCells(
        level,
        mean([each.an_area for each in found], len(cities)),
        mean([each.a_move for each in found], len(cities)),
        mean([each.offset_m2 for each in found], len(found)),
        mean([each.cell_m2 for each in found], len(found)),
    )
