"""Whether two areas have a point in common, for every pair of shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import shapely

from zonal.errors import GeometryError
from zonal.geo.area import Area, Everywhere
from zonal.geo.box import Box
from zonal.geo.circle import EDGE_TOLERANCE_M, Circle
from zonal.geo.point import EARTH_RADIUS_M, Point, distance_m, unit_vector
from zonal.geo.polygon import MultiPolygon, Polygon

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAX_HALVINGS = 60


def intersects(a: Area, b: Area) -> bool:
    """Whether two areas have a point in common; touching counts."""
    if isinstance(a, Everywhere) or isinstance(b, Everywhere):
        return True
    if isinstance(a, Circle):
        return _circle_intersects(a, b)
    if isinstance(b, Circle):
        return _circle_intersects(b, a)
    if isinstance(a, Box) and isinstance(b, Box):
        return _boxes_intersect(a, b)
    return _planar_intersects(a, b)


def planar_of(area: Area) -> shapely.Geometry:
    """A box or polygon as a planar figure: x = longitude (beyond 180 where it crosses), y = lat."""
    if isinstance(area, Polygon | MultiPolygon):
        return area.planar
    if isinstance(area, Box):
        return shapely.box(area.min_lon, area.min_lat, area.min_lon + area.width_deg, area.max_lat)
    raise GeometryError(f"a {type(area).__name__} is no planar figure")


def _boxes_intersect(a: Box, b: Box) -> bool:
    if a.min_lat > b.max_lat or b.min_lat > a.max_lat:
        return False
    if _same_pole(a, b):
        return True
    # Going east from one west edge, the other's west edge comes within the width.
    return (b.min_lon - a.min_lon) % 360.0 <= a.width_deg or (
        (a.min_lon - b.min_lon) % 360.0 <= b.width_deg
    )


def _planar_intersects(a: Area, b: Area) -> bool:
    bounds_a, bounds_b = a.bounds, b.bounds
    if bounds_a.min_lat > bounds_b.max_lat or bounds_b.min_lat > bounds_a.max_lat:
        return False
    if _same_pole(bounds_a, bounds_b):
        return True
    figure_a, figure_b = planar_of(a), planar_of(b)
    if isinstance(a, Box):  # the polygon is the prepared one
        figure_a, figure_b = figure_b, figure_a
    west_a, _, east_a, _ = figure_a.bounds
    west_b, _, east_b, _ = figure_b.bounds
    for shift in (0.0, 360.0, -360.0, 720.0, -720.0):
        if west_b + shift > east_a or east_b + shift < west_a:
            continue
        moved = figure_b if shift == 0.0 else shapely.transform(figure_b, _shift(shift))
        if shapely.intersects(figure_a, moved):
            return True
    return False


def _shift(degrees: float):  # type: ignore[no-untyped-def]  # noqa: ANN202  (a ufunc for shapely)
    return lambda xy: xy + np.array([degrees, 0.0])


def _same_pole(a: Box, b: Box) -> bool:
    return (a.max_lat == 90.0 == b.max_lat) or (a.min_lat == -90.0 == b.min_lat)


def _circle_intersects(circle: Circle, other: Area) -> bool:
    center = circle.center
    if center is None:
        raise GeometryError("a circle without a centre intersects nothing; place it with at(point)")
    if isinstance(other, Circle):
        if other.center is None:
            raise GeometryError("a circle without a centre intersects nothing; place it first")
        gap = distance_m(center, other.center) - circle.radius_m - other.radius_m
        return gap <= 2 * EDGE_TOLERANCE_M
    if other.contains(center):
        return True
    return _edge_within(edges_of(other), center, circle.radius_m + EDGE_TOLERANCE_M)


def edges_of(area: Area) -> NDArray[np.float64]:
    """The edges of a box or polygon as rows (lat, lon, lat, lon); longitudes may pass 180."""
    figure = planar_of(area)
    rows = []
    for ring in _rings(figure):
        lon_lat = shapely.get_coordinates(ring)
        rows.append(np.column_stack([lon_lat[:-1, ::-1], lon_lat[1:, ::-1]]))
    return np.concatenate(rows)


def _rings(figure: shapely.Geometry) -> list[shapely.Geometry]:
    return [
        ring
        for polygon in shapely.get_parts(figure)
        for ring in (polygon.exterior, *polygon.interiors)
    ]


def _edge_within(edges: NDArray[np.float64], center: Point, reach_m: float) -> bool:
    """Whether some edge (straight in lon/lat) comes within `reach_m` of the point.

    Branch and bound, since such an edge has no closed form for its distance on the sphere: a
    piece lies within its half length of its middle; pieces that cannot reach are dropped, the
    others halved, until one does or none is left.
    """
    axis = np.array(unit_vector(center))
    pieces = edges
    for _ in range(_MAX_HALVINGS):
        middle = (pieces[:, :2] + pieces[:, 2:]) / 2
        distance = _distances_m(axis, middle)
        if (distance <= reach_m).any():
            return True
        half_length = _half_lengths_m(pieces)
        near = distance - half_length <= reach_m
        if not near.any():
            return False
        if (half_length[near] < EDGE_TOLERANCE_M / 10).any():
            return True
        pieces, middle = pieces[near], middle[near]
        pieces = np.concatenate(
            [np.hstack([pieces[:, :2], middle]), np.hstack([middle, pieces[:, 2:]])]
        )
    return True


def _distances_m(axis: NDArray[np.float64], lat_lon: NDArray[np.float64]) -> NDArray[np.float64]:
    lat, lon = np.radians(lat_lon).T
    vectors = np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)
    across = np.linalg.norm(np.cross(vectors, axis), axis=1)
    distances: NDArray[np.float64] = EARTH_RADIUS_M * np.arctan2(across, vectors @ axis)
    return distances


def _half_lengths_m(pieces: NDArray[np.float64]) -> NDArray[np.float64]:
    """At least half the length of each piece: its longest parallel stands for all of it."""
    lat_a, lon_a, lat_b, lon_b = np.radians(pieces).T
    nearest_equator = np.where(lat_a * lat_b <= 0, 0.0, np.minimum(np.abs(lat_a), np.abs(lat_b)))
    length = np.hypot(lat_b - lat_a, (lon_b - lon_a) * np.cos(nearest_equator))
    halves: NDArray[np.float64] = length * (EARTH_RADIUS_M / 2) * (1 + 1e-12) + 1e-9
    return halves
