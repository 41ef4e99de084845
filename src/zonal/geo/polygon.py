"""Polygons and multipolygons whose edges are straight in longitude and latitude."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely
from shapely.validation import explain_validity

from zonal.errors import GeometryError
from zonal.geo.area import Box, PlanarArea
from zonal.geo.planar import Ring, rings_to_geojson, rings_to_wkt
from zonal.geo.well_known import MAX_VERTICES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from zonal.geo.point import Point


MAX_OVERLAPPING = 256
"""Vertices of overlapping parts that strangers may send: uniting takes the square of them."""


class _FigureArea(PlanarArea):
    """An area that keeps its figure."""

    __slots__ = ()
    _planar: shapely.Geometry

    @property
    def planar(self) -> shapely.Geometry:
        """The figure as a prepared shapely geometry, x = longitude, y = latitude."""
        return self._planar

    def contains(self, point: Point) -> bool:
        """Whether the point is inside or on the edge."""
        lat, lon = point.lat, point.lon
        if abs(lat) == 90.0:
            return self._touches_pole(lat)
        west, _, east, _ = self._planar.bounds
        return any(
            west <= x <= east and bool(shapely.intersects_xy(self._planar, x, lat))
            for x in (lon, lon + 360.0, lon - 360.0)
        )

    def contains_many(self, lats: ArrayLike, lons: ArrayLike) -> NDArray[np.bool_]:
        """The same answers as `contains`, for arrays."""
        lat, lon = np.broadcast_arrays(
            np.asarray(lats, dtype=np.float64), np.asarray(lons, dtype=np.float64)
        )
        west, _, east, _ = self._planar.bounds
        inside: NDArray[np.bool_] = np.array(shapely.intersects_xy(self._planar, lon, lat))
        for shift in (360.0, -360.0):
            shifted = lon + shift
            beyond = (shifted >= west) & (shifted <= east) & ~inside
            if beyond.any():
                inside[beyond] = shapely.intersects_xy(self._planar, shifted[beyond], lat[beyond])
        poles = np.abs(lat) == 90.0
        if poles.any():
            inside[poles] = [self._touches_pole(value) for value in lat[poles]]
        return inside

    def _touches_pole(self, lat: float) -> bool:
        _, south, _, north = self._planar.bounds
        return bool(north == 90.0 if lat > 0 else south == -90.0)

    @property
    def bounds(self) -> Box:
        """The box around the vertices; all longitudes where the figure spans them."""
        west, south, east, north = (float(value) for value in self._planar.bounds)
        if east - west >= 360.0:
            return Box(south, -180.0, north, 180.0)
        return Box(south, _wrapped(west, outward=-1e-12), north, _wrapped(east, outward=1e-12))

    def to_bytes(self) -> bytes:
        """The letter `P` and the well-known binary."""
        return b"P" + self.to_wkb()


@dataclass(frozen=True, slots=True)
class Polygon(_FigureArea):
    """A polygon with straight edges in longitude and latitude, as GeoJSON defines them.

    Rings are sequences of points or (lat, lon) pairs; an open one is closed by its first vertex.
    Edges are taken as written: a polygon that crosses the antimeridian uses longitudes beyond
    ±180 (170 … 190), or is cut in two (`MultiPolygon`; RFC 7946, 3.1.9). One that contains a
    pole has vertices at latitude ±90.
    """

    shell: Ring
    holes: tuple[Ring, ...] = ()
    _planar: shapely.Geometry = field(init=False, repr=False, compare=False, default=None)
    _hash: int = field(init=False, repr=False, compare=False, default=0)

    def __post_init__(self) -> None:
        shell, outline = _ring(self.shell, "shell")
        inner = [_ring(hole, f"hole {number}") for number, hole in enumerate(self.holes, 1)]
        holes = tuple(hole for hole, _ in inner)
        planar = shapely.polygons(outline, [cut for _, cut in inner] or None)
        _check_valid(planar)
        object.__setattr__(self, "shell", shell)
        object.__setattr__(self, "holes", holes)
        object.__setattr__(self, "_planar", _prepared(planar))
        object.__setattr__(self, "_hash", hash((shell, holes)))

    def __hash__(self) -> int:
        return self._hash  # not found anew each time: there may be thousands of vertices

    def __reduce__(self) -> tuple[type[Polygon], tuple[Any, ...]]:
        # Rebuilt from its vertices, since a pickled geometry is no longer prepared.
        return Polygon, (self.shell, self.holes)

    @property
    def rings(self) -> tuple[Ring, ...]:
        """The shell and the holes."""
        return self.shell, *self.holes

    def to_wkt(self) -> str:
        """`POLYGON (…)`."""
        return f"POLYGON {rings_to_wkt(self.rings)}"

    def to_geojson(self) -> dict[str, Any]:
        """A `Polygon`."""
        return {"type": "Polygon", "coordinates": rings_to_geojson(self.rings)}

    def to_dict(self) -> dict[str, Any]:
        """The type `polygon`, the shell and the holes."""
        shell, *holes = ([list(vertex) for vertex in ring] for ring in self.rings)
        return {"type": "polygon", "shell": shell, "holes": holes}

    def to_wkb(self) -> bytes:
        """A polygon."""
        return bytes(shapely.to_wkb(self._planar))


@dataclass(frozen=True, slots=True)
class MultiPolygon(_FigureArea):
    """Several polygons as one area; they may be apart, touch or overlap.

    `of_stranger`: a `GeometryError` where uniting them would take long.
    """

    polygons: tuple[Polygon, ...]
    of_stranger: InitVar[bool] = field(default=False, kw_only=True)
    _planar: shapely.Geometry = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self, of_stranger: bool) -> None:
        polygons = tuple(self.polygons)
        if not polygons:
            raise GeometryError("a multipolygon needs at least one polygon")
        if not all(isinstance(polygon, Polygon) for polygon in polygons):
            raise GeometryError("a multipolygon consists of Polygon objects")
        planar = shapely.MultiPolygon([polygon.planar for polygon in polygons])
        if not planar.is_valid:
            if of_stranger and _vertices(polygons) > MAX_OVERLAPPING:
                raise GeometryError(
                    f"parts that overlap have at most {MAX_OVERLAPPING} vertices together; send "
                    "their union (shapely.union_all)"
                )
            planar = shapely.union_all([polygon.planar for polygon in polygons])
        object.__setattr__(self, "polygons", polygons)
        object.__setattr__(self, "_planar", _prepared(planar))

    def __reduce__(self) -> tuple[type[MultiPolygon], tuple[Any, ...]]:
        # Rebuilt from its vertices, since a pickled geometry is no longer prepared.
        return MultiPolygon, (self.polygons,)

    def to_wkt(self) -> str:
        """`MULTIPOLYGON (…)`."""
        return f"MULTIPOLYGON ({', '.join(rings_to_wkt(part.rings) for part in self.polygons)})"

    def to_geojson(self) -> dict[str, Any]:
        """A `MultiPolygon`."""
        coordinates = [rings_to_geojson(part.rings) for part in self.polygons]
        return {"type": "MultiPolygon", "coordinates": coordinates}

    def to_dict(self) -> dict[str, Any]:
        """The type `multipolygon` and its parts."""
        return {"type": "multipolygon", "polygons": [part.to_dict() for part in self.polygons]}

    def to_wkb(self) -> bytes:
        """A multipolygon of its parts, also where they overlap."""
        parts = shapely.MultiPolygon([part.planar for part in self.polygons])
        return bytes(shapely.to_wkb(parts))

    def to_bytes(self) -> bytes:
        """The letter `P` and the well-known binary; of parts that overlap too much, their union."""
        if overlap_too_much(self.polygons):
            return b"P" + bytes(shapely.to_wkb(self._planar))
        return b"P" + self.to_wkb()


def overlap_too_much(polygons: Sequence[Polygon]) -> bool:
    """Whether polygons overlap and have more than `MAX_OVERLAPPING` vertices together."""
    if _vertices(polygons) <= MAX_OVERLAPPING:
        return False
    return not shapely.MultiPolygon([polygon.planar for polygon in polygons]).is_valid


def _vertices(polygons: Sequence[Polygon]) -> int:
    return sum(len(ring) for polygon in polygons for ring in polygon.rings)


def _ring(
    vertices: Iterable[Point | Sequence[float]], name: str
) -> tuple[Ring, shapely.LinearRing]:
    """The ring of these vertices, closed, also as shapely has it."""
    try:
        ring = tuple((float(lat), float(lon)) for lat, lon in vertices)
    except (TypeError, ValueError, OverflowError) as error:
        raise GeometryError(f"{name}: a ring is a sequence of points or (lat, lon)") from error
    if len(ring) > MAX_VERTICES:
        raise GeometryError(f"{name}: {len(ring):,} vertices exceed the limit of {MAX_VERTICES:,}")
    if ring and ring[0] != ring[-1]:
        ring += ring[:1]
    if len(ring) < 4:
        raise GeometryError(f"{name}: a ring needs at least 3 corners, not {max(len(ring) - 1, 0)}")
    corners = np.array(ring)
    lats, lons = corners.T
    if not (np.abs(lats) <= 90.0).all():
        raise GeometryError(f"{name}: latitudes (which come first) must be between -90 and 90")
    if not (np.abs(lons) <= 360.0).all() or lons.max() - lons.min() > 360.0:
        raise GeometryError(
            f"{name}: longitudes must be between -180 and 180 degrees, or go on to ±360 where the "
            "polygon crosses the antimeridian, and span at most 360 degrees"
        )
    return ring, shapely.linearrings(corners[:, ::-1])


def _check_valid(planar: shapely.Geometry) -> None:
    if planar.is_valid and planar.area > 0.0:
        return
    reason = explain_validity(planar) if not planar.is_valid else "no area"
    raise GeometryError(
        f"the polygon is not simple: {reason} (as x = longitude, y = latitude); rings must not "
        "cross themselves or each other, and holes lie inside the shell"
    )


def _prepared(planar: shapely.Geometry) -> shapely.Geometry:
    shapely.prepare(planar)
    # The first question builds GEOS' lazy index; asking it here keeps later ones thread-safe.
    shapely.intersects_xy(planar, 0.0, 0.0)
    return planar


def _wrapped(lon: float, *, outward: float) -> float:
    """The meridian between −180 and 180, a hair outward where wrapping has rounded."""
    return lon if -180.0 <= lon <= 180.0 else (lon + outward + 180.0) % 360.0 - 180.0
