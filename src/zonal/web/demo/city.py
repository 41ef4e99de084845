"""The city as pure functions of time: where everyone is, and how the air is there."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

from zonal.geo import destination, distance_m
from zonal.web.demo.streets import CENTRE, RADIUS_M, make_streets

if TYPE_CHECKING:
    from zonal.geo import Point
    from zonal.web.demo.streets import Drive

CLEAN_AIR = 18.0
"""Micrograms of PM10 in a cubic metre, on an ordinary day."""
CLOUD_PEAK = 130.0
CLOUD_RADIUS_M = 1_900.0
CLOUD_STARTS_S = 15.0
CLOUD_CROSSES_S = 150.0
STORY_S = 210.0
"""The story begins anew after this time."""
ALERT_ABOVE = 70.0


@dataclass(frozen=True, slots=True)
class Sensor:
    """A fixed station for air quality."""

    id: str
    place: Point

    def pm10(self, time_s: float) -> float:
        """What it measures: the air at its place, and a little noise of its own."""
        noise = 2.5 * math.sin(time_s / 7.0 + crc32(self.id.encode()) % 100)
        return max(0.0, round(air_at(self.place, time_s) + noise, 1))


@dataclass(frozen=True, slots=True)
class Car:
    """Drives along streets, to and fro on a way of its own."""

    id: str
    route: Drive
    start_m: float
    speed_ms: float

    def place(self, time_s: float) -> Point:
        """Where it is at a time of the story."""
        return self.route.place(self.start_m + self.speed_ms * time_s)

    def heading(self, time_s: float) -> float:
        """Where it drives to then, in degrees from north."""
        return self.route.heading(self.start_m + self.speed_ms * time_s)


@dataclass(frozen=True, slots=True)
class Walker:
    """Someone with a phone, strolling around a place."""

    id: str
    home: Point
    reach_m: float
    turn: float

    def place(self, time_s: float) -> Point:
        """Where they are at a time of the story."""
        angle = time_s * 1.3 / self.reach_m + self.turn
        length = self.reach_m * (0.6 + 0.4 * math.sin(2.3 * angle))
        return destination(self.home, math.degrees(angle) % 360.0, length)


@dataclass(frozen=True, slots=True)
class City:
    """All sensors, cars and walkers; the same at each time of each run."""

    sensors: tuple[Sensor, ...]
    cars: tuple[Car, ...]
    walkers: tuple[Walker, ...]


def cloud_time(share: float) -> float:
    """When the cloud has gone this share of its way (0.5: it is over the centre), in seconds."""
    return CLOUD_STARTS_S + share * CLOUD_CROSSES_S


def cloud_centre(time_s: float) -> Point:
    """Where the middle of the cloud is: it comes from the west and leaves to the east."""
    share = (time_s % STORY_S - CLOUD_STARTS_S) / CLOUD_CROSSES_S
    reach = RADIUS_M + 2 * CLOUD_RADIUS_M
    offset_m = (2 * share - 1) * reach
    middle = destination(CENTRE, 0.0, 900.0 * math.sin(3 * share))
    return destination(middle, 90.0 if offset_m >= 0 else 270.0, abs(offset_m))


def air_at(place: Point, time_s: float) -> float:
    """PM10 at a place, in micrograms in a cubic metre."""
    distance = distance_m(place, cloud_centre(time_s)) / CLOUD_RADIUS_M
    rush = 4.0 * math.exp(-((distance_m(place, CENTRE) / 3_000.0) ** 2))
    return CLEAN_AIR + rush + CLOUD_PEAK * math.exp(-(distance**2))


def make_city(*, sensors: int = 48, cars: int = 60, walkers: int = 24, seed: int = 7) -> City:
    """A city that is the same for the same seed."""
    chance = random.Random(seed)
    return City(
        tuple(Sensor(f"air-{n:02}", _sunflower(n, sensors)) for n in range(sensors)),
        tuple(_car(n, chance) for n in range(cars)),
        tuple(_walker(n, walkers, chance) for n in range(walkers)),
    )


def _sunflower(number: int, count: int) -> Point:
    """Points spread evenly over a disc, as the seeds of a sunflower are."""
    length = RADIUS_M * math.sqrt((number + 0.5) / count)
    return destination(CENTRE, math.degrees(number * math.pi * (3 - math.sqrt(5))) % 360.0, length)


def _car(number: int, chance: random.Random) -> Car:
    route = make_streets().route(chance)
    return Car(f"car-{number:02}", route, chance.uniform(0, 1e4), chance.uniform(8, 16))


def _walker(number: int, count: int, chance: random.Random) -> Walker:
    home = _sunflower(number, count)
    return Walker(f"phone-{number:02}", home, chance.uniform(120, 300), chance.uniform(0, 6.28))
