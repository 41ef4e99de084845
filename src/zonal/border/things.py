"""Things at a border: what is told of them, and what is known of each."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from zonal.geo import Point

NOWHERE = math.nan


class NotedPlace(NamedTuple):
    """A thing was here at this time (microseconds since 1970)."""

    thing: str
    lat: float
    lon: float
    time: int
    sample: Any = None


class KeptThing(NamedTuple):
    """The state of one thing: when and where it was last, and its stays (row, since, dwelt)."""

    time: int
    lat: float
    lon: float
    stays: list[tuple[int, int | None, bool]]


class Stay:
    """A thing is in a zone."""

    __slots__ = ("dwelt", "since")

    def __init__(self, since: int | None) -> None:
        self.since = since
        self.dwelt = since is None  # of one that was there before, nobody knows for how long


class WatchedThing:
    """Where a thing was last, and the zones it is in by their rows."""

    __slots__ = ("lat", "lon", "name", "stays", "time")

    def __init__(self, name: str) -> None:
        self.name = name
        self.time: int | None = None
        self.lat = self.lon = NOWHERE
        self.stays: dict[int, Stay] = {}

    @property
    def place(self) -> Point | None:
        """Where it was last."""
        return point_of(self.lat, self.lon)


class ThingStep(NamedTuple):
    """One thing's step from where it was to where it is."""

    thing: WatchedThing
    noted: NotedPlace
    before: int | None
    old_lat: float
    old_lon: float
    from_lat: float
    from_lon: float
    """Where it came from: not a number where it was gone meanwhile."""

    @property
    def previous(self) -> Point | None:
        """Where it came from, if that is known."""
        return point_of(self.from_lat, self.from_lon)


def point_of(lat: float, lon: float) -> Point | None:
    """The place of two numbers; None where they are none."""
    return None if math.isnan(lat) else Point(lat, lon)
