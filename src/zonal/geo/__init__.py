"""Points, areas, cells and grids: pure functions, no I/O.

Latitude comes before longitude, both in degrees (WGS 84); lengths are in metres on a sphere.
Only well-known text and GeoJSON, by their standards, put the longitude first.
"""

from zonal.geo.area import Area, Box, Everywhere, GivenArea, PlanarArea, as_area, planar_of
from zonal.geo.cell import (
    MAX_LEVEL,
    Cell,
    ancestor_ids,
    cell_id_of,
    cell_of,
    level_for_size,
    outline,
)
from zonal.geo.cell_array import cell_ids_of
from zonal.geo.circle import Circle
from zonal.geo.cover import DEFAULT_MAX_CELLS, cell_intersects, cover
from zonal.geo.curve import middle_of
from zonal.geo.following import following_cover
from zonal.geo.formats import (
    area_from_bytes,
    area_from_dict,
    area_from_geojson,
    area_from_planar,
    area_from_wkb,
    area_from_wkt,
)
from zonal.geo.grid import Grid, GridCell
from zonal.geo.inside import common_part, is_within
from zonal.geo.moving_cover import TileSpot, new_tiles
from zonal.geo.planar import EDGE_TOLERANCE_M, figures_intersect
from zonal.geo.point import (
    EARTH_RADIUS_M,
    HALF_CIRCUMFERENCE_M,
    GivenPoint,
    Point,
    as_point,
    destination,
    distance_m,
    point_from_wkt,
    unit_vector,
    unit_vectors,
)
from zonal.geo.polygon import MultiPolygon, Polygon, overlap_too_much
from zonal.geo.polygon_cover import compare_quadrangles
from zonal.geo.tree_cover import CoverLayer, cheapest
from zonal.geo.widen import together, widened

__all__ = [
    "DEFAULT_MAX_CELLS",
    "EARTH_RADIUS_M",
    "EDGE_TOLERANCE_M",
    "HALF_CIRCUMFERENCE_M",
    "MAX_LEVEL",
    "Area",
    "Box",
    "Cell",
    "Circle",
    "CoverLayer",
    "Everywhere",
    "GivenArea",
    "GivenPoint",
    "Grid",
    "GridCell",
    "MultiPolygon",
    "PlanarArea",
    "Point",
    "Polygon",
    "TileSpot",
    "ancestor_ids",
    "area_from_bytes",
    "area_from_dict",
    "area_from_geojson",
    "area_from_planar",
    "area_from_wkb",
    "area_from_wkt",
    "as_area",
    "as_point",
    "cell_id_of",
    "cell_ids_of",
    "cell_intersects",
    "cell_of",
    "cheapest",
    "common_part",
    "compare_quadrangles",
    "cover",
    "destination",
    "distance_m",
    "figures_intersect",
    "following_cover",
    "is_within",
    "level_for_size",
    "middle_of",
    "new_tiles",
    "outline",
    "overlap_too_much",
    "planar_of",
    "point_from_wkt",
    "together",
    "unit_vector",
    "unit_vectors",
    "widened",
]
