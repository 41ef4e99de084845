"""The world: cities in regions in continents, and what their routers carry, by design.

- `flat`: stock routers, each knows every key that any client declares anywhere.
- `bounded`, `wide`: a gateway at each city passes up what its clients want, as a union of at most
  256 or 1,024 cells; regions pass these on to their continent, and down to a city only what others
  want there, again as such a union.
- `coarse`: as these, by cells of about 10 km instead of a bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from zonal_lab.scale.city import CityFigures

DESIGNS = ("flat", "bounded", "wide", "coarse")
LEVELS = ("city", "region", "continent")
CITIES, REGIONS, CONTINENTS = 1000, 50, 5
_ZIPF = 1.07
_TINY = 1e-9
MOVING = 0.3
"""The share of subscribers under way at a time."""
REMOTE = 0.02
"""The share whose area lies in another city, which is why anything leaves a city."""
PUBLISH_S = 10.0
"""A publisher publishes every so many seconds."""


class Load(NamedTuple):
    """What the busiest router of a level carries."""

    known: float
    """Keys in its table."""
    changes: float
    """Declarations and their ends a second."""
    matches: float
    """Publications a second that it must match."""
    cores: float
    """Of a processor that the measured costs make of it."""
    memory_mib: float


@dataclass(frozen=True)
class Prediction:
    """What the model says for a number of subscribers and a design."""

    subscribers: int
    design: str
    loads: dict[str, Load]
    spared: float
    """Per cent of the copies that flooding all cities would send and that need not travel."""


class CityCurve:
    """The figures of a city by its number of subscribers, between those that were simulated."""

    def __init__(self, figures: Sequence[CityFigures]) -> None:
        self._figures = sorted(figures, key=lambda each: each.subscribers)

    def at(
        self, subscribers: NDArray[np.float64], value: Callable[[CityFigures], float]
    ) -> NDArray[np.float64]:
        """A figure, on straight lines between logarithms; proportional below the smallest."""
        sizes = np.array([each.subscribers for each in self._figures], dtype=np.float64)
        values = np.array([value(each) for each in self._figures], dtype=np.float64)
        found = np.exp(np.interp(np.log(subscribers), np.log(sizes), np.log(values + _TINY)))
        small: NDArray[np.float64] = values[0] * subscribers / sizes[0]
        return np.where(subscribers < sizes[0], small, found - _TINY)


def city_sizes(subscribers: int) -> NDArray[np.float64]:
    """How many live in each city, the largest first."""
    weights = np.arange(1, CITIES + 1, dtype=np.float64) ** -_ZIPF
    sizes: NDArray[np.float64] = subscribers * weights / weights.sum()
    return sizes


def predict(
    subscribers: int,
    design: str,
    *,
    publishers: int,
    curve: CityCurve,
    an_hour: float,
    cost_of_change_s: Callable[[float], float],
    cost_of_match_s: Callable[[float], float],
    bytes_a_key: float,
) -> Prediction:
    """What the busiest router of each level carries; costs by what the router knows."""
    sizes = city_sizes(subscribers)
    publish = publishers / PUBLISH_S * sizes / sizes.sum()
    way = "distinct" if design == "flat" else design
    known, up, down, own, upward, leaves = (
        curve.at(share * sizes, value)
        for share, value in (
            (1, lambda city: city.distinct),
            (1, lambda city: _up(city, design)),
            # Those who want what happens in a city and live elsewhere decide what leaves it.
            (REMOTE, lambda city: _up(city, design)),
            (1, lambda city: city.own_changes),
            (1, lambda city: city.changes[way]),
            (REMOTE, lambda city: city.let_through[way]),
        )
    )
    moves = MOVING * sizes * an_hour / 3600
    own, upward, leaves = own * moves, upward * moves, leaves * publish
    if design == "flat":
        table = dict.fromkeys(LEVELS, float(known.sum()))
        changes = {level: float(upward.sum()) for level in LEVELS}
        changes["city"] += float(own[0])
    else:
        table = {"city": float(known[0] + down[0]), **_above(up + down)}
        changes = {"city": float(own[0] + REMOTE * upward[0]), **_above(upward * (1 + REMOTE))}
    # What leaves a city is matched on its way up, and once more on its way down.
    matches = {"city": float(publish[0] + leaves[0]), **_above(2 * leaves)}
    loads = {
        level: Load(
            table[level],
            changes[level],
            matches[level],
            changes[level] * cost_of_change_s(table[level])
            + matches[level] * cost_of_match_s(table[level]),
            table[level] * bytes_a_key / 2**20,
        )
        for level in LEVELS
    }
    flooded = publish.sum() * (CITIES - 1)
    return Prediction(subscribers, design, loads, float(100 * (1 - leaves.sum() / flooded)))


def _up(city: CityFigures, design: str) -> float:
    if design == "flat":
        return city.distinct
    return city.coarse if design == "coarse" else city.union[design]


def _above(values: NDArray[np.float64]) -> dict[str, float]:
    """The sum of a figure over the cities of the largest region and of the largest continent."""
    region = np.arange(CITIES) % REGIONS
    sums = {"region": (region, REGIONS), "continent": (region % CONTINENTS, CONTINENTS)}
    return {
        level: float(np.bincount(groups, weights=values, minlength=count).max())
        for level, (groups, count) in sums.items()
    }
