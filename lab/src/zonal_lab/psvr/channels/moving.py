"""Nodes that move in a square, by chance or as recorded, and a channel between them."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from zonal.errors import MeshError
from zonal.mesh import GraphChannel, graph_of

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence
    from pathlib import Path

    from zonal.mesh import Graph, Transmission

Spot = tuple[float, float]
_CERTAIN = 0.8  # of the reach within which nothing is lost; from there it falls to nothing
_STRIDE_S = 0.25  # between two looks at who is in reach
_M_A_DEGREE = 111_195.0
_PAUSE_S = 30.0  # that a recorded journey may stand still for; longer gaps are left out


class Way(NamedTuple):
    """Places in metres by time in seconds; it begins anew at its end, by walking back."""

    times: Sequence[float]
    spots: Sequence[Spot]

    def at(self, time: float) -> Spot:
        """Where it is at this time."""
        whole = self.times[-1]
        if whole <= 0:
            return self.spots[0]
        phase = time % (2 * whole)
        phase = min(phase, 2 * whole - phase)
        after = min(bisect_right(self.times, phase), len(self.times) - 1)
        begin, end = self.times[after - 1], self.times[after]
        share = (phase - begin) / (end - begin) if end > begin else 0.0
        (x, y), (u, v) = self.spots[after - 1], self.spots[after]
        return x + share * (u - x), y + share * (v - y)

    @property
    def speed_m_s(self) -> float:
        """The mean."""
        steps = zip(self.spots, self.spots[1:], strict=False)
        return sum(math.dist(a, b) for a, b in steps) / max(self.times[-1], 1e-9)


def random_waypoints(
    nodes: int, side_m: float, speed_m_s: float, seconds: float, rng: random.Random
) -> dict[int, Way]:
    """Each node goes to one place after the other, drawn by chance, without a pause."""
    return {node: _random_way(side_m, speed_m_s, seconds, rng) for node in range(nodes)}


def _random_way(side_m: float, speed_m_s: float, seconds: float, rng: random.Random) -> Way:
    times, spots = [0.0], [(rng.random() * side_m, rng.random() * side_m)]
    while speed_m_s > 0 and times[-1] < seconds:
        there = (rng.random() * side_m, rng.random() * side_m)
        times.append(times[-1] + math.dist(spots[-1], there) / speed_m_s)
        spots.append(there)
    return Way(times, spots)


def recorded_ways(
    folder: Path, nodes: int, side_m: float, seconds: float, rng: random.Random
) -> dict[int, Way]:
    """Recorded trajectories, each begun at a place of the square and mirrored at its sides.

    Only those are taken that move for at least so long; standing still for more than half a minute
    is left out. `MeshError` where the folder has too few.
    """
    found: list[Way] = []
    for path in sorted(folder.rglob("*.plt")):
        way = _recorded_way(path, side_m, rng)
        if way.times[-1] >= seconds:
            found.append(way)
        if len(found) == nodes:
            return dict(enumerate(found))
    raise MeshError(f"{folder} has {len(found)} journeys of {seconds:g} s and more, not {nodes}")


def _recorded_way(path: Path, side_m: float, rng: random.Random) -> Way:
    from zonal_lab.jobs import read_plt  # its module needs Spark

    rows = read_plt(str(path)).to_pylist()
    if not rows:
        return Way([0.0], [(0.0, 0.0)])
    x, y = rng.random() * side_m, rng.random() * side_m
    squeeze = math.cos(math.radians(rows[0]["latitude"]))
    times, spots = [0.0], [(x, y)]
    for before, row in itertools.pairwise(rows):
        step = (row["time"] - before["time"]).total_seconds()
        x += (row["longitude"] - before["longitude"]) * _M_A_DEGREE * squeeze
        y += (row["latitude"] - before["latitude"]) * _M_A_DEGREE
        if 0 < step <= _PAUSE_S:
            times.append(times[-1] + step)
            spots.append((_folded(x, side_m), _folded(y, side_m)))
    return Way(times, spots)


def _folded(value: float, side: float) -> float:
    """Mirrored at 0 and at `side`, as often as it takes."""
    phase = value % (2 * side)
    return min(phase, 2 * side - phase)


class MovingChannel(GraphChannel):
    """Links between nodes in reach of each other; near the end of the reach packets get lost."""

    def __init__(self, ways: dict[int, Way], reach_m: float, seed: int = 0) -> None:
        super().__init__(dict.fromkeys(ways, ()), seed=seed)
        self.ways = ways
        self.reach_m = reach_m
        self._looked_at = -1.0
        self._ratios: dict[tuple[int, int], float] = {}

    def ratios(self, now: float) -> dict[tuple[int, int], float]:
        """The delivery ratio of each link there is, both ways."""
        step = now // _STRIDE_S
        if step != self._looked_at:
            self._looked_at = step
            self._ratios = link_ratios(self.ways, self.reach_m, step * _STRIDE_S)
            around: dict[int, list[int]] = {node: [] for node in self.ways}
            for a, b in self._ratios:
                around[a].append(b)
            self.neighbours = {node: tuple(others) for node, others in around.items()}
        return self._ratios

    def graph(self, now: float) -> Graph:
        """Who hears at least half of what the other says."""
        found = self.ratios(now).items()
        return graph_of((p for p, ratio in found if p[0] < p[1] and ratio >= 0.5), self.ways)

    def receivers(self, sent: Transmission) -> Sequence[int]:
        """Whoever is in reach now, by chance near its end."""
        ratios = self.ratios(sent.end)
        heard = self.neighbours[sent.sender] if sent.to is None else (sent.to,)
        return [node for node in heard if self.rng.random() < ratios.get((sent.sender, node), 0.0)]


def link_ratios(ways: dict[int, Way], reach_m: float, now: float) -> dict[tuple[int, int], float]:
    """The delivery ratio of each link at this time."""
    spots = {node: way.at(now) for node, way in ways.items()}
    names, found = sorted(spots), {}
    for number, a in enumerate(names):
        for b in names[number + 1 :]:
            near = math.dist(spots[a], spots[b]) / reach_m
            if near < 1:
                found[a, b] = found[b, a] = min(1.0, (1 - near) / (1 - _CERTAIN))
    return found
