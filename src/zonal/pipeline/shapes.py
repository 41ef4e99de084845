"""Areas in two columns: well-known binary, and a radius where the area is a circle."""

from __future__ import annotations

import shapely

from zonal.geo import Area, Circle, Everywhere, Point, area_from_wkb

_WORLD = Everywhere().to_wkb()


def area_to_columns(area: Area | None) -> tuple[bytes | None, float | None]:
    """The columns `geofence` and `geofence_radius_m`; a circle's geometry is its centre."""
    if area is None:
        return None, None
    return area.to_wkb(), area.radius_m if isinstance(area, Circle) else None


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
