"""What keeps things and answers where they are: the work that all of them are given."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SOUTH, WEST, SIDE = 45.3, 9.0, 0.5
BATCH = 500
"""Things in one command, statement or write, where a server takes many at once."""
WARM = 10
"""Questions before those that are measured: plans, caches, routes."""

Places = list[tuple[int, float, float]]
"""Numbers of things and where they are now, in degrees."""


class Answered(NamedTuple):
    """Percentiles of the time from a question to its whole answer, and things an answer."""

    p50_us: float
    p99_us: float
    hits: float


class ThingServer(ABC):
    """A system that keeps things: a connection to it, and what its processes use."""

    @abstractmethod
    def put(self, places: Places) -> float:
        """Store these, new or moved, the fastest way there is: seconds until they are kept."""

    @abstractmethod
    def circles(self, centres: Places, radius_m: float) -> Answered:
        """One after the other, what lies in a circle around each; names and places come along.

        The first `WARM` are asked, and in no figure.
        """

    @abstractmethod
    def nearest(self, centres: Places, count: int) -> Answered:
        """The nearest things to each, the nearest first; the first `WARM` are in no figure."""

    @abstractmethod
    def cpu_s(self) -> float:
        """Processor time of its processes so far."""

    @abstractmethod
    def resident(self) -> int:
        """Bytes that they hold."""


class PythonThings(ThingServer):
    """A server whose client is a library for Python: times are taken around its calls."""

    @abstractmethod
    def store(self, places: Places) -> None:
        """Store these; known when it returns."""

    @abstractmethod
    def within(self, lat: float, lon: float, radius_m: float) -> int:
        """How many things lie in a circle."""

    @abstractmethod
    def closest(self, lat: float, lon: float, count: int) -> int:
        """How many of the nearest things came."""

    def put(self, places: Places) -> float:
        """By `store`."""
        begun = time.perf_counter()
        self.store(places)
        return time.perf_counter() - begun

    def circles(self, centres: Places, radius_m: float) -> Answered:
        """By `within`."""
        return _timed([partial(self.within, lat, lon, radius_m) for _, lat, lon in centres])

    def nearest(self, centres: Places, count: int) -> Answered:
        """By `closest`."""
        return _timed([partial(self.closest, lat, lon, count) for _, lat, lon in centres])


def _timed(questions: Sequence[Callable[[], int]]) -> Answered:
    for each in questions[:WARM]:
        each()
    times, hits = [], 0
    for each in questions[WARM:]:
        begun = time.perf_counter()
        hits += each()
        times.append(1e6 * (time.perf_counter() - begun))
    p50, p99 = np.percentile(times, (50, 99)).tolist()
    return Answered(p50, p99, hits / len(times))
