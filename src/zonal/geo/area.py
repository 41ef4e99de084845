"""What every area offers, and the area that is everywhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from zonal.geo.box import Box
    from zonal.geo.point import Point


class Area(ABC):
    """A region of the globe; its edge belongs to it.

    Areas are immutable values: equal areas compare and hash equal, and can be shared by threads.
    """

    __slots__ = ()

    @abstractmethod
    def contains(self, point: Point) -> bool:
        """Whether the point is inside or on the edge."""

    @abstractmethod
    def contains_many(self, lats: ArrayLike, lons: ArrayLike) -> NDArray[np.bool_]:
        """The same answers as `contains`, for arrays of latitudes and longitudes in degrees."""

    @property
    @abstractmethod
    def bounds(self) -> Box:
        """A box that contains the area; `min_lon > max_lon` where it crosses the antimeridian."""

    def intersects(self, other: Area) -> bool:
        """Whether the two areas have a point in common (touching counts)."""
        from zonal.geo.intersection import intersects

        return intersects(self, other)

    def to_wkt(self) -> str:
        """Well-known text; a circle is written in our own extension `CIRCLE (lon lat, metres)`."""
        from zonal.geo.formats import area_to_wkt

        return area_to_wkt(self)

    def to_geojson(self) -> dict[str, Any]:
        """A GeoJSON geometry; a circle is a `Point` with the foreign member `radius_m`."""
        from zonal.geo.formats import area_to_geojson

        return area_to_geojson(self)

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary with the key `type`; `area_from_dict` reads it back."""
        from zonal.geo.formats import area_to_dict

        return area_to_dict(self)


@dataclass(frozen=True, slots=True)
class Everywhere(Area):
    """The whole globe."""

    def contains(self, point: Point) -> bool:  # noqa: ARG002  (every point is inside)
        """True."""
        return True

    def contains_many(self, lats: ArrayLike, lons: ArrayLike) -> NDArray[np.bool_]:
        """All true."""
        return np.ones(np.broadcast_shapes(np.shape(lats), np.shape(lons)), dtype=np.bool_)

    @property
    def bounds(self) -> Box:
        """The box of all latitudes and longitudes."""
        from zonal.geo.box import Box

        return Box(-90.0, -180.0, 90.0, 180.0)
