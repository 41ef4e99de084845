"""Places and areas as people type them on a command line.

| what | for example |
| --- | --- |
| point | `45.4642,9.19` |
| circle | `circle:45.46,9.19,2km` (m and km); `around:2km` follows the position |
| box | `box:45.4,9.0,45.6,9.3` (south, west, north, east) |
| MGRS square | `mgrs:32TNR14` |
| anything else | well-known text, or the path of a GeoJSON file |
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from zonal.errors import GeometryError
from zonal.geo import Area, Box, Circle, Everywhere, Point, area_from_geojson, area_from_wkt
from zonal.keys import area_of_reference

if TYPE_CHECKING:
    from collections.abc import Callable

S = TypeVar("S")
T = TypeVar("T")

_LENGTH = re.compile(r"([0-9.]+(?:e[0-9]+)?)\s*(m|km)?", re.IGNORECASE)

AREA_HELP = (
    "An area: circle:45.46,9.19,2km, box:45.4,9.0,45.6,9.3, mgrs:32TNR14, everywhere, WKT, or a "
    "GeoJSON file."
)


def given(said: S | None, parse: Callable[[S], T]) -> T | None:
    """What an option says; None where it is not given."""
    return None if said is None else parse(said)


def parse_point(text: str) -> Point:
    """`lat,lon` in degrees."""
    return Point(*_numbers(text, 2, "a point is lat,lon such as 45.4642,9.19"))


def parse_area(text: str) -> Area:
    """An area in any of the notations."""
    kind, colon, rest = text.partition(":")
    if colon and kind.lower() in _KINDS:
        return _KINDS[kind.lower()](rest)
    if text.strip().lower() == "everywhere":
        return Everywhere()
    if text.lower().endswith((".geojson", ".json")):
        return _read_geojson(Path(text))
    return area_from_wkt(text)


def _circle(text: str) -> Circle:
    place, comma, radius = text.rpartition(",")
    if not comma:
        raise GeometryError(f"a circle is circle:lat,lon,radius; {text!r} is not")
    return Circle(parse_point(place), radius_m=parse_length(radius))


_KINDS: dict[str, Callable[[str], Area]] = {
    "circle": _circle,
    "around": lambda text: Circle(radius_m=parse_length(text)),
    "box": lambda text: Box(*_numbers(text, 4, "a box is box:south,west,north,east")),
    "mgrs": area_of_reference,
}


def parse_length(text: str) -> float:
    """Metres from `500`, `500m` or `2km`."""
    parsed = _LENGTH.fullmatch(text.strip())
    if parsed is None:
        raise GeometryError(f"a length is a number with m or km, such as 500m, not {text!r}")
    try:
        number = float(parsed[1])
    except ValueError as error:
        raise GeometryError(f"{parsed[1]!r} is no number") from error
    return number * (1000.0 if (parsed[2] or "m").lower() == "km" else 1.0)


def _numbers(text: str, count: int, right: str) -> list[float]:
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError as error:
        raise GeometryError(f"{right}; {text!r} is not") from error
    if len(numbers) != count:
        raise GeometryError(f"{right}; {text!r} has {len(numbers)} numbers")
    return numbers


def _read_geojson(path: Path) -> Area:
    try:
        return area_from_geojson(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise GeometryError(f"cannot read {path}: {error.strerror}") from error
