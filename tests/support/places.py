"""Hypothesis strategies for points and areas, also at the antimeridian and the poles."""

from __future__ import annotations

import math

from hypothesis import strategies as st

from zonal.geo import (
    HALF_CIRCUMFERENCE_M,
    Area,
    Box,
    Circle,
    Everywhere,
    MultiPolygon,
    Point,
    Polygon,
    destination,
)

_LATS = st.one_of(st.sampled_from([-90.0, -89.5, 0.0, 45.0, 90.0]), st.floats(-90, 90, width=32))
_LONS = st.one_of(
    st.sampled_from([-180.0, -179.5, 0.0, 9.0, 180.0]), st.floats(-180, 180, width=32)
)
points = st.builds(Point, _LATS, _LONS)

_RADII = st.one_of(st.floats(0, 10), st.floats(10, 50_000), st.floats(50_000, HALF_CIRCUMFERENCE_M))
circles = st.builds(lambda center, radius: Circle(center, radius_m=radius), points, _RADII)


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    south, north = sorted((draw(_LATS), draw(_LATS)))
    return Box(south, draw(_LONS), north, draw(_LONS))


@st.composite
def polygons(draw: st.DrawFn) -> Polygon:
    """Star-shaped around a middle, so never self-crossing; perhaps with a hole."""
    lat = draw(st.floats(-80, 80))
    lon = draw(st.one_of(st.floats(-180, 180), st.sampled_from([-180.0, 179.9, 0.0])))
    reach = draw(st.one_of(st.floats(0.0005, 0.05), st.floats(0.05, 9.5)))
    count = draw(st.integers(3, 12))
    shares = draw(st.lists(st.floats(0.5, 1.0), min_size=count, max_size=count))
    shell = _star(lat, lon, [reach * share for share in shares])
    holes = (_star(lat, lon, [reach * 0.1] * 3),) if draw(st.booleans()) else ()
    return Polygon(shell, holes)


def _star(lat: float, lon: float, reaches: list[float]) -> tuple[tuple[float, float], ...]:
    ring = [
        (
            lat + reach * math.sin(2 * math.pi * number / len(reaches)),
            lon + reach * math.cos(2 * math.pi * number / len(reaches)),
        )
        for number, reach in enumerate(reaches)
    ]
    return (*ring, ring[0])


multipolygons = st.builds(
    lambda parts: MultiPolygon(tuple(parts)), st.lists(polygons(), min_size=1, max_size=3)
)
areas: st.SearchStrategy[Area] = st.one_of(
    circles, boxes(), polygons(), multipolygons, st.just(Everywhere())
)


@st.composite
def points_near(draw: st.DrawFn, area: Area) -> Point:
    """A point that is likely to be at or near the area's edge, or anywhere."""
    match area:
        case Circle(center=Point() as center, radius_m=radius):
            bearing = draw(st.floats(0, 360))
            share = draw(st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0, 1.5)))
            return destination(center, bearing, min(radius * share, HALF_CIRCUMFERENCE_M))
        case Polygon(shell=shell):
            (lat_a, lon_a), (lat_b, lon_b) = (
                draw(st.sampled_from(shell)),
                draw(st.sampled_from(shell)),
            )
            share = draw(st.floats(0, 1))
            lat = lat_a + (lat_b - lat_a) * share
            lon = (lon_a + (lon_b - lon_a) * share + 180) % 360 - 180
            return Point(max(-90.0, min(90.0, lat)), lon)
        case MultiPolygon(polygons=parts):
            return draw(points_near(draw(st.sampled_from(parts))))
        case Box() as box:
            lat = draw(st.one_of(st.sampled_from([box.min_lat, box.max_lat]), _LATS))
            lon = draw(st.one_of(st.sampled_from([box.min_lon, box.max_lon]), _LONS))
            return Point(lat, lon)
    return draw(points)


@st.composite
def areas_with_points(draw: st.DrawFn) -> tuple[Area, Point]:
    area = draw(areas)
    return area, draw(st.one_of(points_near(area), points))
