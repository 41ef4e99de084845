"""What lies behind the map: grids, covers and routers, as GeoJSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import zenoh

from zonal.errors import LocationKeyError
from zonal.geo import Area, Box, Cell, Circle, Point, cover, level_for_size, outline
from zonal.keys import LocationKey, Role, encode_area, encoding_named

if TYPE_CHECKING:
    from collections.abc import Iterable

    from zonal.session import Session

MOST_CELLS = 400
_METRES_PER_DEGREE = 111_195.0
_ACROSS = 12
_ROUTERS_TIMEOUT_S = 2.0


def cover_of(area: Area, encoding: str) -> dict[str, Any]:
    """The cells by which the network knows an area: one feature for each key expression."""
    return _collection(_feature(key) for key in encode_area(area, encoding))


def grid_of(view: Box, encoding: str) -> dict[str, Any]:
    """The cells of an encoding's grid that are in view, at a size that can be seen."""
    if encoding == "s2":
        return _collection(
            {
                "type": "Feature",
                "geometry": geometry_of(cell),
                "properties": {"name": cell.token, "level": cell.level},
            }
            for cell in cells_in(view)
        )
    names = encoding_named(encoding).area_expressions(view, Role.SUBSCRIBER, MOST_CELLS // 2)
    return _collection(_feature(LocationKey(name, Role.SUBSCRIBER)) for name in names)


def cells_in(view: Box) -> list[Cell]:
    """S2 cells of one level (an even one, as keys have) in view."""
    height_m = max(1.0, (view.max_lat - view.min_lat) * _METRES_PER_DEGREE)
    level = min(30, level_for_size(height_m / _ACROSS, step=2) + 2)
    while level > 0:
        found = cover(view, MOST_CELLS, max_level=level, step=2)
        count = sum(4 ** (level - cell.level) for cell in found)
        if count <= MOST_CELLS:
            return [part for cell in found for part in cell.children(level)]
        level -= 2
    return [Cell.from_face(face) for face in range(6)]


def _feature(key: LocationKey) -> dict[str, Any]:
    try:
        place = key.decode()
    except LocationKeyError:
        place = Box(-90.0, -180.0, 90.0, 180.0)
    return {
        "type": "Feature",
        "geometry": geometry_of(place),
        "properties": {"name": _short(key.expression), "expression": key.expression},
    }


def _short(expression: str) -> str:
    """What a person calls the cell: its chunks without wildcards."""
    _, _, rest = expression.partition("/")
    return rest.removesuffix("/**").replace("/", "").replace("$*", "") or "everywhere"


def geometry_of(place: Point | Cell | Area) -> dict[str, Any]:
    """GeoJSON of anything that has a place."""
    match place:
        case Point(lat, lon):
            return {"type": "Point", "coordinates": [lon, lat]}
        case Cell():
            return outline(place, 4).to_geojson()
        case Circle() if place.is_ego_centric:
            return {"type": "GeometryCollection", "geometries": []}
    return place.to_geojson()


def _collection(features: Iterable[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "FeatureCollection", "features": list(features)}


def routers(session: Session) -> list[dict[str, Any]]:
    """The routers that can be reached, as they describe themselves in their admin space.

    A router whose configuration has `metadata: {name: …, location: {lat: …, long: …}}` has a
    place on the map.
    """
    replies = session.zenoh.get(
        "@/*/router", timeout=_ROUTERS_TIMEOUT_S, target=zenoh.QueryTarget.ALL
    )
    found = [
        _router(json.loads(reply.ok.payload.to_string()))
        for reply in replies
        if reply.ok is not None
    ]
    return sorted(found, key=lambda router: str(router["id"]))


def _router(state: dict[str, Any]) -> dict[str, Any]:
    metadata = state.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return {
        "id": state.get("zid"),
        "version": state.get("version"),
        "name": metadata.get("name"),
        "location": metadata.get("location"),
        "endpoints": state.get("locators", []),
        "sessions": [
            {"peer": session.get("peer"), "whatami": session.get("whatami")}
            for session in state.get("sessions", [])
        ],
    }
