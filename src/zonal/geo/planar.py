"""Planar figures, x = longitude and y = latitude in degrees: rings, and where figures meet.

Edges are straight in longitude and latitude. Longitudes may pass 180 where a figure crosses the
antimeridian; a figure and its copies 360 degrees apart are the same place.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import shapely

from zonal.geo.point import EARTH_RADIUS_M, unit_vector, unit_vectors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from zonal.geo.point import Point

Ring = tuple[tuple[float, float], ...]
"""Vertices as (latitude, longitude); the last one equals the first."""

EDGE_TOLERANCE_M = 1e-6
"""A point this near to an edge is on it: a micrometre, well above rounding errors."""

_MAX_HALVINGS = 60
_MILLIMETRE, _MOST_PIECES = 1e-3, 50_000
_FLAT_M, _FLAT_DEG, _FLAT_LAT = 10_000.0, 1.0, 80.0
"""Up to here the Earth is flat enough for a rough answer."""


def rings_to_wkt(rings: Iterable[Ring]) -> str:
    """A shell and its holes as in well-known text, with all digits: `((9.0 45.0, …), (…))`."""
    texts = (", ".join(f"{lon!r} {lat!r}" for lat, lon in ring) for ring in rings)
    return f"({', '.join(f'({text})' for text in texts)})"


def rings_to_geojson(rings: Iterable[Ring]) -> list[list[list[float]]]:
    """A shell and its holes as the coordinates of a GeoJSON polygon."""
    return [[[lon, lat] for lat, lon in ring] for ring in rings]


def figures_intersect(a: shapely.Geometry, b: shapely.Geometry) -> bool:
    """Whether two figures have a point in common; quicker where the first is a prepared one."""
    west_a, _, east_a, _ = a.bounds
    west_b, _, east_b, _ = b.bounds
    for shift in (0.0, 360.0, -360.0, 720.0, -720.0):
        if west_b + shift > east_a or east_b + shift < west_a:
            continue
        moved = b if shift == 0.0 else shapely.transform(b, _shift(shift))
        if shapely.intersects(a, moved):
            return True
    return False


def _shift(degrees: float):  # type: ignore[no-untyped-def]  # noqa: ANN202  (a ufunc for shapely)
    return lambda xy: xy + np.array([degrees, 0.0])


def comes_within(figure: shapely.Geometry, center: Point, reach_m: float) -> bool:
    """Whether some edge of the figure comes within `reach_m` metres of a point outside it.

    Branch and bound, since such an edge has no closed form for its distance on the sphere: a
    piece lies within its half length of its middle; pieces that cannot reach are dropped, the
    others halved, until one does or none is left.
    """
    roughly = _comes_roughly_within(figure, center, reach_m)
    return edge_comes_within(figure, center, reach_m) if roughly is None else roughly


def edge_comes_within(figure: shapely.Geometry, center: Point, reach_m: float) -> bool:
    """Whether some edge of the figure comes within `reach_m` metres of a point inside it."""
    axis = np.array(unit_vector(center))
    pieces = _edges_of(figure)
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
        pieces = _halved(pieces[near], middle[near])
    return True


def farthest_m(figure: shapely.Geometry, center: Point) -> float:
    """How far a figure's edges go from a point: metres, at most a millimetre too many.

    More only where very many edges are equally far.
    """
    pieces = _edges_of(figure)
    axis = np.array(unit_vector(center))
    for _ in range(_MAX_HALVINGS):
        middle = (pieces[:, :2] + pieces[:, 2:]) / 2
        distance, half_length = _distances_m(axis, middle), _half_lengths_m(pieces)
        far = distance + half_length >= distance.max()
        if (half_length[far] < _MILLIMETRE / 2).all() or far.sum() > _MOST_PIECES:
            break
        pieces = _halved(pieces[far], middle[far])
    return float((distance + half_length).max())


def _halved(pieces: NDArray[np.float64], middle: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate([np.hstack([pieces[:, :2], middle]), np.hstack([middle, pieces[:, 2:]])])


def _comes_roughly_within(figure: shapely.Geometry, center: Point, reach_m: float) -> bool | None:
    """The answer where the distance in degrees gives it for certain; None where it does not.

    Away from the seams a degree is at most as long as one of latitude, and at least as long as
    one of longitude at the latitude nearest to a pole; 1 % is more than the sphere adds to that
    within the farthest distance.
    """
    west, _, east, _ = figure.bounds
    if reach_m > _FLAT_M or min(west, center.lon) < -179.0 or max(east, center.lon) > 179.0:
        return None
    degrees = float(shapely.distance(figure, shapely.Point(center.lon, center.lat)))
    if degrees > _FLAT_DEG or abs(center.lat) > _FLAT_LAT:
        return None
    longest = degrees * math.radians(EARTH_RADIUS_M)
    if longest * 1.01 <= reach_m:
        return True
    shortest = longest * math.cos(math.radians(abs(center.lat) + degrees))
    return False if shortest * 0.99 > reach_m else None


def _edges_of(figure: shapely.Geometry) -> NDArray[np.float64]:
    """The edges as rows (lat, lon, lat, lon)."""
    rows = []
    for polygon in shapely.get_parts(figure):
        for ring in (polygon.exterior, *polygon.interiors):
            lon_lat = shapely.get_coordinates(ring)
            rows.append(np.column_stack([lon_lat[:-1, ::-1], lon_lat[1:, ::-1]]))
    return np.concatenate(rows)


def _distances_m(axis: NDArray[np.float64], lat_lon: NDArray[np.float64]) -> NDArray[np.float64]:
    vectors = np.stack(unit_vectors(*lat_lon.T), axis=1)
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
