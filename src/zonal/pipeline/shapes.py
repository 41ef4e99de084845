"""Areas in two columns: well-known binary, and a radius where the area is a circle."""

from __future__ import annotations

import shapely

from zonal.errors import GeometryError
from zonal.geo import Area, Box, Circle, Everywhere, MultiPolygon, Point, Polygon, area_from_wkb

_WORLD = shapely.to_wkb(shapely.box(-180, -90, 180, 90))


def area_to_columns(area: Area | None) -> tuple[bytes | None, float | None]:
    """The columns `geofence` and `geofence_radius_m`; a circle's geometry is its centre."""
    match area:
        case None:
            return None, None
        case Everywhere():
            return _WORLD, None
        case Circle(center=Point(lat, lon), radius_m=radius_m):
            return shapely.to_wkb(shapely.Point(lon, lat)), radius_m
    return shapely.to_wkb(_planar(area)), None


def _planar(area: Area) -> shapely.Geometry:
    match area:
        case Box() if area.crosses_antimeridian:
            east = shapely.box(area.min_lon, area.min_lat, 180, area.max_lat)
            west = shapely.box(-180, area.min_lat, area.max_lon, area.max_lat)
            return shapely.MultiPolygon([east, west])
        case Box():
            return shapely.box(area.min_lon, area.min_lat, area.max_lon, area.max_lat)
        case Polygon():
            return area.planar
        case MultiPolygon(polygons):
            return shapely.MultiPolygon([polygon.planar for polygon in polygons])
    raise GeometryError(f"{area} has no place yet, or no form in a table")


def area_from_columns(geofence: bytes | None, radius_m: float | None) -> Area | None:
    """The area that two columns hold."""
    if geofence is None:
        return None
    if radius_m is not None:
        centre = shapely.from_wkb(geofence)
        return Circle(Point(centre.y, centre.x), radius_m=radius_m)
    if geofence == _WORLD:
        return Everywhere()
    return area_from_wkb(geofence)
