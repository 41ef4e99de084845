"""One city: real covers of its subscribers' areas, what their union declares, and its changes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from zonal.geo import Circle, Point, cell_of, cover
from zonal.index import InterestCover

RADII_M = (300.0, 1000.0, 2000.0, 5000.0)
SHARES = (0.3, 0.4, 0.2, 0.1)
"""How many subscribers have an area of each radius."""
BOUNDS = {"bounded": 256, "wide": 1024}
"""Cells of a union; the first is what a session declares at most."""
COARSE_LEVEL = 10
"""Cells of about 10 km."""
_MOVES = 500
_ASKED = 2000
_PUBLISH_LEVEL = 30


@dataclass(frozen=True)
class CityFigures:
    """What the subscribers of one city declare, and what comes to them in vain.

    Attributes:
        subscribers: how many.
        declared: keys that they declare at their router, each its own.
        distinct: … without those that another declares as well.
        union: cells of the bounded union that goes up, by bound.
        coarse: distinct cells where none is finer than about 10 km.
        wanted: share of the publications in the city that somebody wants.
        let_through: share that what is declared lets through: `distinct`, `coarse` or a bound.
        own_changes: keys that a subscriber declares and undeclares when it leaves its margin.
        changes: … that go up instead: for `distinct`, `coarse` and each bound.
    """

    subscribers: int
    declared: int
    distinct: int
    union: dict[str, int]
    coarse: int
    wanted: float
    let_through: dict[str, float]
    own_changes: float
    changes: dict[str, float]


def extent_m(subscribers: int) -> float:
    """The radius of a city: 8 km for a thousand, 25 km for a hundred thousand."""
    return 8000.0 * math.pow(max(subscribers / 1000, 0.01), 1 / 4)


def simulate(subscribers: int, seed: int) -> CityFigures:
    """Place subscribers by chance, cover their areas, and let some of them move."""
    rng = np.random.default_rng(seed)
    areas, asked = populate(subscribers, rng)
    covers = [frozenset(cell.id for cell in cover(area)) for area in areas]
    distinct = _counted(covers)
    coarse_covers = [
        frozenset(cell.id for cell in cover(area, max_level=COARSE_LEVEL)) for area in areas
    ]
    unions = {name: InterestCover(most) for name, most in BOUNDS.items()}
    for number, area in enumerate(areas):
        for union in unions.values():
            union.add(number, area)
    for union in unions.values():
        union.take_changes()
    sizes = {name: len(union.cells) for name, union in unions.items()}
    around = [cells_around(place) for place in asked]
    through = {
        "distinct": _share(around, set(distinct)),
        "coarse": _share(around, set(_counted(coarse_covers))),
        **{name: _share(around, {c.id for c in union.cells}) for name, union in unions.items()},
    }
    wanted = _wanted(asked, areas)
    own, changes = _moved(areas, covers, coarse_covers, unions, rng)
    return CityFigures(
        subscribers=subscribers,
        declared=sum(map(len, covers)),
        distinct=len(distinct),
        union=sizes,
        coarse=len(_counted(coarse_covers)),
        wanted=wanted,
        let_through=through,
        own_changes=own,
        changes=changes,
    )


def populate(subscribers: int, rng: np.random.Generator) -> tuple[list[Circle], list[Point]]:
    """What subscribers of a city declare, and places where somebody publishes."""
    centre = Point(*rng.uniform((30, -10), (55, 30)))
    reach = extent_m(subscribers)
    radii = rng.choice(RADII_M, size=subscribers, p=SHARES)
    # What is declared includes the margin, a quarter of the radius.
    areas = [Circle(_near(centre, reach, rng), radius_m=1.25 * radius) for radius in radii]
    return areas, [_near(centre, reach, rng) for _ in range(_ASKED)]


def _near(centre: Point, reach_m: float, rng: np.random.Generator) -> Point:
    """A place by chance, denser towards the middle."""
    north, east = rng.normal(0, reach_m / 2, 2) / 111_195
    return Point(centre.lat + north, centre.lon + east / math.cos(math.radians(centre.lat)))


def _counted(covers: list[frozenset[int]]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for each in covers:
        for cell in each:
            counts[cell] = counts.get(cell, 0) + 1
    return counts


def _share(places: list[frozenset[int]], cells: set[int]) -> float:
    return sum(not each.isdisjoint(cells) for each in places) / len(places)


def cells_around(place: Point) -> frozenset[int]:
    """The cells of all levels around a place."""
    cell = cell_of(place, _PUBLISH_LEVEL)
    return frozenset(cell.parent(level).id for level in range(_PUBLISH_LEVEL + 1))


def _wanted(asked: list[Point], areas: list[Circle]) -> float:
    """The share of these places that lie in somebody's area, margins left out."""
    centres = [area.center or Point(0, 0) for area in areas]
    lats, lons = (np.array([getattr(each, name) for each in centres]) for name in ("lat", "lon"))
    radii = np.array([area.radius_m / 1.25 for area in areas])
    found = 0
    for place in asked:
        north = (lats - place.lat) * 111_195
        east = (lons - place.lon) * 111_195 * math.cos(math.radians(place.lat))
        found += bool((north * north + east * east <= radii * radii).any())
    return found / len(asked)


def _moved(
    areas: list[Circle],
    covers: list[frozenset[int]],
    coarse_covers: list[frozenset[int]],
    unions: dict[str, InterestCover],
    rng: np.random.Generator,
) -> tuple[float, dict[str, float]]:
    """Changes of keys for each time that a subscriber leaves its margin: its own, and upward."""
    known, coarse = _counted(covers), _counted(coarse_covers)
    own = 0
    changes = dict.fromkeys(("distinct", "coarse", *unions), 0)
    moves = min(_MOVES, 5 * len(areas))
    for _ in range(moves):
        who = int(rng.integers(len(areas)))
        area = areas[who]
        assert area.center is not None
        turn = rng.uniform(0, 2 * math.pi)
        step_m = area.radius_m / 5  # a quarter of the radius that the user asked for
        moved = Circle(_shifted(area.center, step_m, turn), radius_m=area.radius_m)
        new = frozenset(cell.id for cell in cover(moved))
        new_coarse = frozenset(cell.id for cell in cover(moved, max_level=COARSE_LEVEL))
        own += len(new ^ covers[who])
        changes["distinct"] += _recounted(known, covers[who], new)
        changes["coarse"] += _recounted(coarse, coarse_covers[who], new_coarse)
        for name, union in unions.items():
            union.update(who, moved)
            change = union.take_changes()
            changes[name] += len(change.declare) + len(change.undeclare)
        areas[who], covers[who], coarse_covers[who] = moved, new, new_coarse
    return own / moves, {name: count / moves for name, count in changes.items()}


def _shifted(at: Point, step_m: float, turn: float) -> Point:
    north, east = step_m * math.cos(turn) / 111_195, step_m * math.sin(turn) / 111_195
    return Point(at.lat + north, at.lon + east / math.cos(math.radians(at.lat)))


def _recounted(counts: dict[int, int], old: frozenset[int], new: frozenset[int]) -> int:
    """Move a cover in the counts; how many cells came or went for all."""
    changed = 0
    for cell in new - old:
        counts[cell] = counts.get(cell, 0) + 1
        changed += counts[cell] == 1
    for cell in old - new:
        counts[cell] -= 1
        if not counts[cell]:
            del counts[cell]
            changed += 1
    return changed
