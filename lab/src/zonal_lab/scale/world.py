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

from zonal_lab.scale.city import WORLD

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from zonal_lab.scale.curve import CityCurve

    Numbers = NDArray[np.float64]

DESIGNS = ("flat", "bounded", "wide", "coarse")
LEVELS = ("city", "region", "continent")
CITIES, REGIONS, CONTINENTS = 1000, 50, 5
_ZIPF = 1.07
MOVING = 0.3
"""The share of subscribers under way at a time."""
PUBLISH_S = 10.0
"""A publisher publishes every so many seconds."""
PAYLOAD_BYTES = 250
"""Of a publication."""
KEY_BYTES = 51
"""Of a topic and a place in S2, to a centimetre: `city/airquality/@s2/…`."""
HEADER_BYTES = 77
"""Ethernet, IP, TCP, and what Zenoh adds, of a message alone in its segment (`capture`)."""
MESSAGE_BYTES = PAYLOAD_BYTES + KEY_BYTES + HEADER_BYTES


@dataclass(frozen=True)
class World:
    """Cities of a model.

    Attributes:
        sizes: subscribers of each city, the largest first.
        publications: that each city's publishers make a second.
        moves: how many times a second one of a city's subscribers leaves its margin.
        away: the share of subscribers whose area lies in another city: why anything leaves one.
        regions: among which cities are dealt in turn; 1: there is nothing above the region.
        continents: among which regions are.
    """

    sizes: Numbers
    publications: Numbers
    moves: Numbers
    away: float = WORLD.away
    regions: int = REGIONS
    continents: int = CONTINENTS


class Costs(NamedTuple):
    """What a router needs, by the keys that it knows."""

    change_s: Callable[[float], float]
    match_s: Callable[[float], float]
    bytes_a_key: float


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


class Travel(NamedTuple):
    """Bytes a second on the links above the routers of a level, both ways, all together."""

    flooded: float
    """If every publication went up, and down to all others."""
    sent: float

    @property
    def spared(self) -> float:
        """What need not travel."""
        return self.flooded - self.sent


@dataclass(frozen=True)
class Prediction:
    """What the model says for a number of subscribers and a design."""

    subscribers: int
    design: str
    loads: dict[str, Load]
    travel: dict[str, Travel]


def city_sizes(subscribers: int) -> Numbers:
    """How many live in each city, the largest first."""
    weights = np.arange(1, CITIES + 1, dtype=np.float64) ** -_ZIPF
    sizes: Numbers = subscribers * weights / weights.sum()
    return sizes


def earth(subscribers: int, publishers: int, an_hour: float) -> World:
    """A thousand cities; publishers live where subscribers do."""
    sizes = city_sizes(subscribers)
    return World(
        sizes, publishers / PUBLISH_S * sizes / sizes.sum(), MOVING * sizes * an_hour / 3600
    )


def predict(world: World, design: str, curve: CityCurve, costs: Costs) -> Prediction:
    """What the busiest router of each level carries, and what travels above them."""
    groups = _groups(world)
    flows = _Flows(world, curve, "distinct" if design == "flat" else design)
    tables, changes = _tables(world, design, curve, groups), _changes(world, design, curve, groups)
    loads = {}
    for level, of in groups.items():
        known, changed = float(tables[level].max()), float(changes[level].max())
        matched = float(flows.matched(of).max())
        busy = changed * costs.change_s(known) + matched * costs.match_s(known)
        loads[level] = Load(known, changed, matched, busy, known * costs.bytes_a_key / 2**20)
    return Prediction(round(world.sizes.sum()), design, loads, flows.travel(groups))


def _groups(world: World) -> dict[str, NDArray[np.int64]]:
    """Of each level, which router a city belongs to."""
    cities = np.arange(len(world.sizes))
    regions = cities % world.regions
    groups = {"city": cities, "region": regions, "continent": regions % world.continents}
    return dict(list(groups.items())[: 2 if world.regions == 1 else 3])


