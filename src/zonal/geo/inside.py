"""Whether one area lies within another, and what two areas have in common."""

from __future__ import annotations

import numpy as np
import shapely

from zonal.geo.area import Area, Box, Everywhere, GivenArea, PlanarArea, as_area
from zonal.geo.circle import Circle
from zonal.geo.formats import area_from_planar
from zonal.geo.planar import EDGE_TOLERANCE_M, edge_comes_within, farthest_m
from zonal.geo.point import HALF_CIRCUMFERENCE_M

_TURNS = (0.0, 360.0, -360.0)


def is_within(inner: GivenArea, outer: GivenArea) -> bool:
    """Whether all of an area certainly lies in another; touching its edge from inside counts.

    Never true where a point is outside. Not always true where none is: an area that comes within
    a millimetre of a circle's edge, or around a pole, may be taken for one that goes beyond.
    """
    inner, outer = as_area(inner), as_area(outer)
    if inner == outer or isinstance(outer, Everywhere):
        return True
    if inner.is_ego_centric or outer.is_ego_centric or isinstance(inner, Everywhere):
        return False
    if isinstance(outer, Circle):
        return _is_in_circle(inner, outer)
    if isinstance(outer, PlanarArea) and isinstance(inner, PlanarArea):
        return _figure_within(inner, outer)
    return (
        isinstance(outer, PlanarArea) and isinstance(inner, Circle) and _circle_within(inner, outer)
    )


def _is_in_circle(inner: Area, outer: Circle) -> bool:
    assert outer.center is not None
    if isinstance(inner, Circle):
        assert inner.center is not None
        reach = inner.center.distance_m(outer.center) + inner.radius_m
        return reach + EDGE_TOLERANCE_M <= outer.radius_m
    # Less than a half sphere, a circle is convex: whoever holds the edge of a figure holds it all.
    return (
        isinstance(inner, PlanarArea)
        and outer.radius_m < HALF_CIRCUMFERENCE_M / 2
        and not _is_polar(inner.bounds)
        and farthest_m(inner.planar, outer.center) + EDGE_TOLERANCE_M <= outer.radius_m
    )


def _figure_within(inner: PlanarArea, outer: PlanarArea) -> bool:
    if _is_polar(inner.bounds) and not _spans(outer.bounds, inner.bounds):
        return False
    return any(outer.planar.covers(_turned(inner.planar, turn)) for turn in _TURNS)


def _circle_within(inner: Circle, outer: PlanarArea) -> bool:
    center = inner.center
    if center is None or not outer.contains(center) or _is_polar(inner.bounds):
        return False
    return not edge_comes_within(outer.planar, center, inner.radius_m)


def _is_polar(bounds: Box) -> bool:
    return max(abs(bounds.min_lat), abs(bounds.max_lat)) == 90.0 or bounds.width_deg >= 360.0


def _is_at_seam(bounds: Box) -> bool:
    touches = (
        min(bounds.min_lon, bounds.max_lon) <= -180.0
        or max(bounds.min_lon, bounds.max_lon) >= 180.0
    )
    return bounds.crosses_antimeridian or touches or _is_polar(bounds)


def _spans(outer: Box, inner: Box) -> bool:
    """Whether a box that goes all around holds one that does, or that holds a pole."""
    return (
        outer.width_deg >= 360.0
        and outer.min_lat <= inner.min_lat
        and inner.max_lat <= outer.max_lat
    )


def _turned(figure: shapely.Geometry, degrees: float) -> shapely.Geometry:
    return shapely.transform(figure, lambda xy: xy + np.array([degrees, 0.0]))


def common_part(a: GivenArea, b: GivenArea) -> Area | None:
    """An area that contains all that two have in common; None where that is nothing.

    Of boxes and polygons away from the antimeridian it is exactly that; where there is a circle,
    it is the one of the two that lies within the other, or else the smaller one.
    """
    a, b = as_area(a), as_area(b)
    if not a.meets(b):
        return None
    if is_within(a, b):
        return a
    if is_within(b, a):
        return b
    if isinstance(a, PlanarArea) and isinstance(b, PlanarArea):
        seam = any(map(_is_at_seam, (a.bounds, b.bounds)))
        figure = shapely.intersection(a.planar, b.planar)
        polygons = [part for part in shapely.get_parts(figure) if part.area > 0]
        if not seam and polygons:
            return area_from_planar(shapely.union_all(polygons))
    return min(a, b, key=_extent)


def _extent(area: Area) -> float:
    bounds = area.bounds
    return bounds.width_deg * bounds.height_deg
