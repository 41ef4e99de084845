"""Strategies: areas and points that visit the seams of the globe, and one city."""

from __future__ import annotations

from hypothesis import strategies as st

from zonal.geo import Area, Box, Circle, Everywhere, MultiPolygon, Point, Polygon

lats = st.one_of(
    st.sampled_from([-90.0, -89.9999, -60.0, 0.0, 45.5, 60.0, 89.9999, 90.0]),
    st.floats(-90.0, 90.0),
    st.floats(45.4, 45.6),
)
lons = st.one_of(
    st.sampled_from([-180.0, -179.9999, -90.0, 0.0, 9.25, 179.9999, 180.0]),
    st.floats(-180.0, 180.0),
    st.floats(9.1, 9.3),
)
points = st.builds(Point, lats, lons)
radii = st.one_of(
    st.sampled_from([0.0, 0.5, 1000.0, 10_007_557.2, 15_000_000.0, 20_015_000.0]),
    st.floats(0.0, 5000.0),
    st.floats(0.0, 2e7),
)
circles = st.builds(lambda center, radius: Circle(center, radius_m=radius), points, radii)


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    south, north = sorted((draw(lats), draw(lats)))
    return Box(south, draw(lons), north, draw(lons))


@st.composite
def polygons(draw: st.DrawFn) -> Polygon:
    """A triangle or a quadrangle around a place, perhaps across the antimeridian, or a sector."""
    lat, lon = draw(st.floats(-80.0, 80.0)), draw(lons)
    height = draw(st.sampled_from([0.01, 0.3, 5.0, 10.0]))
    width = draw(st.sampled_from([0.01, 0.3, 40.0, 170.0]))
    south = draw(st.sampled_from([lat - height, -90.0]))
    return Polygon(
        (
            (south, lon - width),
            (south, lon + width),
            (lat + height, lon + width / 3),
            (lat + height / 2, lon - width / 2),
            (south, lon - width),
        )
    )


multipolygons = st.lists(polygons(), min_size=1, max_size=3).map(
    lambda parts: MultiPolygon(tuple(parts))
)
areas: st.SearchStrategy[Area] = st.one_of(
    circles, boxes(), polygons(), multipolygons, st.just(Everywhere())
)
