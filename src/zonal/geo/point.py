"""Points on the globe as users have them, and the distance between them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import cos, radians, sin  # by their names, since these are asked often
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import shapely

from zonal.errors import GeometryError
from zonal.geo.well_known import check_text

if TYPE_CHECKING:
    from collections.abc import Iterator

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

    def distance_m(self, other: GivenPoint) -> float:
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


GivenPoint: TypeAlias = "Point | Sequence[float] | shapely.Point | Mapping[str, Any] | str"
"""A `Point`; latitude and longitude; or, longitude first as their standards have it, a shapely
point, a GeoJSON `Point` or a text `POINT (lon lat)`."""


def as_point(given: GivenPoint) -> Point:
    """The point that was meant; `GeometryError` where none was."""
    if isinstance(given, Point):
        return given
    if isinstance(given, str):
        return point_from_wkt(given)
    if isinstance(given, shapely.Point) and not given.is_empty:
        return Point(given.y, given.x)
    if isinstance(given, Mapping):
        coordinates = given.get("coordinates") if given.get("type") == "Point" else None
        if not isinstance(coordinates, Sequence):
            raise GeometryError(f"a point in GeoJSON has the type Point, not as {given!r:.80}")
        return _point_of_pair(coordinates[1::-1])
    return _point_of_pair(given)


def point_from_wkt(text: str) -> Point:
    """The point of a text `POINT (lon lat)`."""
    text = check_text(text)
    try:
        planar = shapely.from_wkt(text)
    except shapely.errors.ShapelyError as error:
        raise GeometryError(f"cannot read {text[:80]!r} as a POINT: {error}") from error
    if planar.geom_type != "Point" or planar.is_empty:
        raise GeometryError(f"expected POINT (lon lat), got {text[:80]!r}")
    return Point(planar.y, planar.x)


def _point_of_pair(pair: Iterable[float]) -> Point:
    try:
        lat, lon = pair
        return Point(float(lat), float(lon))
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, GeometryError):
            raise
        raise GeometryError(f"a point is a Point or (lat, lon), not {pair!r:.80}") from error


def distance_m(a: GivenPoint, b: GivenPoint) -> float:
    """Great-circle distance in metres, exact to about a nanometre at any distance.

    Vincenty's formula on a sphere: unlike the haversine it stays accurate near the antipode.
    """
    try:  # costs nothing where they are points, and is asked often
        lat_a, lat_b = radians(a.lat), radians(b.lat)  # type: ignore[union-attr]
        lon_difference = radians(b.lon - a.lon)  # type: ignore[union-attr]
    except AttributeError:
        return distance_m(as_point(a), as_point(b))
    sin_a, cos_a = sin(lat_a), cos(lat_a)
    sin_b, cos_b = sin(lat_b), cos(lat_b)
    cos_lon = cos(lon_difference)
    across = math.hypot(cos_b * sin(lon_difference), cos_a * sin_b - sin_a * cos_b * cos_lon)
    along = sin_a * sin_b + cos_a * cos_b * cos_lon
    return EARTH_RADIUS_M * math.atan2(across, along)


def destination(start: GivenPoint, bearing_deg: float, length_m: float) -> Point:
    """The point reached from `start` along a great circle (bearing: 0 north, 90 east)."""
    if type(start) is not Point:
        start = as_point(start)
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


def unit_vector(point: GivenPoint) -> tuple[float, float, float]:
    """The point on the unit sphere: x towards (0, 0), z towards the North Pole."""
    try:  # costs nothing where it is a point
        lat, lon = radians(point.lat), radians(point.lon)  # type: ignore[union-attr]
    except AttributeError:
        return unit_vector(as_point(point))
    cos_lat = cos(lat)
    return cos_lat * cos(lon), cos_lat * sin(lon), sin(lat)


def unit_vectors(
    lats: ArrayLike, lons: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The same for arrays of latitudes and longitudes in degrees: x, y and z."""
    lat, lon = np.radians(lats), np.radians(lons)
    cos_lat = np.cos(lat)
    return cos_lat * np.cos(lon), cos_lat * np.sin(lon), np.sin(lat)
