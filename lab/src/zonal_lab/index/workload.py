"""What the index experiments do: GeoBroker's geofences at places of recorded trajectories."""

from __future__ import annotations

import math
import random
from itertools import cycle
from typing import TYPE_CHECKING, NamedTuple

from zonal.geo import EARTH_RADIUS_M, Circle, Point

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RADIUS_M = math.radians(0.01) * EARTH_RADIUS_M
"""GeoBroker's geofences: a circle with a radius of 0.01 degrees of latitude, about 1.1 km."""

BEIJING = (39.9, 116.4)

TOPIC = "data"

Trajectory = list[Point]


class Workload(NamedTuple):
    """110,000 geofence operations: what to add, what to change to, where to ask."""

    adds: list[Circle]
    updates: list[Circle]
    gets: list[Point]


def load_trajectories(folder: Path | None) -> tuple[str, list[Trajectory]]:
    """Trajectories in order of their identifiers, and a word on where they are from."""
    files = sorted(folder.rglob("*.plt")) if folder else []
    if files:
        return f"Geolife, {len(files)} trajectories", [_trajectory(path) for path in files]
    return "generated random walks", [_random_walk(seed) for seed in range(1000)]


def _trajectory(path: Path) -> Trajectory:
    from zonal_lab.jobs import read_plt

    rows = read_plt(str(path))
    lats, lons = rows["latitude"].to_pylist(), rows["longitude"].to_pylist()
    return [Point(*place) for place in zip(lats, lons, strict=True)]


def _random_walk(seed: int, steps: int = 400) -> Trajectory:
    """A walk near a city's centre, of the density and step length of a GPS track."""
    source = random.Random(seed)
    lat, lon = source.gauss(BEIJING[0], 0.05), source.gauss(BEIJING[1], 0.06)
    bearing, points = source.uniform(0.0, math.tau), []
    for _ in range(steps):
        bearing += source.gauss(0.0, 0.3)
        lat += 2e-4 * math.cos(bearing)
        lon += 2e-4 * math.sin(bearing)
        points.append(Point(lat, lon))
    return points


def geobroker_workload(trajectories: list[Trajectory], *, scale: float = 1.0) -> Workload:
    """35,000 adds, 25,000 updates and 50,000 gets at places drawn from all trajectories."""
    adds, updates, gets = (int(count * scale) for count in (35_000, 25_000, 50_000))
    every = [point for trajectory in trajectories for point in trajectory]
    places = random.Random(7).choices(every, k=adds + updates + gets)
    circles = [circle_at(point) for point in places[: adds + updates]]
    return Workload(circles[:adds], circles[adds:], places[adds + updates :])


def circle_at(point: Point) -> Circle:
    """The geofence around a place."""
    return Circle(point, radius_m=RADIUS_M)


def scattered_circles(count: int, per_square_degree: float, seed: int) -> list[Circle]:
    """Circles of a fixed density: the more of them, the larger the region around 45° north."""
    side = math.sqrt(count / per_square_degree)
    width = max(side * 1.4, side * side / 30.0)  # at most 30 degrees high, however many
    height = side * side / width
    source = random.Random(seed)
    return [
        circle_at(Point(source.uniform(30.0, 30.0 + height), source.uniform(0.0, width)))
        for _ in range(count)
    ]


def arrivals(routes: list[Trajectory]) -> Iterator[tuple[int, Point]]:
    """Clients reach the places of their trajectories in turn, and start again at the end."""
    walkers = [cycle(route) for route in routes]
    while True:
        for client, walker in enumerate(walkers):
            yield client, next(walker)
