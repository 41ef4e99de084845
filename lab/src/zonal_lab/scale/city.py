"""One city: real covers of its subscribers' areas, and what their union declares."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from zonal.geo import Cell, Circle, Point, cell_of, cover
from zonal.index import InterestCover

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

RADII_M = (300.0, 1000.0, 2000.0, 5000.0)
SHARES = (0.3, 0.4, 0.2, 0.1)
"""How many subscribers have an area of each radius."""
BOUNDS = {"bounded": 256, "wide": 1024}
"""Cells of a union; the first is what a session declares at most."""
COARSE_LEVEL = 10
"""Cells of about 10 km."""
WAYS = ("distinct", "coarse", *BOUNDS)
"""What may be declared of a city: every cell, only coarse ones, or a bounded union."""
_ASKED = 2000
_PUBLISH_LEVEL = 30
_AREA_LEVEL = 12
_FEW, _MOST_DRAWS, _ASKED_A_DRAW = 40, 200, 200


@dataclass(frozen=True)
class Setting:
    """What is assumed of a city.

    Attributes:
        spread: how many times as wide as a city is that is as dense as assumed of the world.
        away: the share of those who want what happens in the city and live elsewhere.
    """

    spread: float = 1.0
    away: float = 0.02

    def spread_m(self, subscribers: NDArray[np.float64]) -> NDArray[np.float64]:
        """The standard deviation of where a city's subscribers are, by axis: half its radius.

        That is 8 km for a thousand, 25 km for a hundred thousand, times `spread`.
        """
        found: NDArray[np.float64] = np.maximum(subscribers / 1000, 0.01) ** 0.25
        return self.spread * 4000.0 * found


WORLD = Setting()
"""A city of the world that is computed."""
SPARSE = Setting(spread=5.0, away=0.3)
"""A city in which only a part of what is published is wanted, by neighbours and from elsewhere."""


@dataclass(frozen=True)
class Declared:
    """What some subscribers of a city declare together, by each of `WAYS`.

    Attributes:
        keys: how many.
        let_through: share of the city's publications that this lets through.
    """

    keys: dict[str, float]
    let_through: dict[str, float]


class Crowd:
    """Subscribers of one city with their covers and unions, who may move.

    Args:
        areas: what they declare, margins included.
    """

    def __init__(self, areas: Sequence[Circle]) -> None:
        self.areas = list(areas)
        self.covers = [cells_of(area) for area in areas]
        self.coarse_covers = [cells_of(area, COARSE_LEVEL) for area in areas]
        self.counts = Counter(cell for each in self.covers for cell in each)
        self.coarse_counts = Counter(cell for each in self.coarse_covers for cell in each)
        self.unions = {name: InterestCover(most) for name, most in BOUNDS.items()}
        for union in self.unions.values():
            for number, area in enumerate(areas):
                union.add(number, area)
            union.take_changes()

    def declared(self, around: Sequence[frozenset[int]]) -> Declared:
        """What is declared, and lets through of publications with these cells around them."""
        cells = {
            "distinct": set(self.counts),
            "coarse": set(self.coarse_counts),
            **{name: {cell.id for cell in each.cells} for name, each in self.unions.items()},
        }
        return Declared(
            {way: len(each) for way, each in cells.items()},
            {way: share_through(around, each) for way, each in cells.items()},
        )

    def move(self, who: int, turn: float) -> tuple[frozenset[int], dict[str, int]]:
        """A subscriber leaves its margin: its own keys that change, and how many go up."""
        moved = left_margin(self.areas[who], turn)
        new, new_coarse = cells_of(moved), cells_of(moved, COARSE_LEVEL)
        own = new ^ self.covers[who]
        changes = {
            "distinct": recounted(self.counts, self.covers[who], new),
            "coarse": recounted(self.coarse_counts, self.coarse_covers[who], new_coarse),
        }
        for name, union in self.unions.items():
            union.update(who, moved)
            change = union.take_changes()
            changes[name] = len(change.declare) + len(change.undeclare)
        self.areas[who], self.covers[who], self.coarse_covers[who] = moved, new, new_coarse
        return own, changes


def populate(
    subscribers: int, rng: np.random.Generator, setting: Setting = WORLD
) -> tuple[list[Circle], list[Point]]:
    """What subscribers of a city declare, and places where somebody publishes."""
    centre = Point(*rng.uniform((30, -10), (55, 30)))
    (spread_m,) = setting.spread_m(np.array([float(subscribers)]))
    radii = rng.choice(RADII_M, size=subscribers, p=SHARES)
    # What is declared includes the margin, a quarter of the radius.
    areas = [Circle(_near(centre, spread_m, rng), radius_m=1.25 * radius) for radius in radii]
    return areas, [_near(centre, spread_m, rng) for _ in range(_ASKED)]


def declared_elsewhere(
    areas: Sequence[Circle],
    around: Sequence[frozenset[int]],
    away: float,
    rng: np.random.Generator,
) -> Declared:
    """What those declare who live elsewhere: of few subscribers the mean of many draws."""
    draws = min(max(math.ceil(_FEW / (away * len(areas))), 1), _MOST_DRAWS)
    asked = around if draws == 1 else around[:_ASKED_A_DRAW]
    found = []
    for _ in range(draws):
        chosen = np.flatnonzero(rng.random(len(areas)) < away)
        found.append(Crowd([areas[int(number)] for number in chosen]).declared(asked))
    return Declared(
        {way: math.fsum(each.keys[way] for each in found) / draws for way in WAYS},
        {way: math.fsum(each.let_through[way] for each in found) / draws for way in WAYS},
    )


def cells_of(area: Circle, max_level: int = _PUBLISH_LEVEL) -> frozenset[int]:
    """The cells of an area's cover."""
    return frozenset(cell.id for cell in cover(area, max_level=max_level))


