"""MGRS squares as key chunks (Visotto 2023, 5.2 and 6.2.2).

A reference is the grid zone (`32T`), the 100 km square (`NR`) and up to five digits each of
easting and northing. In the key every precision step is a chunk of one easting and one northing
digit (`32T/NR/13/44/…`), so that "the shorter reference contains the longer" is prefix matching.
"""

from __future__ import annotations

import math
import re
import threading
from dataclasses import dataclass
from itertools import islice, product
from typing import TYPE_CHECKING, NamedTuple

import mgrs
import numpy as np
import utm

from zonal.errors import LocationKeyError
from zonal.geo import EARTH_RADIUS_M, Area, Box, Everywhere, Point, Polygon, outline
from zonal.keys.encoding import (
    DEFAULT_MAX_EXPRESSIONS,
    Encoding,
    Place,
    Role,
    RoleExpression,
)
from zonal.keys.s2 import paths_intersect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_REFERENCE = re.compile(r"(\d{0,2}[A-HJ-NP-Z])(?:([A-HJ-NP-Z]{2})((?:\d\d){0,5}))?", re.ASCII)
_BANDS = "CDEFGHJKLMNPQRSTUVWX"
_COLUMNS = ("STUVWXYZ", "ABCDEFGH", "JKLMNPQR")
_ROWS = "ABCDEFGHJKLMNPQRSTUV"
_SQUARE_M = 100_000
_METRE_STEPS = 6  # chunks behind the zone of a square metre: the square and five digit pairs
_MARGIN_M = 2.0  # references name whole metres, and conversions round
_SAMPLES = 8
_HAIR_DEG = 1e-7
# Zones of another width: south-western Norway and Svalbard, as west and east in degrees.
_ODD_ZONES = {
    "31V": (0.0, 3.0),
    "32V": (3.0, 12.0),
    "31X": (0.0, 9.0),
    "33X": (9.0, 21.0),
    "35X": (21.0, 33.0),
    "37X": (33.0, 42.0),
}
_POLAR_ZONES = frozenset("ABYZ")
_ABSENT_ZONES = frozenset({"32X", "34X", "36X"})

_converter = mgrs.MGRS()
_converter_lock = threading.Lock()  # GeoTrans keeps state in static variables


def reference_of(point: Point, digits: int = 5) -> str:
    """The MGRS reference of the point's square: 0 digits for 100 km to 5 digits for 1 m."""
    if not 0 <= digits <= 5:
        raise LocationKeyError(f"a reference has 0 to 5 digits each way, not {digits}")
    with _converter_lock:
        text = _converter.toMGRS(point.lat, point.lon, MGRSPrecision=digits)
    return str(text).lstrip("0")


def path_of_reference(reference: str) -> str:
    """The chunks of a reference: `32TNR1344` becomes `32T/NR/14/34`."""
    parsed = _REFERENCE.fullmatch(reference.replace(" ", "").upper())
    if parsed is None:
        raise LocationKeyError(
            f"{reference!r} is no MGRS reference; right ones look like 32T, 32TNR, 32TNR14 or "
            "32TNR1485334536 (an even number of digits)"
        )
    zone, square, digits = parsed.groups()
    half = len(digits or "") // 2
    pairs = map("".join, zip((digits or "")[:half], (digits or "")[half:], strict=True))
    return "/".join(filter(None, (zone.lstrip("0"), square, *pairs)))


def reference_of_path(path: str) -> str:
    """The reference of such chunks."""
    zone, *rest = path.split("/")
    square, pairs = (rest[0], rest[1:]) if rest else ("", [])
    if any(len(pair) != 2 for pair in pairs):
        raise LocationKeyError(f"{path!r} is no path of an MGRS square")
    reference = zone + square + "".join(p[0] for p in pairs) + "".join(p[1:] for p in pairs)
    if not _REFERENCE.fullmatch(reference) or path_of_reference(reference) != path:
        raise LocationKeyError(f"{path!r} is no path of an MGRS square")
    return reference


def corner_of_path(path: str) -> Point:
    """The south-western corner of a square, by its path."""
    with _converter_lock:
        try:
            lat, lon = _converter.toLatLon(reference_of_path(path))
        except mgrs.core.MGRSError as error:
            raise LocationKeyError(f"there is no MGRS square {path!r}") from error
    return Point(lat, lon)


