"""Polygons and multipolygons whose edges are straight in longitude and latitude."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, InitVar, dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import shapely
from shapely.validation import explain_validity

from zonal.errors import GeometryError
from zonal.geo.area import Box, PlanarArea
from zonal.geo.planar import Ring, rings_to_geojson, rings_to_wkt
from zonal.geo.point import GivenPoint, Point, as_point
from zonal.geo.well_known import MAX_VERTICES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

MAX_OVERLAPPING = 256
"""Vertices of overlapping parts that strangers may send: uniting takes the square of them."""


class _FigureArea(PlanarArea):
    """An area that keeps its figure.

    Any number of threads may ask it at the same time.
    """

    __slots__ = ()
    _planar: shapely.Geometry
    _asked: shapely.Geometry | None

    @property
    def planar(self) -> shapely.Geometry:
        """The figure as a shapely geometry, x = longitude, y = latitude.

        It is not prepared (see `prepared`): only one thread at a time may compare a prepared
        figure with others.
        """
        return self._planar

    @property
    def planar_for_points(self) -> shapely.Geometry:
        """The figure prepared for questions about points, and for nothing else."""
        asked = self._asked
        if asked is None:
            asked = _prepared_for_points(self._planar)
            object.__setattr__(self, "_asked", asked)
        return asked

    def prepared(self) -> Self:
        """The same area for many comparisons with others, by one thread alone."""
        figure = _copied(self._planar)
        shapely.prepare(figure)
        made = object.__new__(type(self))
        slots: tuple[str, ...] = type(self).__slots__
        for name in slots:
            object.__setattr__(made, name, figure if name == "_planar" else getattr(self, name))
        return made

    def contains(self, point: GivenPoint) -> bool:
        """Whether the point is inside or on the edge."""
        if type(point) is not Point:
            point = as_point(point)
        lat, lon = point.lat, point.lon
        if abs(lat) == 90.0:
            return self._touches_pole(lat)
        figure = self.planar_for_points
        west, _, east, _ = figure.bounds
        return any(
            west <= x <= east and bool(shapely.intersects_xy(figure, x, lat))
            for x in (lon, lon + 360.0, lon - 360.0)
        )

    def contains_many(self, lats: ArrayLike, lons: ArrayLike) -> NDArray[np.bool_]:
        """The same answers as `contains`, for arrays."""
        lat, lon = np.broadcast_arrays(
            np.asarray(lats, dtype=np.float64), np.asarray(lons, dtype=np.float64)
        )
        figure = self.planar_for_points
        west, _, east, _ = figure.bounds
        inside: NDArray[np.bool_] = np.array(shapely.intersects_xy(figure, lon, lat))
        for shift in (360.0, -360.0):
            shifted = lon + shift
            beyond = (shifted >= west) & (shifted <= east) & ~inside
            if beyond.any():
                inside[beyond] = shapely.intersects_xy(figure, shifted[beyond], lat[beyond])
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


class Polygon(_FigureArea):
    """A polygon with straight edges in longitude and latitude, as GeoJSON defines them.

    Rings are sequences of points or (lat, lon) pairs; an open one is closed by its first vertex.
    Edges are taken as written: a polygon that crosses the antimeridian uses longitudes beyond
    ±180 (170 … 190), or is cut in two (`MultiPolygon`; RFC 7946, 3.1.9). One that contains a
    pole has vertices at latitude ±90.
    """

    # Vertices as pairs, and their hash, are made of the figure when somebody asks.
    __slots__ = ("_asked", "_hash", "_planar", "_rings")
    __match_args__ = ("shell", "holes")
    _hash: int | None
    _rings: tuple[Ring, ...] | None

    def __init__(
        self,
        shell: Iterable[Point | Sequence[float]],
        holes: Iterable[Iterable[Point | Sequence[float]]] = (),
    ) -> None:
        outline = _ring(shell, "shell")
        inner = [_ring(hole, f"hole {number}") for number, hole in enumerate(holes, 1)]
        _keep(self, shapely.polygons(outline, inner or None))

    @classmethod
    def of_figure(cls, planar: shapely.Geometry) -> Polygon:
        """The polygon that a shapely polygon in the plane is (x = longitude)."""
        if planar.has_z or not _in_bounds(planar.bounds, shapely.get_num_coordinates(planar)):
            # The long way has the words for what is wrong.
            rings = [shapely.get_coordinates(ring)[:, ::-1].tolist() for ring in _rings_of(planar)]
            return cls(rings[0], rings[1:])
        made = cls.__new__(cls)
        _keep(made, planar)
        return made

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"a polygon does not change: {name}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Polygon):
            return NotImplemented
        return self is other or self.rings == other.rings

    def __hash__(self) -> int:
        if self._hash is None:  # once: there may be thousands of vertices
            object.__setattr__(self, "_hash", hash(self.rings))
        return self._hash or 0

    def __repr__(self) -> str:
        return f"Polygon(shell={self.shell!r}, holes={self.holes!r})"

    def __reduce__(self) -> tuple[type[Polygon], tuple[Any, ...]]:
        # Rebuilt from its vertices alone.
        return Polygon, (self.shell, self.holes)

    @property
    def rings(self) -> tuple[Ring, ...]:
        """The shell and the holes."""
        if self._rings is None:
            rings = (shapely.get_coordinates(ring) for ring in _rings_of(self._planar))
            pairs = tuple(
                tuple(zip(xy[:, 1].tolist(), xy[:, 0].tolist(), strict=True)) for xy in rings
            )
            object.__setattr__(self, "_rings", pairs)
            return pairs
        return self._rings

    @property
    def shell(self) -> Ring:
        """The vertices of the outer ring as (latitude, longitude), closed."""
        return self.rings[0]

    @property
    def holes(self) -> tuple[Ring, ...]:
        """The inner rings."""
        return self.rings[1:]

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
    _asked: shapely.Geometry | None = field(init=False, repr=False, compare=False, default=None)

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
        object.__setattr__(self, "_planar", planar)

    def __reduce__(self) -> tuple[type[MultiPolygon], tuple[Any, ...]]:
        # Rebuilt from its vertices alone.
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


def _ring(vertices: Iterable[Point | Sequence[float]], name: str) -> shapely.LinearRing:
    """The closed ring of these vertices."""
    try:
        ring = [(float(lat), float(lon)) for lat, lon in vertices]
    except (TypeError, ValueError, OverflowError) as error:
        raise GeometryError(f"{name}: a ring is a sequence of points or (lat, lon)") from error
    if len(ring) > MAX_VERTICES:
        raise GeometryError(f"{name}: {len(ring):,} vertices exceed the limit of {MAX_VERTICES:,}")
    if ring and ring[0] != ring[-1]:
        ring += ring[:1]
    if len(ring) < 4:
        raise GeometryError(f"{name}: a ring needs at least 3 corners, not {max(len(ring) - 1, 0)}")
    corners = np.array(ring)[:, ::-1]
    (west, south), (east, north) = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
    if not -90.0 <= south <= north <= 90.0:  # nor are they where one is not a number
        raise GeometryError(f"{name}: latitudes (which come first) must be between -90 and 90")
    if not _in_bounds((west, south, east, north), len(ring)):
        raise GeometryError(
            f"{name}: longitudes must be between -180 and 180 degrees, or go on to ±360 where the "
            "polygon crosses the antimeridian, and span at most 360 degrees"
        )
    return shapely.linearrings(corners)


def _in_bounds(bounds: tuple[float, float, float, float], vertices: int) -> bool:
    """Whether a figure has few enough vertices, and all of them on the globe."""
    west, south, east, north = bounds  # not a number where there is no vertex
    on_globe = south >= -90.0 and north <= 90.0 and west >= -360.0 and east <= 360.0
    return on_globe and east - west <= 360.0 and vertices <= MAX_VERTICES


def _rings_of(planar: shapely.Geometry) -> tuple[shapely.LinearRing, ...]:
    return (planar.exterior, *planar.interiors)


def _keep(polygon: Polygon, planar: shapely.Geometry) -> None:
    _check_valid(planar)
    for name, value in (("_planar", planar), ("_asked", None), ("_rings", None), ("_hash", None)):
        object.__setattr__(polygon, name, value)


def _check_valid(planar: shapely.Geometry) -> None:
    if planar.is_valid and planar.area > 0.0:
        return
    reason = explain_validity(planar) if not planar.is_valid else "no area"
    raise GeometryError(
        f"the polygon is not simple: {reason} (as x = longitude, y = latitude); rings must not "
        "cross themselves or each other, and holes lie inside the shell"
    )


def _prepared_for_points(planar: shapely.Geometry) -> shapely.Geometry:
    figure = _copied(planar)
    shapely.prepare(figure)
    # With the second question in its box GEOS builds an index. Were two threads the first to ask,
    # both would, in the same place.
    west, south, _, _ = figure.bounds
    shapely.intersects_xy(figure, (west, west), (south, south))
    return figure


def _copied(planar: shapely.Geometry) -> shapely.Geometry:
    return shapely.set_srid(planar, 0)


def _wrapped(lon: float, *, outward: float) -> float:
    """The meridian between −180 and 180, a hair outward where wrapping has rounded."""
    return lon if -180.0 <= lon <= 180.0 else (lon + outward + 180.0) % 360.0 - 180.0
