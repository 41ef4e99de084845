"""Circles in metres on the sphere, with or without a centre."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import shapely

from zonal.errors import GeometryError
from zonal.geo.area import Area, Box
from zonal.geo.planar import EDGE_TOLERANCE_M
from zonal.geo.point import (
    EARTH_RADIUS_M,
    HALF_CIRCUMFERENCE_M,
    GivenPoint,
    Point,
    as_point,
    distance_m,
    unit_vector,
    unit_vectors,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

CIRCLE_BYTES = struct.Struct("<ddd")
"""A circle in the binary form: latitude and longitude of its centre, radius in metres."""


_NUMBERS = (int, float, np.number)


@dataclass(frozen=True, slots=True)
class Circle(Area):
    """All points at most `radius_m` metres (great-circle distance) away from the centre.

    The centre is a `Point`, (lat, lon) or what else `as_point` takes. Without one the circle is
    *ego-centric*: it follows whoever uses it, and has to be placed with `at()` before it can be
    asked anything.
    """

    center: Point | None = None
    radius_m: float = field(kw_only=True)
    # The test as a plane through the sphere: squared chord from (ax, ay, az), and whether the
    # inside is the near or (for circles of more than a hemisphere) the far side of it.
    _plane: tuple[float, float, float, float, bool] | None = field(
        init=False, repr=False, compare=False, default=None
    )

    def __post_init__(self) -> None:
        if not isinstance(self.radius_m, _NUMBERS):
            raise GeometryError(f"a radius is a number of metres, not {self.radius_m!r}")
        if not 0.0 <= self.radius_m <= HALF_CIRCUMFERENCE_M:
            raise GeometryError(
                f"radius {self.radius_m} m is not between 0 and {HALF_CIRCUMFERENCE_M:.0f} m "
                "(half the Earth's circumference); use Everywhere() for the whole globe"
            )
        if self.center is not None:
            center = as_point(self.center)
            object.__setattr__(self, "center", center)
            object.__setattr__(self, "_plane", _plane_of(center, float(self.radius_m)))

    @property
    def is_ego_centric(self) -> bool:
        """Whether the circle has no centre of its own."""
        return self.center is None

    def at(self, center: GivenPoint) -> Circle:
        """The same circle around this centre."""
        return Circle(as_point(center), radius_m=self.radius_m)

    def _placed(self) -> Point:
        return self.center or self._unplaced()

    def _unplaced(self) -> NoReturn:
        raise GeometryError(
            f"a circle of {self.radius_m} m without a centre has no place yet; give it one "
            "with at(point), or give the session a position"
        )

    @property
    def chord_test(self) -> tuple[float, float, float, float, bool]:
        """The test behind `contains`, for those who make it for many circles at once.

        A place on the unit sphere, the largest square of a chord from there, and whether the
        inside is beyond it instead (of a circle of more than a hemisphere).
        """
        return self._plane or self._unplaced()

    def contains(self, point: GivenPoint) -> bool:
        """Whether the point is inside or on the edge."""
        ax, ay, az, limit, far_side = self._plane or self._unplaced()
        x, y, z = unit_vector(point)
        dx = x - ax
        dy = y - ay
        dz = z - az
        return (dx * dx + dy * dy + dz * dz <= limit) is not far_side

    def contains_many(self, lats: ArrayLike, lons: ArrayLike) -> NDArray[np.bool_]:
        """The same answers as `contains`, for arrays."""
        ax, ay, az, limit, far_side = self._plane or self._unplaced()
        x, y, z = unit_vectors(lats, lons)
        dx, dy, dz = x - ax, y - ay, z - az
        inside: NDArray[np.bool_] = (dx * dx + dy * dy + dz * dz <= limit) ^ far_side
        return inside

    @property
    def bounds(self) -> Box:
        """The smallest box around the circle, a hair wider than the edge's tolerance."""
        center = self._placed()
        angle = (self.radius_m + 2 * EDGE_TOLERANCE_M) / EARTH_RADIUS_M
        lat_deg = math.degrees(angle) + 1e-12
        south, north = center.lat - lat_deg, center.lat + lat_deg
        if south <= -90.0 or north >= 90.0:
            return Box(max(-90.0, south), -180.0, min(90.0, north), 180.0)
        ratio = math.sin(angle) / math.cos(math.radians(center.lat))
        lon_deg = math.degrees(math.asin(min(1.0, ratio))) + 1e-9
        if lon_deg >= 180.0:
            return Box(south, -180.0, north, 180.0)
        west, east = center.lon - lon_deg, center.lon + lon_deg
        return Box(
            south,
            west + 360.0 if west < -180.0 else west,
            north,
            east - 360.0 if east > 180.0 else east,
        )

    def meets(self, other: Area) -> bool:
        """Whether the two areas have a point in common (touching counts)."""
        return other.comes_within(self._placed(), self.radius_m + EDGE_TOLERANCE_M)

    def comes_within(self, center: GivenPoint, reach_m: float) -> bool:
        """Whether some point of the area is at most `reach_m` metres away from this one."""
        return distance_m(self._placed(), center) - self.radius_m <= reach_m + EDGE_TOLERANCE_M

    def to_wkt(self) -> str:
        """Our own extension: `CIRCLE (lon lat, metres)`."""
        lat, lon = self._placed()
        return f"CIRCLE ({lon!r} {lat!r}, {self.radius_m!r})"

    def to_geojson(self) -> dict[str, Any]:
        """Its centre, with the radius as a foreign member."""
        lat, lon = self._placed()
        return {"type": "Point", "coordinates": [lon, lat], "radius_m": self.radius_m}

    def to_dict(self) -> dict[str, Any]:
        """The type `circle`, the centre (None where it has none) and the radius."""
        center = self.center
        place = None if center is None else {"lat": center.lat, "lon": center.lon}
        return {"type": "circle", "center": place, "radius_m": self.radius_m}

    def to_wkb(self) -> bytes:
        """Its centre."""
        lat, lon = self._placed()
        return bytes(shapely.to_wkb(shapely.Point(lon, lat)))

    def to_bytes(self) -> bytes:
        """The letter `C`, the centre and the radius."""
        return b"C" + CIRCLE_BYTES.pack(*self._placed(), self.radius_m)


def _plane_of(center: Point, radius_m: float) -> tuple[float, float, float, float, bool]:
    x, y, z = unit_vector(center)
    reach = min(radius_m + EDGE_TOLERANCE_M, HALF_CIRCUMFERENCE_M) / EARTH_RADIUS_M
    if reach <= math.pi / 2:
        return x, y, z, (2 * math.sin(reach / 2)) ** 2, False
    # The chord hardly grows near the antipode, so measure from there: inside is what is not
    # strictly nearer to the antipode than the rest of the half circumference.
    rest = max(0.0, math.pi - reach)
    return -x, -y, -z, math.nextafter((2 * math.sin(rest / 2)) ** 2, -1.0), True