def left_margin(area: Circle, turn: float) -> Circle:
    """The area when its owner has gone as far as the margin is wide, into a direction."""
    step_m = area.radius_m / 5  # a quarter of the radius that the user asked for
    at = _middle(area)
    north, east = step_m * math.cos(turn) / 111_195, step_m * math.sin(turn) / 111_195
    there = Point(at.lat + north, at.lon + east / math.cos(math.radians(at.lat)))
    return Circle(there, radius_m=area.radius_m)


def cells_around(place: Point) -> frozenset[int]:
    """The cells of all levels around a place."""
    cell = cell_of(place, _PUBLISH_LEVEL)
    return frozenset(cell.parent(level).id for level in range(_PUBLISH_LEVEL + 1))


def share_through(places: Sequence[frozenset[int]], cells: set[int]) -> float:
    """The share of places, each by the cells around it, that these cells let through."""
    return sum(not each.isdisjoint(cells) for each in places) / len(places)


def wanted_share(asked: Sequence[Point], areas: Sequence[Circle]) -> float:
    """The share of these places that lie in somebody's area, margins left out."""
    lats, lons = (
        np.array([getattr(_middle(each), name) for each in areas]) for name in ("lat", "lon")
    )
    radii = np.array([area.radius_m / 1.25 for area in areas])
    found = 0
    for place in asked:
        north = (lats - place.lat) * 111_195
        east = (lons - place.lon) * 111_195 * math.cos(math.radians(place.lat))
        found += bool((north * north + east * east <= radii * radii).any())
    return found / len(asked)


def offset_m2(cell: int, area: Circle) -> float:
    """The mean square by axis of a cell's distance from the middle of its area."""
    at, middle = Cell(cell).center, _middle(area)
    north = (at.lat - middle.lat) * 111_195
    east = (at.lon - middle.lon) * 111_195 * math.cos(math.radians(middle.lat))
    return (north * north + east * east) / 2


def face_m2(area: Circle) -> float:
    """The area of a face of S2, were all of its cells as large as those around here."""
    corners = cell_of(_middle(area), _AREA_LEVEL).vertices
    scale = math.cos(math.radians(corners[0].lat))
    flat = [(111_195 * each.lat, 111_195 * scale * each.lon) for each in corners]
    twice = sum(a[0] * b[1] - a[1] * b[0] for a, b in zip(flat, flat[1:] + flat[:1], strict=True))
    return float(abs(twice) / 2 * 4**_AREA_LEVEL)


def recounted(counts: Counter[int], old: frozenset[int], new: frozenset[int]) -> int:
    """Move a cover in the counts; how many cells came or went for all."""
    changed = 0
    for cell in new - old:
        counts[cell] += 1
        changed += counts[cell] == 1
    for cell in old - new:
        counts[cell] -= 1
        if not counts[cell]:
            del counts[cell]
            changed += 1
    return changed


def _middle(area: Circle) -> Point:
    assert area.center is not None
    return area.center


def _near(centre: Point, spread_m: float, rng: np.random.Generator) -> Point:
    """A place by chance, denser towards the middle."""
    north, east = rng.normal(0, spread_m, 2) / 111_195
    return Point(centre.lat + north, centre.lon + east / math.cos(math.radians(centre.lat)))
