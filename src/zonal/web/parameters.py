"""The query string of a request: places, shapes and the rest (Visotto 2023, 4.2.2 and 6.4).

`lat` and `long` say where; `shape` (`circle` with `r`, `box` with `min_lat` …, `polygon` with
`wkt`) says which area: of a query or subscription what it is about, of a message whom it is for.
What is not ours goes on to whoever answers the query, as Zenoh's selector parameters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from zonal.errors import GeometryError
from zonal.geo import Area, Box, Circle, Point, area_from_wkt
from zonal.keys import encoding_named
from zonal.web.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from zonal.web.options import WebLimits

SHAPES = {
    "circle": ("r",),
    "box": ("min_lat", "min_long", "max_lat", "max_long"),
    "polygon": ("wkt",),
}
_OF_SHAPES = frozenset(name for names in SHAPES.values() for name in names)
PARAMETERS: dict[str, tuple[str, str, Any]] = {
    "lat": ("number", "latitude in degrees: of message, circle's centre or reader", 45.46),
    "long": ("number", "longitude in degrees", 9.19),
    "shape": ("string", "circle, box or polygon; of a message: its geofence", "circle"),
    "r": ("number", "radius of the circle in metres", 500),
    "min_lat": ("number", "southern edge of the box", 45.4),
    "min_long": ("number", "western edge; east of max_long: across the antimeridian", 9.1),
    "max_lat": ("number", "northern edge of the box", 45.5),
    "max_long": ("number", "eastern edge of the box", 9.3),
    "wkt": ("string", "polygon as well-known text, longitude first", "POLYGON ((9 45, …))"),
    "geofence": ("string", "whom a message is for: well-known text", "CIRCLE (9.19 45.46, 500)"),
    "encoding": ("string", "how places are written into keys; several: s2,mgrs", "s2"),
    "precision": ("number", "metres: only a cell at least so wide leaves this server", 100),
    "fenced": ("boolean", "hear messages with a geofence wherever you are", True),
    "counters": ("boolean", "a `counters` event every second", True),
    "timeout": ("number", "seconds to wait for replies", 5),
    "_time": ("string", "the time that is asked about, as Zenoh writes it", "[now(-1h)..]"),
    "_raw": ("boolean", "the first reply's own bytes instead of JSON", True),
}
"""All that have a meaning here: JSON type, what it is, an example."""
OWN_NAMES = PARAMETERS.keys() - {"_time"}
"""Those that are not given on to whoever answers a query."""
_TRUE, _FALSE = frozenset({"", "1", "true", "yes"}), frozenset({"0", "false", "no"})


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a query string says, checked."""

    location: Point | None = None
    area: Area | None = None
    geofence: Area | None = None
    encodings: tuple[str, ...] = ()
    precision_m: float | None = None
    fenced: bool = False
    counters: bool = False
    timeout: float | None = None
    raw: bool = False
    selector: str = ""
    """The parameters that are not ours, as Zenoh writes them."""

    @property
    def fence(self) -> Area | None:
        """Whom a message is for: `geofence`, or the area that its shape describes."""
        if self.geofence is not None and self.area is not None:
            raise Problem(400, "a message has one geofence: give `geofence` or `shape`, not both")
        return self.geofence if self.area is None else self.area

    @property
    def one_encoding(self) -> str | None:
        """The encoding of a message."""
        if len(self.encodings) > 1:
            raise Problem(400, f"a message has one encoding, not {', '.join(self.encodings)}")
        return self.encodings[0] if self.encodings else None


NO_PARAMETERS = Parameters()


def read_parameters(query: bytes, limits: WebLimits) -> Parameters:
    """The parameters of a query string; a `Problem` where something is wrong with them."""
    if not query:
        return NO_PARAMETERS
    given = _single(query)
    location = _location(given)
    return Parameters(
        location=location,
        area=_area(given, location, limits),
        geofence=_wkt(given["geofence"], "geofence", limits) if "geofence" in given else None,
        encodings=_encodings(given),
        precision_m=_positive(given, "precision", math.inf, "metres"),
        fenced=_flag(given, "fenced"),
        counters=_flag(given, "counters"),
        timeout=_positive(given, "timeout", limits.query_seconds, "seconds"),
        raw=_flag(given, "_raw"),
        selector=";".join(f"{n}={v}" if v else n for n, v in given.items() if n not in OWN_NAMES),
    )


