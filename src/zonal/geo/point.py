"""Points on the globe, and the distance between them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import cos, radians, sin  # by their names, since `unit_vector` is asked often
from typing import TYPE_CHECKING

import numpy as np

from zonal.errors import GeometryError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import ArrayLike, NDArray

EARTH_RADIUS_M = 6_371_008.8
"""Mean radius of the Earth in metres (IUGG); circles and distances use a sphere of this size."""

HALF_CIRCUMFERENCE_M = math.pi * EARTH_RADIUS_M
"""The largest distance between two points, in metres."""


@dataclass(frozen=True, slots=True)
class Point:
    """A place: latitude, then longitude, in degrees (WGS 84).

    Longitudes −180 and 180 are the same meridian, and all points of latitude ±90 are the same
    pole; areas treat them so, although the points compare unequal.
    """

    lat: float
    lon: float

    def __post_init__(self) -> None:
        try:
            valid = -90.0 <= self.lat <= 90.0 and -180.0 <= self.lon <= 180.0
        except TypeError as error:
            raise GeometryError(
                f"a point needs two numbers, not {self.lat!r} and {self.lon!r}"
            ) from error
        if not valid:
            raise GeometryError(_what_is_wrong(self.lat, self.lon))

    def __iter__(self) -> Iterator[float]:
        yield self.lat
        yield self.lon

    def distance_m(self, other: Point) -> float:
        """Great-circle distance to another point, in metres."""
        return distance_m(self, other)


def _what_is_wrong(lat: float, lon: float) -> str:
    if -90.0 <= lon <= 90.0 and -180.0 <= lat <= 180.0:
        hint = f"; latitude comes first, did you mean Point({lon}, {lat})?"
    else:
        hint = ""
    if not -90.0 <= lat <= 90.0:
        return f"latitude {lat} is not between -90 and 90 degrees{hint}"
    return f"longitude {lon} is not between -180 and 180 degrees{hint}"


def point_of_pair(pair: Iterable[float]) -> Point:
    """The point of a pair of numbers: latitude, then longitude."""
    try:
        lat, lon = pair
        return Point(float(lat), float(lon))
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, GeometryError):
            raise
        raise GeometryError(f"a point is a Point or (lat, lon), not {pair!r:.80}") from error


def distance_m(a: Point, b: Point) -> float:
    """Great-circle distance in metres, exact to about a nanometre at any distance.

    Vincenty's formula on a sphere: unlike the haversine it stays accurate near the antipode.
    """
    lat_a, lat_b = math.radians(a.lat), math.radians(b.lat)
    lon_difference = math.radians(b.lon - a.lon)
    sin_a, cos_a = math.sin(lat_a), math.cos(lat_a)
    sin_b, cos_b = math.sin(lat_b), math.cos(lat_b)
    cos_lon = math.cos(lon_difference)
    across = math.hypot(cos_b * math.sin(lon_difference), cos_a * sin_b - sin_a * cos_b * cos_lon)
    along = sin_a * sin_b + cos_a * cos_b * cos_lon
    return EARTH_RADIUS_M * math.atan2(across, along)


def destination(start: Point, bearing_deg: float, length_m: float) -> Point:
    """The point reached from `start` along a great circle (bearing: 0 north, 90 east)."""
    angle = length_m / EARTH_RADIUS_M
    bearing, lat = math.radians(bearing_deg), math.radians(start.lat)
    sin_lat = math.sin(lat) * math.cos(angle) + math.cos(lat) * math.sin(angle) * math.cos(bearing)
    sin_lat = max(-1.0, min(1.0, sin_lat))
    turn = math.atan2(
        math.sin(bearing) * math.sin(angle) * math.cos(lat),
        math.cos(angle) - math.sin(lat) * sin_lat,
    )
    return Point(math.degrees(math.asin(sin_lat)), wrap_longitude(start.lon + math.degrees(turn)))


def wrap_longitude(lon: float) -> float:
    """The same meridian between −180 and 180 degrees."""
    return lon if -180.0 <= lon <= 180.0 else (lon + 180.0) % 360.0 - 180.0


def unit_vector(point: Point) -> tuple[float, float, float]:
    """The point on the unit sphere: x towards (0, 0), z towards the North Pole."""
    lat, lon = radians(point.lat), radians(point.lon)
    cos_lat = cos(lat)
    return cos_lat * cos(lon), cos_lat * sin(lon), sin(lat)


def unit_vectors(
    lats: ArrayLike, lons: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The same for arrays of latitudes and longitudes in degrees: x, y and z."""
    lat, lon = np.radians(lats), np.radians(lons)
    cos_lat = np.cos(lat)
    return cos_lat * np.cos(lon), cos_lat * np.sin(lon), np.sin(lat)