@dataclass(frozen=True, slots=True)
class MgrsEncoding(Encoding):
    """Paths of MGRS squares."""

    name: str = "mgrs"
    prefix: str = "@mgrs"

    def place_expressions(self, place: Place) -> tuple[str, ...]:
        """The path of the point's square metre; the squares around a blurred place."""
        if isinstance(place, Point):
            return (f"@mgrs/{path_of_reference(reference_of(place))}",)
        return self.area_expressions(outline(place), Role.PUBLISHER)

    def area_expressions(
        self,
        area: Area,
        role: Role,  # noqa: ARG002  (the same for all roles)
        max_expressions: int = DEFAULT_MAX_EXPRESSIONS,
    ) -> tuple[str, ...]:
        """The squares of the finest precision that cover the area with so many expressions."""
        if isinstance(area, Everywhere):
            return ("@mgrs/**",)
        paths = squares_of(area, max_expressions)
        return tuple(f"@mgrs/{path}/**" for path in paths) if paths else ("@mgrs/**",)

    def decode(self, expression: str, role: Role) -> Place | Area:  # noqa: ARG002
        """The square as a polygon; everywhere for `@mgrs/**`."""
        path = expression.removeprefix("@mgrs/").removesuffix("**").removesuffix("/")
        return area_of_reference(reference_of_path(path)) if path else Everywhere()

    def middle(self, expression: str) -> Point | None:
        """The corner of a square metre."""
        path = expression.removeprefix("@mgrs/")
        is_finest = path.count("/") == _METRE_STEPS and not path.endswith("*")
        try:
            return corner_of_path(path) if is_finest else None
        except LocationKeyError:  # a square that the converter writes, but does not read
            return None

    def match(self, a: RoleExpression, b: RoleExpression) -> bool:
        """One path is the beginning of the other."""
        return paths_intersect(a.expression, b.expression)


class _ZonePart(NamedTuple):
    """The part of an area's bounds inside one grid zone, in UTM metres (polar: all of the zone)."""

    zone: str
    easting: tuple[float, float] | None = None
    northing: tuple[float, float] | None = None

    def merged(self, other: _ZonePart) -> _ZonePart:
        if self.easting is None or self.northing is None:
            return self
        assert other.easting is not None
        assert other.northing is not None
        return _ZonePart(
            self.zone,
            (min(self.easting[0], other.easting[0]), max(self.easting[1], other.easting[1])),
            (min(self.northing[0], other.northing[0]), max(self.northing[1], other.northing[1])),
        )


def squares_of(area: Area, max_squares: int) -> list[str]:
    """Paths of squares that contain the area; empty where the whole globe is the best answer."""
    parts: dict[str, _ZonePart] = {}
    # The hair takes the zones on both sides of a boundary that the area touches.
    for part in _zone_parts(area.bounds.expanded(_HAIR_DEG)):
        parts[part.zone] = parts[part.zone].merged(part) if part.zone in parts else part
        if len(parts) > max_squares:
            return []
    paths = sorted(parts)
    for digits in range(6):
        finer: set[str] = set()
        for part in parts.values():
            finer.update(_squares_of_part(part, digits, limit=max_squares + 1))
            if len(finer) > max_squares:
                return paths
        paths = sorted(finer)
    return paths