def _summed(values: Numbers, groups: NDArray[np.int64]) -> Numbers:
    return np.bincount(groups, weights=values).astype(np.float64)


def _tables(
    world: World, design: str, curve: CityCurve, groups: dict[str, NDArray[np.int64]]
) -> dict[str, Numbers]:
    """Keys of the routers of each level."""
    known = curve.known(world.sizes)
    if design == "flat":
        return dict.fromkeys(groups, known.sum(keepdims=True))
    up, down = curve.up(world.sizes, design, world.away), curve.down(world.sizes, design)
    return {
        level: known + down if level == "city" else _summed(up + down * _beyond(world, of), of)
        for level, of in groups.items()
    }


def _changes(
    world: World, design: str, curve: CityCurve, groups: dict[str, NDArray[np.int64]]
) -> dict[str, Numbers]:
    """Declarations and their ends a second at the routers of each level."""
    own = curve.own_changes(world.sizes) * world.moves
    upward = curve.changes(world.sizes, "distinct" if design == "flat" else design) * world.moves
    if design == "flat":
        return {
            level: own + (upward.sum() - upward) if level == "city" else upward.sum(keepdims=True)
            for level in groups
        }
    return {
        level: own + world.away * upward
        if level == "city"
        else _summed(upward * (1 + world.away * _beyond(world, of)), of)
        for level, of in groups.items()
    }


def _beyond(world: World, groups: NDArray[np.int64]) -> Numbers:
    """Of each city, the share of all others that live beyond its group."""
    shares = world.sizes / world.sizes.sum()
    found: Numbers = 1 - _summed(shares, groups)[groups]
    return found


class _Flows:
    """Where publications go that somebody elsewhere wants."""

    def __init__(self, world: World, curve: CityCurve, way: str) -> None:
        self._publications = world.publications
        self._leaving = curve.leaves(world.sizes, way) * world.publications
        self._weights = world.sizes / world.sizes.sum()
        # Areas of others over the middle of each city, by the weight of the city they live in.
        self._wanting = world.away * curve.wanting(world.sizes) / (1 - self._weights)

    def matched(self, groups: NDArray[np.int64]) -> Numbers:
        """Publications a second at the routers that these cities belong to, each once."""
        whole = len(groups) == groups.max() + 1
        own = self._publications if whole else self._leaving
        return _summed(own, groups) + self._arriving(groups)

    def _arriving(self, groups: NDArray[np.int64]) -> Numbers:
        """… that come from a city of another group: wanted by somebody of this one."""
        weights = _summed(self._weights, groups)
        wanted = reached(weights[:, None] * self._wanting[None, :]) * self._publications
        wanted[groups, np.arange(len(groups))] = 0  # of its own cities
        found: Numbers = wanted.sum(axis=1)
        return found

    def travel(self, groups: dict[str, NDArray[np.int64]]) -> dict[str, Travel]:
        """Bytes a second above the routers of each level; the highest have none above them."""
        return {level: self._travel(groups[level]) for level in list(groups)[:-1]}

    def _travel(self, groups: NDArray[np.int64]) -> Travel:
        count = int(groups.max()) + 1
        leaving = float(self._leaving.sum()) if count == len(groups) else self._crossing(groups)
        sent = leaving + float(self._arriving(groups).sum())
        # Once up, and down to all others.
        flooded = float(self._publications.sum()) * count
        return Travel(flooded * MESSAGE_BYTES, sent * MESSAGE_BYTES)

    def _crossing(self, groups: NDArray[np.int64]) -> float:
        """Publications a second that somebody beyond their group wants."""
        beyond = 1 - _summed(self._weights, groups)[groups]
        return float((reached(beyond * self._wanting) * self._publications).sum())


def reached(wanting: Numbers) -> Numbers:
    """The share of a city's publications that somebody wants, of so many areas over its middle.

    As in `occupancy`: 1 − (1 − exp(−λ))/λ.
    """
    safe = np.maximum(wanting, 1e-12)
    found: Numbers = np.where(wanting < 1e-6, wanting / 2, 1 + np.expm1(-safe) / safe)
    return found
