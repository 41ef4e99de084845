"""Boxes between two parallels and two meridians."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from zonal.errors import GeometryError
from zonal.geo.area import Area
from zonal.geo.point import Point

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True)
class Box(Area):
    """All points between two latitudes and, going east, between two longitudes.

    `min_lon > max_lon` means that the box crosses the antimeridian. A box that reaches latitude
    ±90 contains that pole whatever its longitudes.
    """

    min_lat: float
    min_lon: float
    max_lat: float
    max_lon: float

    def __post_init__(self) -> None:
        corners = (self.min_lat, self.min_lon, self.max_lat, self.max_lon)
        if not all(isinstance(value, int | float | np.number) for value in corners):
            raise GeometryError(f"a box needs four numbers, not {corners}")
        for name, value, limit in (
            ("min_lat", self.min_lat, 90.0),
            ("max_lat", self.max_lat, 90.0),
            ("min_lon", self.min_lon, 180.0),
            ("max_lon", self.max_lon, 180.0),
        ):
            if not -limit <= value <= limit:
                raise GeometryError(f"{name} {value} is not between {-limit:g} and {limit:g}")
        if self.min_lat > self.max_lat:
            raise GeometryError(
                f"min_lat {self.min_lat} is greater than max_lat {self.max_lat}; a box goes from "
                "south to north (only longitudes may wrap, at the antimeridian)"
            )

    @property
    def crosses_antimeridian(self) -> bool:
        """Whether the box spans the meridian of 180 degrees with both its sides."""
        return self.min_lon > self.max_lon

    @property
    def width_deg(self) -> float:
        """Degrees of longitude from west to east."""
        return self.max_lon - self.min_lon + (360.0 if self.crosses_antimeridian else 0.0)

    @property
    def height_deg(self) -> float:
        """Degrees of latitude from south to north."""
        return self.max_lat - self.min_lat

    @property
    def center(self) -> Point:
        """The point halfway between the parallels and between the meridians."""
        lon = self.min_lon + self.width_deg / 2
        return Point((self.min_lat + self.max_lat) / 2, lon - 360.0 if lon > 180.0 else lon)

    @property
    def bounds(self) -> Box:
        """The box itself."""
        return self

    def contains(self, point: Point) -> bool:
        """Whether the point is inside or on the edge."""
        lat, lon = point.lat, point.lon
        if not self.min_lat <= lat <= self.max_lat:
            return False
        if abs(lat) == 90.0:
            return True
        return self._spans(lon) or (abs(lon) == 180.0 and self._spans(-lon))

    def _spans(self, lon: float) -> bool:
        if self.crosses_antimeridian:
            return lon >= self.min_lon or lon <= self.max_lon
        return self.min_lon <= lon <= self.max_lon

    def contains_many(self, lats: ArrayLike, lons: ArrayLike) -> NDArray[np.bool_]:
        """The same answers as `contains`, for arrays."""
        lat, lon = np.asarray(lats, dtype=np.float64), np.asarray(lons, dtype=np.float64)
        in_lat = (lat >= self.min_lat) & (lat <= self.max_lat)
        if self.crosses_antimeridian:
            in_lon = (lon >= self.min_lon) | (lon <= self.max_lon)
        else:
            in_lon = (lon >= self.min_lon) & (lon <= self.max_lon)
        if self.crosses_antimeridian or max(abs(self.min_lon), abs(self.max_lon)) == 180.0:
            in_lon |= np.abs(lon) == 180.0
        result: NDArray[np.bool_] = in_lat & (in_lon | (np.abs(lat) == 90.0))
        return result

    def expanded(self, degrees: float) -> Box:
        """The box with a margin on all sides, clipped at the poles."""
        if self.width_deg + 2 * degrees >= 360.0:
            min_lon, max_lon = -180.0, 180.0
        else:
            min_lon = _wrapped(self.min_lon - degrees)
            max_lon = _wrapped(self.max_lon + degrees)
        return Box(
            max(-90.0, self.min_lat - degrees), min_lon, min(90.0, self.max_lat + degrees), max_lon
        )


def _wrapped(lon: float) -> float:
    return lon if -180.0 <= lon <= 180.0 else lon - math.copysign(360.0, lon)
