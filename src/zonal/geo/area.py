"""What every area offers, and the areas that need nothing else: boxes and the whole globe.

A shape owns all that is particular to it: what its edge is, what it meets, and how it is written.
`formats` reads what the shapes write.
"""

from __future__ import annotations

import math
import struct
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
import shapely

from zonal.errors import GeometryError
from zonal.geo.planar import (
    Ring,
    comes_within,
    figures_intersect,
    rings_to_geojson,
    rings_to_wkt,
)
from zonal.geo.point import GivenPoint, Point, as_point

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import ArrayLike, NDArray

BOX_BYTES = struct.Struct("<dddd")
"""A box in the binary form: south, west, north, east."""


class Area(ABC):
    """A region of the globe; its edge belongs to it.

    Areas are immutable values: equal areas compare and hash equal, and can be shared by threads.
    """

    __slots__ = ()
    kinds: ClassVar[set[type]] = set()
    """The classes of all shapes."""
    read: ClassVar[Callable[[GivenArea], Area]]
    """Makes an area of what is none; `formats`, which knows how each shape is written, sets it."""

    def __init_subclass__(cls) -> None:
        Area.kinds.add(cls)

    @abstractmethod
    def contains(self, point: GivenPoint) -> bool:
        """Whether the point is inside or on the edge."""

    @abstractmethod
    def contains_many(self, lats: ArrayLike, lons: ArrayLike) -> NDArray[np.bool_]:
        """The same answers as `contains`, for arrays of latitudes and longitudes in degrees."""

    @property
    @abstractmethod
    def bounds(self) -> Box:
        """A box that contains the area; `min_lon > max_lon` where it crosses the antimeridian."""

    def intersects(self, other: GivenArea) -> bool:
        """Whether the two areas have a point in common (touching counts)."""
        return self.meets(as_area(other))

    @abstractmethod
    def meets(self, other: Area) -> bool:
        """The answer of `intersects`, which each shape knows."""

    @abstractmethod
    def comes_within(self, center: GivenPoint, reach_m: float) -> bool:
        """Whether some point of the area is at most `reach_m` metres away from this one."""

    @property
    def is_ego_centric(self) -> bool:
        """Whether the area has no place of its own, but follows whoever uses it."""
        return False

    def at(self, center: GivenPoint) -> Area:  # noqa: ARG002  (only what has no place is placed)
        """The area for someone at this place: another one only where it is ego-centric."""
        return self

    @abstractmethod
    def to_wkt(self) -> str:
        """Well-known text with all digits of the numbers, so that it reads back equal.

        A circle is written in our own extension `CIRCLE (lon lat, metres)`, the whole globe as
        `EVERYWHERE`, a box as a polygon.
        """

    @abstractmethod
    def to_geojson(self) -> dict[str, Any]:
        """A GeoJSON geometry; a circle is a `Point` with the foreign member `radius_m`."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary with the key `type`; `area_from_dict` reads it back."""

    @abstractmethod
    def to_wkb(self) -> bytes:
        """Well-known binary for tables and maps, cut at the antimeridian where a box crosses it.

        A circle is only its centre there; whoever keeps it keeps the radius beside it.
        """

    @abstractmethod
    def to_bytes(self) -> bytes:
        """The binary form of attachments and packets; `area_from_bytes` reads it back.

        A letter and the shape: `E` everywhere, `C` latitude, longitude and radius, `B` south,
        west, north and east (little-endian doubles), `P` polygons (well-known binary).
        """


GivenArea: TypeAlias = "Area | shapely.Geometry | Mapping[str, Any] | str"
"""An `Area`; a shapely geometry, GeoJSON or well-known text, longitude first as their standards
have it; or a dictionary that `Area.to_dict` made."""


def as_area(given: GivenArea) -> Area:
    """The area that was meant; `GeometryError` where none was."""
    # Asked for every message: `isinstance` of an abstract class takes three times as long.
    return given if type(given) in Area.kinds else Area.read(given)  # type: ignore[return-value]


class PlanarArea(Area):
    """An area that is a planar figure in longitude and latitude (x = lon, y = lat)."""

    __slots__ = ()

    @property
    @abstractmethod
    def planar(self) -> shapely.Geometry:
        """The figure; x goes beyond 180 where it crosses the antimeridian."""

    def prepared(self) -> PlanarArea:
        """The same area for many comparisons with others, by one thread alone."""
        return self

    def meets(self, other: Area) -> bool:
        """Whether the two areas have a point in common (touching counts)."""
        if not isinstance(other, PlanarArea):
            return other.meets(self)
        bounds, others = self.bounds, other.bounds
        if bounds.min_lat > others.max_lat or others.min_lat > bounds.max_lat:
            return False
        return _same_pole(bounds, others) or figures_intersect(self.planar, other.planar)

    def comes_within(self, center: GivenPoint, reach_m: float) -> bool:
        """Whether some point of the area is at most `reach_m` metres away from this one."""
        center = as_point(center)
        return self.contains(center) or comes_within(self.planar, center, reach_m)


