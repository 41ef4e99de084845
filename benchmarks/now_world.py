"""What `bench_now` moves around: zones and things; and lines that tell how far it is."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from zonal.border import NotedPlace, ZoneSet
from zonal.geo import Area, Circle, Point, Polygon

if TYPE_CHECKING:
    from collections.abc import Iterator

SOUTH, WEST, SIDE = 45.3, 9.0, 0.5
BATCH = 500
console = Console(highlight=False, stderr=True)
_BEGAN = time.monotonic()


def tell(line: str) -> None:
    """Say how far it is, with the seconds since the start."""
    console.print(f"[dim]{time.monotonic() - _BEGAN:6.1f} s  {line}[/]")


def zones_of(count: int, rng: np.random.Generator) -> ZoneSet:
    """Half circles, half octagons, of 100 to 500 m, all over the city."""
    areas: list[Area] = []
    for number in range(count):
        lat, lon = SOUTH + rng.random() * SIDE, WEST + rng.random() * SIDE
        if number % 2:
            areas.append(Circle(Point(lat, lon), radius_m=100 + 400 * rng.random()))
            continue
        reach = 0.001 + 0.0035 * rng.random()
        angles = np.linspace(0, 2 * math.pi, 8, endpoint=False)
        areas.append(
            Polygon(
                tuple((lat + reach * math.sin(a), lon + 1.4 * reach * math.cos(a)) for a in angles)
            )
        )
    return ZoneSet(tuple(f"zone {number}" for number in range(count)), tuple(areas))


class Traffic:
    """Things that move some 50 m a step."""

    def __init__(self, things: int, rng: np.random.Generator) -> None:
        self.names = [f"city/bus/{number}" for number in range(things)]
        self.lats = SOUTH + rng.random(things) * SIDE
        self.lons = WEST + rng.random(things) * SIDE
        self._rng = rng
        self._time = 0

    def step(self) -> list[tuple[int, float, float, int]]:
        """Each thing once, in any order: number, place, time."""
        count = len(self.names)
        self.lats = np.clip(self.lats + self._rng.normal(0, 3.5e-4, count), SOUTH, SOUTH + SIDE)
        self.lons = np.clip(self.lons + self._rng.normal(0, 5e-4, count), WEST, WEST + SIDE)
        self._time += 10_000_000
        order = self._rng.permutation(count).tolist()
        lats, lons = self.lats.tolist(), self.lons.tolist()
        return [(number, lats[number], lons[number], self._time) for number in order]

    def noted(self, steps: list[tuple[int, float, float, int]]) -> Iterator[list[NotedPlace]]:
        """The same as a border takes it, in batches."""
        for start in range(0, len(steps), BATCH):
            yield [
                NotedPlace(self.names[number], lat, lon, when)
                for number, lat, lon, when in steps[start : start + BATCH]
            ]


def shown(result: dict[str, Any]) -> str:
    """A result on one line."""
    return "  ".join(f"{name} {value:,}" for name, value in result.items())
