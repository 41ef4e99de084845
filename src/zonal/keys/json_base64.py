"""The exact shape as JSON in Base64 in one chunk (Visotto 2023, 5.1 and 6.2.1).

Stock routers cannot look into such a chunk. So the match happens where a message enters: devices
with an area announce their chunk, and the publisher's side sends once per distinct matching one.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any

from zonal.errors import LocationKeyError
from zonal.geo import (
    Area,
    Box,
    Cell,
    Circle,
    Everywhere,
    MultiPolygon,
    Point,
    area_from_geojson,
    area_from_planar,
    overlap_too_much,
)
from zonal.keys.encoding import (
    DEFAULT_MAX_EXPRESSIONS,
    Encoding,
    Place,
    Role,
    RoleExpression,
    refine,
)

# Visotto 2023 has 1 (box) and 2 (circle); the others are ours.
_EVERYWHERE, _BOX, _CIRCLE, _POLYGON, _CELL = "0", "1", "2", "3", "4"


@dataclass(frozen=True, slots=True)
class JsonEncoding(Encoding):
    """Shapes, exactly: `@json/p_<point>` and `@json/<role>_<shape>_<area>`."""

    name: str = "json"
    prefix: str = "@json"
    announces_areas: bool = True

    def place_expressions(self, place: Place) -> tuple[str, ...]:
        """The point's own chunk; what is sent are the announced chunks that match it."""
        if isinstance(place, Point):
            return (f"@json/p_{_pack({'lat': place.lat, 'long': place.lon})}",)
        return (f"@json/p_{_CELL}_{_pack({'cell': place.token})}",)

    def area_expressions(
        self,
        area: Area,
        role: Role,
        max_expressions: int = DEFAULT_MAX_EXPRESSIONS,  # noqa: ARG002  (one is enough)
    ) -> tuple[str, ...]:
        """One chunk with the role's flag, the shape's flag and the shape."""
        shape, values = _to_json(area)
        return (f"@json/{role.value}_{shape}_{_pack(values)}",)

    def decode(self, expression: str, role: Role) -> Place | Area:
        """The place or area, exactly as it was encoded."""
        chunk = expression.removeprefix("@json/")
        flag, _, rest = chunk.partition("_")
        if flag != role.value:
            raise LocationKeyError(f"{expression!r} has the role {flag!r}, not {role.value!r}")
        try:
            if role is Role.PUBLISHER:
                return _place_of(rest)
            shape, _, packed = rest.partition("_")
            return _from_json(shape, _unpack(packed))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise LocationKeyError(f"cannot read the location {expression!r}: {error}") from error

    def match(self, a: RoleExpression, b: RoleExpression) -> bool:
        """Publisher and subscriber: point in area; get and queryable: areas intersect."""
        first, second = self.decode(a.expression, a.role), self.decode(b.expression, b.role)
        match first, second:
            case Area(), Area():
                return first.meets(second)
            case Area(), (Point() | Cell()):
                return refine(first, second)
            case ((Point() | Cell()), Area()):
                return refine(second, first)
        raise LocationKeyError(f"{a} and {b} are no place and area")


def _pack(values: dict[str, Any]) -> str:
    text = json.dumps(values, separators=(",", ":"), allow_nan=False)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _unpack(packed: str) -> Any:
    try:
        padded = packed + "=" * (-len(packed) % 4)
        return json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, RecursionError) as error:
        raise LocationKeyError(f"{packed[:40]!r} is no JSON in Base64: {error}") from error


def _place_of(rest: str) -> Place:
    if rest.startswith(f"{_CELL}_"):
        return Cell.from_token(_unpack(rest[2:])["cell"])
    values = _unpack(rest)
    return Point(values["lat"], values["long"])


def _to_json(area: Area) -> tuple[str, dict[str, Any]]:
    """The thesis' own forms of boxes and circles; any other shape is GeoJSON."""
    match area:
        case Everywhere():
            return _EVERYWHERE, {}
        case Box(min_lat, min_lon, max_lat, max_lon):
            return _BOX, {
                "min_lat": min_lat,
                "min_long": min_lon,
                "max_lat": max_lat,
                "max_long": max_lon,
            }
        case Circle(center=Point(lat, lon), radius_m=radius_m):
            return _CIRCLE, {"r": radius_m, "c": {"lat": lat, "long": lon}}
        case MultiPolygon(polygons=polygons) if overlap_too_much(polygons):
            return _POLYGON, area_from_planar(area.planar).to_geojson()
    return _POLYGON, area.to_geojson()


def _from_json(shape: str, values: Any) -> Area:
    match shape:
        case "0":
            return Everywhere()
        case "1":
            names = ("min_lat", "min_long", "max_lat", "max_long")
            return Box(*(values[name] for name in names))
        case "2":
            return Circle(Point(values["c"]["lat"], values["c"]["long"]), radius_m=values["r"])
        case "3":
            return area_from_geojson(values, of_stranger=True)
    raise LocationKeyError(
        f"unknown shape {shape!r}; known: 0 everywhere, 1 box, 2 circle, 3 polygon"
    )