def _squares_of_part(part: _ZonePart, digits: int, limit: int) -> Iterator[str]:
    """The squares of this precision, in the order of columns; not many more than the limit."""
    if part.easting is None or part.northing is None:
        yield part.zone
        return
    size = _SQUARE_M // 10**digits
    columns = range(int(part.easting[0] // size), int(part.easting[1] // size) + 1)
    rows = range(int(part.northing[0] // size), int(part.northing[1] // size) + 1)
    for column, row in islice(product(columns, rows[:limit]), limit):
        yield _path_of_utm(part.zone, column * size, row * size, digits)


def _path_of_utm(zone: str, easting: int, northing: int, digits: int) -> str:
    number = int(zone[:-1])
    column = _COLUMNS[number % 3][max(0, min(7, easting // _SQUARE_M - 1))]
    row = _ROWS[(northing // _SQUARE_M + (0 if number % 2 else 5)) % 20]
    east, north = f"{easting % _SQUARE_M:05d}"[:digits], f"{northing % _SQUARE_M:05d}"[:digits]
    return "/".join((zone, column + row, *(e + n for e, n in zip(east, north, strict=True))))


def _zone_parts(bounds: Box) -> Iterator[_ZonePart]:
    """The zones that the bounds touch; polar ones as a whole."""
    if bounds.max_lat >= 84.0:
        yield _ZonePart("Y")
        yield _ZonePart("Z")
    if bounds.min_lat <= -80.0:
        yield _ZonePart("A")
        yield _ZonePart("B")
    for south, north in _band_parts(bounds):
        for west, east in _strips(bounds):
            yield _zone_part(Box(south, west, north, east))


def _band_parts(bounds: Box) -> Iterator[tuple[float, float]]:
    """The latitudes of each band that the bounds touch; band X is 12° high."""
    for number in range(len(_BANDS)):
        south = -80.0 + 8.0 * number
        north = 84.0 if number == len(_BANDS) - 1 else south + 8.0
        low, high = max(bounds.min_lat, south), min(bounds.max_lat, north)
        if low < high:
            yield low, high


def _strips(bounds: Box) -> Iterator[tuple[float, float]]:
    """Longitudes in pieces of 3°: every boundary between zones is a multiple of it."""
    end = bounds.min_lon + bounds.width_deg
    west = 3.0 * math.floor(bounds.min_lon / 3.0)
    while west < end:
        low, high = max(bounds.min_lon, west), min(end, west + 3.0)
        if low < high:
            shift = 360.0 if low >= 180.0 else 0.0
            yield low - shift, high - shift
        west += 3.0


def _zone_part(part: Box) -> _ZonePart:
    """The range of eastings and northings of a box inside one zone, a little enlarged."""
    zone = path_of_reference(reference_of(part.center)).partition("/")[0]
    shares = np.linspace(0.0, 1.0, _SAMPLES + 1)
    lats, lons = np.meshgrid(
        part.min_lat + part.height_deg * shares, part.min_lon + part.width_deg * shares
    )
    easting, northing, _, _ = utm.from_latlon(
        lats.ravel(), lons.ravel(), int(zone[:-1]), force_northern=part.center.lat >= 0
    )
    # Meridians and parallels bend between two samples by no more than this.
    step = math.radians(max(part.width_deg, part.height_deg) / _SAMPLES)
    margin = _MARGIN_M + EARTH_RADIUS_M * (step / 2) ** 2
    return _ZonePart(
        zone,
        (float(easting.min()) - margin, float(easting.max()) + margin),
        (max(0.0, float(northing.min()) - margin), float(northing.max()) + margin),
    )


def area_of_reference(reference: str) -> Area:
    """The square of a reference as an area; its edges follow the grid by straight pieces."""
    path = path_of_reference(reference)
    zone, *rest = path.split("/")
    if not rest:
        return _zone_box(zone)
    if not zone[:-1]:
        raise LocationKeyError(f"{reference}: squares of the polar zones are not drawn as areas")
    with _converter_lock:
        try:
            number, hemisphere, easting, northing = _converter.MGRSToUTM(reference_of_path(path))
        except mgrs.core.MGRSError as error:
            raise LocationKeyError(f"there is no MGRS square {reference!r}") from error
    size = _SQUARE_M // 10 ** (len(rest) - 1)
    x, y = _unit_square_outline()
    # A centimetre larger on each side, since conversions round.
    x, y = x * (size + 0.02) - 0.01, y * (size + 0.02) - 0.01
    west, south = easting // size * size, northing // size * size
    lats, lons = utm.to_latlon(
        west + x, south + y, number, northern=hemisphere == "N", strict=False
    )
    lons += 360.0 * np.round((lons[0] - lons) / 360.0)  # in one piece over the antimeridian
    ring = list(zip(lats.tolist(), lons.tolist(), strict=True))
    return Polygon((*ring, ring[0]))


def _unit_square_outline(pieces: int = 8) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The edges of a square with corners (0, 0) and (1, 1), counter-clockwise, in pieces."""
    up, low, high = np.arange(pieces) / pieces, np.zeros(pieces), np.ones(pieces)
    return (
        np.concatenate([up, high, 1 - up, low]),
        np.concatenate([low, up, high, 1 - up]),
    )


def _is_zone(zone: str) -> bool:
    if not zone[:-1]:
        return zone in _POLAR_ZONES
    return zone[-1] in _BANDS and 1 <= int(zone[:-1]) <= 60 and zone not in _ABSENT_ZONES


def _zone_box(zone: str) -> Box:
    letter = zone[-1]
    if not _is_zone(zone):
        raise LocationKeyError(f"there is no MGRS zone {zone!r}")
    if not zone[:-1]:
        south, north = (84.0, 90.0) if letter in "YZ" else (-90.0, -80.0)
        west, east = (-180.0, 0.0) if letter in "AY" else (0.0, 180.0)
        return Box(south, west, north, east)
    south = -80.0 + 8.0 * _BANDS.index(letter)
    number = int(zone[:-1])
    west, east = _ODD_ZONES.get(zone, (6.0 * number - 186.0, 6.0 * number - 180.0))
    return Box(south, west, 84.0 if letter == "X" else south + 8.0, east)
