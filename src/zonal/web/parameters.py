"""The query string of a request: places, shapes and the rest (Visotto 2023, 4.2.2 and 6.4).

`lat` and `long` say where; `shape` (`circle` with `r`, `box` with `min_lat` …, `polygon` with
`wkt`) says which area: of a query or subscription what it is about, of a message whom it is for.
A parameter that `vocabulary` does not know is refused: a misspelt fence would tell everybody.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zonal.border import BorderPlan
from zonal.errors import FenceError, GeometryError
from zonal.geo import Area, Box, Circle, Point, area_from_wkt
from zonal.keys import encoding_named
from zonal.web.problem import Problem
from zonal.web.vocabulary import HANDED_ON, OF_SHAPES, SHAPES, Operation, read_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from zonal.web.options import WebLimits

_TECHNIQUES = {"POINT": None, "MGRS": "mgrs", "BLOOM_FILTER": "bloom"}
"""The precisions of Visotto 2023 (4.2.1): a point is what every encoding has, by default."""
_BETWEEN_NAMES = re.compile(r",(?=[^-+.\d])")  # a Bloom domain's name has numbers behind commas
_FORMATS = ("", "json", "geojson", "html")
_TRUE, _FALSE = frozenset({"", "1", "true", "yes"}), frozenset({"0", "false", "no"})


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a query string says, checked."""

    location: Point | None = None
    area: Area | None = None
    geofence: Area | None = None
    attested: bool = False
    """Whether the fence is only for those whose position somebody vouches for."""
    encodings: tuple[str, ...] = ()
    precision_m: float | None = None
    fenced: bool = False
    counters: bool = False
    detect: BorderPlan | None = None
    """Which events at the border of the area are wanted, instead of messages."""
    thing: str = ""
    """The member of JSON values by which things of one key are told apart, at a border."""
    nearest: int | None = None
    within_m: float | None = None
    timeout: float | None = None
    raw: bool = False
    format: str = ""
    """How an answer is written, if not as `Accept` says."""
    selector: str = ""
    """The parameters for whoever answers, as Zenoh writes them."""

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


def read_parameters(query: bytes, operation: Operation, limits: WebLimits) -> Parameters:
    """The parameters of a query string; a `Problem` where something is wrong with them."""
    if not query:
        return NO_PARAMETERS
    given = read_names(query, operation)
    location = _location(given)
    technique, precision_m = _precision(given, operation)
    return Parameters(
        location=location,
        area=_area(given, location, limits),
        geofence=_wkt(given["geofence"], "geofence", limits) if "geofence" in given else None,
        attested=_flag(given, "attested"),
        encodings=_encodings(given, technique),
        precision_m=precision_m,
        fenced=_flag(given, "fenced"),
        counters=_flag(given, "counters"),
        detect=_detect(given),
        thing=_thing(given),
        nearest=_nearest(given, location, limits),
        within_m=_positive(given, "within", math.inf, "metres"),
        timeout=_positive(given, "timeout", limits.query_seconds, "seconds"),
        raw=_flag(given, "_raw"),
        format=_format(given),
        selector=_selector(given, limits),
    )


def _detect(given: Mapping[str, str]) -> BorderPlan | None:
    if "detect" not in given:
        return None
    if "shape" not in given:
        raise Problem(400, "parameter 'detect' needs `shape`: whose border is watched?")
    try:
        return BorderPlan.read(given["detect"])
    except FenceError as error:
        raise Problem(400, f"detect: {error}") from error


def _thing(given: Mapping[str, str]) -> str:
    if "thing" in given and "detect" not in given:
        raise Problem(400, "parameter 'thing' needs `detect`: whose things are told apart?")
    return given.get("thing", "")


def _nearest(given: Mapping[str, str], location: Point | None, limits: WebLimits) -> int | None:
    if "nearest" not in given:
        if "within" in given:
            raise Problem(400, "parameter 'within' needs `nearest`")
        return None
    if location is None or "shape" in given:
        raise Problem(400, "`nearest` needs a place, `lat` and `long`, and no `shape`")
    count = _number(given, "nearest")
    if not (1 <= count <= limits.replies and count == int(count)):
        raise Problem(400, f"parameter 'nearest' is a whole number from 1 to {limits.replies}")
    return int(count)


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
    stray = sorted(OF_SHAPES & given.keys() - set(SHAPES.get(shape or "", ())))
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


def _encodings(given: Mapping[str, str], technique: str | None) -> tuple[str, ...]:
    if "encoding" not in given:
        return (technique,) if technique else ()
    names = tuple(filter(None, _BETWEEN_NAMES.split(given["encoding"])))
    if not names:
        raise Problem(400, "encoding is empty; name one, such as s2, or several: s2,mgrs")
    for name in names:
        encoding_named(name)
    if technique and technique not in names:
        raise Problem(400, f"precision {given['precision']!r} is not the encoding {names[0]!r}")
    return names


def _precision(given: Mapping[str, str], operation: Operation) -> tuple[str | None, float | None]:
    """The encoding that Visotto 2023 calls a precision, or the metres of a blurred place."""
    text = given.get("precision", "").upper()
    if text in _TECHNIQUES:
        return _TECHNIQUES[text], None
    if text and operation != "message":
        raise Problem(
            400, f"precision is {', '.join(_TECHNIQUES)} here, not {given['precision']!r}"
        )
    return None, _positive(given, "precision", math.inf, "metres")


def _format(given: Mapping[str, str]) -> str:
    text = given.get("format", "").lower()
    if text not in _FORMATS:
        raise Problem(400, f"format is {', '.join(filter(None, _FORMATS))}, not {text!r}")
    return text


def _selector(given: Mapping[str, str], limits: WebLimits) -> str:
    parts = [f"{name}={given[name]}" for name in HANDED_ON if name in given]
    text = ";".join(filter(None, [*parts, given.get("selector", "")]))
    if len(text) > limits.selector_characters:
        most = limits.selector_characters
        raise Problem(413, f"a selector of {len(text)} characters is over the limit of {most}")
    return text