def _single(query: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, max_num_fields=64)
    except ValueError as error:
        raise Problem(400, f"cannot read the query string: {error}") from error
    given: dict[str, str] = {}
    for name, value in pairs:
        if name in given and name in OWN_NAMES:
            raise Problem(400, f"parameter {name!r} is given twice")
        given[name] = value
    return given


def _number(given: Mapping[str, str], name: str) -> float:
    try:
        value = float(given[name])
    except ValueError as error:
        raise Problem(400, f"parameter {name!r} is a number, not {given[name]!r}") from error
    if not math.isfinite(value):
        raise Problem(400, f"parameter {name!r} is a finite number, not {given[name]!r}")
    return value


def _positive(given: Mapping[str, str], name: str, most: float, unit: str) -> float | None:
    if name not in given:
        return None
    value = _number(given, name)
    if not 0 < value <= most:
        right = f"above 0 {unit}" if most == math.inf else f"between 0 and {most:g} {unit} here"
        raise Problem(400, f"parameter {name!r} is {right}, not {value:g}")
    return value


def _flag(given: Mapping[str, str], name: str) -> bool:
    text = given.get(name, "no").lower()
    if text not in _TRUE | _FALSE:
        raise Problem(400, f"parameter {name!r} is true or false, not {text!r}")
    return text in _TRUE


def _location(given: Mapping[str, str]) -> Point | None:
    if "lat" not in given and "long" not in given:
        return None
    for name in ("lat", "long"):
        if name not in given:
            raise Problem(400, f"a location is `lat` and `long` in degrees; {name!r} is missing")
    return Point(_number(given, "lat"), _number(given, "long"))


def _area(given: Mapping[str, str], location: Point | None, limits: WebLimits) -> Area | None:
    shape = given.get("shape")
    stray = sorted(_OF_SHAPES & given.keys() - set(SHAPES.get(shape or "", ())))
    if shape is None:
        if stray:
            raise Problem(400, f"parameter {stray[0]!r} needs `shape` (circle, box or polygon)")
        return None
    if shape not in SHAPES:
        raise Problem(400, f"shape is circle, box or polygon, not {shape!r}")
    missing = [name for name in SHAPES[shape] if name not in given]
    if missing or stray:
        needs = ", ".join(f"`{name}`" for name in SHAPES[shape])
        wrong = f"{missing[0]!r} is missing" if missing else f"{stray[0]!r} does not belong to it"
        raise Problem(400, f"shape {shape} needs {needs}; {wrong}")
    match shape:
        case "circle":
            if location is None:
                raise Problem(400, "shape circle needs its centre: `lat` and `long`")
            return Circle(location, radius_m=_number(given, "r"))
        case "box":
            return Box(*(_number(given, name) for name in SHAPES["box"]))
        case _:
            return _wkt(given["wkt"], "wkt", limits)


def _wkt(text: str, name: str, limits: WebLimits) -> Area:
    if len(text) > limits.wkt_characters:
        raise Problem(
            413, f"{name} of {len(text)} characters is over the limit of {limits.wkt_characters}"
        )
    # Counted before the geometry library sees them: checking a shape costs more than reading it.
    vertices = text.count(",") + 1
    if vertices > limits.vertices:
        raise Problem(413, f"{name} with {vertices} vertices is over the limit {limits.vertices}")
    try:
        return area_from_wkt(text)
    except GeometryError as error:
        raise Problem(400, f"{name}: {error}") from error


def _encodings(given: Mapping[str, str]) -> tuple[str, ...]:
    if "encoding" not in given:
        return ()
    names = tuple(filter(None, given["encoding"].split(",")))
    if not names:
        raise Problem(400, "encoding is empty; name one, such as s2, or several: s2,mgrs")
    for name in names:
        encoding_named(name)
    return names
