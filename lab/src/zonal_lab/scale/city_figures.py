"""The figures of one city: what its subscribers declare, what goes up, and what changes."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from zonal.geo import Cell
from zonal_lab.scale.city import (
    WAYS,
    WORLD,
    Crowd,
    Declared,
    Setting,
    cells_around,
    declared_elsewhere,
    face_m2,
    offset_m2,
    populate,
    wanted_share,
)
from zonal_lab.scale.occupancy import LevelCells

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOVES = 500
_LOOKED_AT = 500


@dataclass(frozen=True)
class CityFigures:
    """What the subscribers of one city declare, and what comes to them in vain.

    Attributes:
        subscribers: how many.
        declared: keys that they declare at their router, each its own.
        wanted: share of the publications in the city that somebody wants.
        together: what all of them declare together.
        elsewhere: … those of them who live elsewhere.
        own_changes: keys that a subscriber declares and undeclares when it leaves its margin.
        changes: … that go up instead, by each way of declaring.
        levels: cells of the covers, for the law of what is declared together.
    """

    subscribers: float
    declared: float
    wanted: float
    together: Declared
    elsewhere: Declared
    own_changes: float
    changes: dict[str, float]
    levels: Sequence[LevelCells] = ()

    @classmethod
    def read(cls, figures: dict[str, object]) -> CityFigures:
        """From what was stored of a case."""
        fields: dict[str, object] = {
            **figures,
            "together": Declared(**figures["together"]),  # type: ignore[arg-type] # stored so
            "elsewhere": Declared(**figures["elsewhere"]),  # type: ignore[arg-type]
            "levels": [LevelCells(**each) for each in figures["levels"]],  # type: ignore[attr-defined]
        }
        return cls(**fields)  # type: ignore[arg-type]


def simulate(subscribers: int, seed: int, setting: Setting = WORLD) -> CityFigures:
    """Place subscribers by chance, cover their areas, and let some of them move."""
    rng = np.random.default_rng(seed)
    areas, asked = populate(subscribers, rng, setting)
    around = [cells_around(place) for place in asked]
    crowd = Crowd(areas)
    together = crowd.declared(around)
    elsewhere = declared_elsewhere(areas, around, setting.away, rng)
    declared = sum(map(len, crowd.covers))
    covers = _of_levels(cell for each in crowd.covers for cell in each)
    offsets = _offsets(crowd)
    own, changes = _moved(crowd, rng)
    whole = face_m2(areas[0])
    return CityFigures(
        subscribers,
        declared,
        wanted_share(asked, areas),
        together,
        elsewhere,
        math.fsum(own.values()),
        changes,
        [
            LevelCells(
                level, number / subscribers, own.get(level, 0.0), offsets[level], whole / 4**level
            )
            for level, number in sorted(covers.items())
            if level in offsets
        ],
    )


def _of_levels(cells: object) -> Counter[int]:
    lowest = Counter(cell & -cell for cell in cells)  # type: ignore[attr-defined] # of cells
    return Counter({Cell(bit).level: number for bit, number in lowest.items()})


def _offsets(crowd: Crowd) -> dict[int, float]:
    """By level, of the first areas, which are as good as any."""
    found = defaultdict(list)
    for area, cells in zip(crowd.areas[:_LOOKED_AT], crowd.covers, strict=False):
        for cell in cells:
            found[Cell(cell).level].append(offset_m2(cell, area))
    return {level: math.fsum(each) / len(each) for level, each in found.items()}


def _moved(crowd: Crowd, rng: np.random.Generator) -> tuple[dict[int, float], dict[str, float]]:
    """Changes of keys for each time that a subscriber leaves its margin: its own, and upward."""
    moves = min(_MOVES, 5 * len(crowd.areas))
    own: Counter[int] = Counter()
    changes = dict.fromkeys(WAYS, 0)
    for _ in range(moves):
        changed, upward = crowd.move(int(rng.integers(len(crowd.areas))), rng.uniform(0, math.tau))
        own.update(_of_levels(changed))
        for way, number in upward.items():
            changes[way] += number
    return (
        {level: number / moves for level, number in own.items()},
        {way: number / moves for way, number in changes.items()},
    )