def planar_of(area: GivenArea) -> shapely.Geometry:
    """A box or polygon as a planar figure: x = longitude (beyond 180 where it crosses), y = lat."""
    area = as_area(area)
    if isinstance(area, PlanarArea):
        return area.planar
    raise GeometryError(f"a {type(area).__name__} is no planar figure")


_NUMBERS = (int, float, np.number)


@dataclass(frozen=True, slots=True)
class Box(PlanarArea):
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
        if not all(isinstance(value, _NUMBERS) for value in corners):
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

    def contains(self, point: GivenPoint) -> bool:
        """Whether the point is inside or on the edge."""
        if type(point) is not Point:
            point = as_point(point)
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

    @property
    def planar(self) -> shapely.Geometry:
        """The box as a figure; x goes beyond 180 where it crosses the antimeridian."""
        return shapely.box(self.min_lon, self.min_lat, self.min_lon + self.width_deg, self.max_lat)

    @property
    def ring(self) -> Ring:
        """The corners, counter-clockwise; longitudes go beyond 180 where the box crosses it."""
        south, west, north = self.min_lat, self.min_lon, self.max_lat
        east = west + self.width_deg
        return (south, west), (south, east), (north, east), (north, west), (south, west)

    def meets(self, other: Area) -> bool:
        """Whether the two areas have a point in common (touching counts)."""
        if not isinstance(other, Box):
            return other.meets(self)  # a polygon's figure may be a prepared one
        if self.min_lat > other.max_lat or other.min_lat > self.max_lat:
            return False
        if _same_pole(self, other):
            return True
        # Going east from one west edge, the other's west edge comes within the width.
        return (other.min_lon - self.min_lon) % 360.0 <= self.width_deg or (
            (self.min_lon - other.min_lon) % 360.0 <= other.width_deg
        )

    def to_wkt(self) -> str:
        """The polygon of its corners."""
        return f"POLYGON {rings_to_wkt([self.ring])}"

    def to_geojson(self) -> dict[str, Any]:
        """The polygon of its corners."""
        return {"type": "Polygon", "coordinates": rings_to_geojson([self.ring])}

    def to_dict(self) -> dict[str, Any]:
        """The type `box` and its four sides."""
        return {
            "type": "box",
            "min_lat": self.min_lat,
            "min_lon": self.min_lon,
            "max_lat": self.max_lat,
            "max_lon": self.max_lon,
        }

    def to_wkb(self) -> bytes:
        """A polygon; two where it crosses the antimeridian."""
        if self.crosses_antimeridian:
            east = shapely.box(self.min_lon, self.min_lat, 180, self.max_lat)
            west = shapely.box(-180, self.min_lat, self.max_lon, self.max_lat)
            return bytes(shapely.to_wkb(shapely.MultiPolygon([east, west])))
        box = shapely.box(self.min_lon, self.min_lat, self.max_lon, self.max_lat)
        return bytes(shapely.to_wkb(box))

    def to_bytes(self) -> bytes:
        """The letter `B` and its four sides."""
        return b"B" + BOX_BYTES.pack(self.min_lat, self.min_lon, self.max_lat, self.max_lon)


def _wrapped(lon: float) -> float:
    return lon if -180.0 <= lon <= 180.0 else lon - math.copysign(360.0, lon)


def _same_pole(a: Box, b: Box) -> bool:
    return (a.max_lat == 90.0 == b.max_lat) or (a.min_lat == -90.0 == b.min_lat)


@dataclass(frozen=True, slots=True)
class Everywhere(Area):
    """The whole globe."""

    def contains(self, point: GivenPoint) -> bool:
        """True."""
        if type(point) is not Point:
            as_point(point)
        return True

    def contains_many(self, lats: ArrayLike, lons: ArrayLike) -> NDArray[np.bool_]:
        """All true."""
        return np.ones(np.broadcast_shapes(np.shape(lats), np.shape(lons)), dtype=np.bool_)

    @property
    def bounds(self) -> Box:
        """The box of all latitudes and longitudes."""
        return Box(-90.0, -180.0, 90.0, 180.0)

    def meets(self, other: Area) -> bool:  # noqa: ARG002  (every area is inside)
        """True."""
        return True

    def comes_within(self, center: GivenPoint, reach_m: float) -> bool:  # noqa: ARG002
        """True."""
        as_point(center)
        return True

    def to_wkt(self) -> str:
        """The word for it."""
        return "EVERYWHERE"

    def to_geojson(self) -> dict[str, Any]:
        """The polygon of all latitudes and longitudes."""
        return self.bounds.to_geojson()

    def to_dict(self) -> dict[str, Any]:
        """The type alone."""
        return {"type": "everywhere"}

    def to_wkb(self) -> bytes:
        """The polygon of all latitudes and longitudes."""
        return self.bounds.to_wkb()

    def to_bytes(self) -> bytes:
        """The letter alone."""
        return b"E"
