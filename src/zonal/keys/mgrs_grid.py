"""MGRS squares as key chunks (Visotto 2023, 5.2 and 6.2.2).

A reference is the grid zone (`32T`), the 100 km square (`NR`) and up to five digits each of
easting and northing. In the key every precision step is a chunk of one easting and one northing
digit (`32T/NR/13/44/…`), so that "the shorter reference contains the longer" is prefix matching.
"""

from __future__ import annotations

import math
import re
import threading
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import mgrs
import numpy as np
import shapely
import utm

from zonal.errors import LocationKeyError
from zonal.geo import (
    EARTH_RADIUS_M,
    Area,
    Box,
    Circle,
    Everywhere,
    MultiPolygon,
    PlanarArea,
    Point,
    Polygon,
    outline,
)
from zonal.keys.encoding import (
    DEFAULT_MAX_EXPRESSIONS,
    Encoding,
    Place,
    Role,
    RoleExpression,
)
from zonal.keys.mgrs_cover import Disk, Frame, GridBlocks, Shape, ZoneFigure, blocks_of
from zonal.keys.mgrs_following import Block, ZoneWay, direction, following_blocks
from zonal.keys.mgrs_zones import (
    ABSENT_ZONES,
    MARGIN_M,
    METRE_DEG,
    ODD_ZONES,
    WIDE_MARGIN_DEG,
    WIDE_MARGIN_M,
    ZonePart,
    zone_box,
    zone_parts,
)
from zonal.keys.s2 import paths_intersect

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray

_REFERENCE = re.compile(r"(\d{0,2}[A-HJ-NP-Z])(?:([A-HJ-NP-Z]{2})((?:\d\d){0,5}))?", re.ASCII)
_COLUMNS = ("STUVWXYZ", "ABCDEFGH", "JKLMNPQR")
_ROWS = "ABCDEFGHJKLMNPQRSTUV"
_SQUARE_M = 100_000
_METRE_STEPS = 6  # chunks behind the zone of a square metre: the square and five digit pairs
_WIDEST_DISK_M, _FARTHEST_M = 100_000.0, 500_000.0
_DISTORTION = 1.01  # of distances: sphere against ellipsoid 0.56 %, the projection 0.4 %
_DEGREE_M = 111_195.0
_MOST_ZONES = 100
_ENOUGH = 1.4  # declared area over wanted area below which there are no more expressions
_CLOSELY, _LOOSELY = 0.05, 0.25  # prices of squares where a circle comes to
_LARGE, _TOO_LARGE = 1.6, 1.8  # … beyond the second there are more than usual, up to the first
_MANY = 128
_WIDE = 20  # of a circle that is to move on, and need not be covered closely
_COPIES = 16  # squares of a blurred place: a message is sent under each
_HAIR_DEG = 1e-7
_HALF_METRE_DEG = 5e-6

_converter = mgrs.MGRS()
# Of a square at the edge of its band the corner may lie in the next one, which is as it should be.
warnings.filterwarnings("ignore", 'Warning in "Convert_MGRS', RuntimeWarning)
_converter_lock = threading.Lock()  # GeoTrans keeps state in static variables


def reference_of(point: Point, digits: int = 5) -> str:
    """The MGRS reference of the point's square: 0 digits for 100 km to 5 digits for 1 m."""
    if not 0 <= digits <= 5:
        raise LocationKeyError(f"a reference has 0 to 5 digits each way, not {digits}")
    with _converter_lock:
        text = _converter.toMGRS(_off_equator(point.lat), point.lon, MGRSPrecision=digits)
    return str(text).lstrip("0")


def _off_equator(lat: float) -> float:
    """Half a metre south of the equator for what is nearer, which would be rounded across it."""
    return -_HALF_METRE_DEG if -_HALF_METRE_DEG < lat < 0.0 else lat


def path_of_reference(reference: str) -> str:
    """The chunks of a reference: `32TNR1344` becomes `32T/NR/14/34`."""
    parsed = _REFERENCE.fullmatch(reference.replace(" ", "").upper())
    if parsed is None:
        raise LocationKeyError(
            f"{reference!r} is no MGRS reference; right ones look like 32T, 32TNR, 32TNR14 or "
            "32TNR1485334536 (an even number of digits)"
        )
    zone, square, digits = parsed.groups()
    if zone.lstrip("0") in ABSENT_ZONES:
        raise LocationKeyError(
            f"{reference!r}: there is no zone {zone}; 31X to 37X are the odd ones"
        )
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

    def expressions_for(self, cells: int) -> int:
        """More where detail is wanted: squares fit the edge of an area less than cells do."""
        return _MANY if cells >= DEFAULT_MAX_EXPRESSIONS else cells

    def place_expressions(self, place: Place) -> tuple[str, ...]:
        """The path of the point's square metre; at most 16 squares around a blurred place."""
        if isinstance(place, Point):
            return (f"@mgrs/{path_of_reference(reference_of(place))}",)
        return self.area_expressions(outline(place), Role.PUBLISHER, _COPIES)

    def area_expressions(
        self,
        area: Area,
        role: Role,  # noqa: ARG002  (the same for all roles)
        max_expressions: int = DEFAULT_MAX_EXPRESSIONS,
    ) -> tuple[str, ...]:
        """Squares of several precisions, and columns of them, that together cover the area."""
        if isinstance(area, Everywhere):
            return ("@mgrs/**",)
        paths = squares_of(area, max_expressions)
        return tuple(f"@mgrs/{path}/**" for path in paths) if paths else ("@mgrs/**",)

    def following_expressions(
        self,
        expressions: Collection[str],
        last: Area,
        area: Area,
        role: Role,
        max_expressions: int = DEFAULT_MAX_EXPRESSIONS,
        *,
        closely: bool = True,
    ) -> tuple[str, ...]:
        """Those of the squares and columns that a circle still touches, and new ones."""
        if isinstance(last, Circle) and isinstance(area, Circle):
            paths = [each.removeprefix("@mgrs/").removesuffix("/**") for each in expressions]
            price = _CLOSELY if closely else _LOOSELY
            followed = _following(paths, last, area, max_expressions, price)
            if followed:
                return tuple(f"@mgrs/{path}/**" for path in followed)
        most = max_expressions if closely else min(max_expressions, _WIDE)
        return self.area_expressions(area, role, most)

    def decode(self, expression: str, role: Role) -> Place | Area:  # noqa: ARG002
        """The square as a polygon; everywhere for `@mgrs/**`."""
        path = expression.removeprefix("@mgrs/").removesuffix("**").removesuffix("/")
        if not path.endswith("$*"):
            return area_of_reference(reference_of_path(path)) if path else Everywhere()
        if path.count("/") == 1:  # a column of a zone
            return zone_box(path.partition("/")[0])
        squares = [area_of_reference(reference_of_path(f"{path[:-2]}{n}")) for n in range(10)]
        return MultiPolygon(tuple(each for each in squares if isinstance(each, Polygon)))

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


@lru_cache(maxsize=1024)
def squares_of(area: Area, max_squares: int) -> tuple[str, ...]:
    """Paths of squares that contain the area; empty where the whole globe is the best answer."""
    frames = _frames(area)
    if not frames or len(frames) > max_squares:
        return ()
    wanted_m2 = _size_m2(area)
    few = min(max_squares, DEFAULT_MAX_EXPRESSIONS)
    blocks = list(blocks_of(frames, few, _ENOUGH * wanted_m2))
    if few < max_squares and sum(each.size_m2 for each in blocks) > _TOO_LARGE * wanted_m2 > 0:
        blocks = list(blocks_of(frames, max_squares, _LARGE * wanted_m2))
    return tuple(sorted({path for each in blocks for path in _paths_of_blocks(frames, each)}))


def _frames(area: Area) -> list[Frame]:
    """What has to be covered in each zone; nothing where there are too many."""
    parts: dict[str, ZonePart] = {}
    # The hair takes the zones on both sides of a boundary that the area touches.
    for part in zone_parts(area.bounds.expanded(_HAIR_DEG)):
        parts[part.zone] = parts[part.zone].merged(part) if part.zone in parts else part
        if len(parts) > _MOST_ZONES:
            return []
    return [frame for part in parts.values() if (frame := _frame(part, area)) is not None]


def _following(
    paths: list[str], last: Circle, circle: Circle, max_squares: int, price: float
) -> tuple[str, ...]:
    """Paths of a circle that came from `last`, where it had these; empty where it starts anew."""
    if last.center is None or circle.center is None or last.radius_m != circle.radius_m:
        return ()
    if not 0.0 < last.center.distance_m(circle.center) < circle.radius_m:
        return ()
    ways = []
    for frame in _frames(circle):
        if not isinstance(frame.shape, Disk):
            return ()
        before = utm.from_latlon(
            *last.center, int(frame.zone[:-1]), force_northern=frame.zone[-1] >= "N"
        )
        now = (frame.shape.easting, frame.shape.northing)
        ways.append(ZoneWay(frame, frame.shape, direction(before[:2], now)))
    kept = [block for path in paths if (block := _block_of_path(path)) is not None]
    blocks = following_blocks(ways, kept, max_squares, circle.radius_m, price)
    return tuple(sorted(map(_path_of_block, blocks))) if blocks else ()


def _block_of_path(path: str) -> Block | None:
    """The square or column of a path; None for zones and their columns."""
    if (
        path.count("/") < 1
        or not path[:1].isdigit()
        or (path.endswith("$*") and path.count("/") < 2)
    ):
        return None
    is_column = path.endswith("$*")
    with _converter_lock:
        square = f"{path[:-2]}0" if is_column else path
        _, _, easting, northing = _converter.MGRSToUTM(reference_of_path(square))
    depth = 2 * path.count("/") - is_column
    return Block(path.partition("/")[0], depth, round(easting), round(northing)).on_grid()


def _path_of_block(block: Block) -> str:
    path = _path_of_utm(block.zone, block.east, block.north, (block.depth - 1) // 2)
    return f"{path[:-1]}$*" if block.depth % 2 else path


def _frame(part: ZonePart, area: Area) -> Frame | None:
    """What has to be covered in a zone; None where a figure has no part in it."""
    box = zone_box(part.zone)
    zone_m2 = _box_m2(box)
    if part.easting is None:
        return Frame(part.zone, zone_m2)
    shape: Shape | None = None
    number, is_north = int(part.zone[:-1]), part.zone[-1] >= "N"
    is_odd = part.zone in ODD_ZONES
    if isinstance(area, PlanarArea):
        figure = _clipped(area, box.expanded(METRE_DEG))
        if figure is None:
            return None
        shape = ZoneFigure(figure, number, is_north, WIDE_MARGIN_DEG if is_odd else METRE_DEG)
    elif isinstance(area, Circle) and area.center is not None and area.radius_m <= _WIDEST_DISK_M:
        lat, lon = max(-80.0, min(84.0, area.center.lat)), area.center.lon
        east, north, _, _ = utm.from_latlon(lat, lon, number, force_northern=is_north)
        if area.center.lat == lat and abs(east - 500_000) <= _FARTHEST_M:
            margin = WIDE_MARGIN_M if is_odd else MARGIN_M
            shape = Disk(east, north, area.radius_m * _DISTORTION + margin)
    return Frame(part.zone, zone_m2, part.easting, part.northing, shape)


def _clipped(area: PlanarArea, box: Box) -> shapely.Geometry | None:
    """The part of a figure inside a box, wherever around the globe its longitudes are."""
    figure = area.planar
    low, high = box.min_lon, box.min_lon + box.width_deg
    windows = [
        shapely.box(low + shift, box.min_lat, high + shift, box.max_lat)
        for shift in (0.0, 360.0, -360.0)
    ]
    met = [window for window in windows if shapely.intersects(figure, window)]
    if not met:
        return None
    part = shapely.union_all([shapely.intersection(figure, window) for window in met])
    if part.is_empty:  # a figure without a surface
        return figure
    shapely.prepare(part)
    return part


def _size_m2(area: Area) -> float:
    """About how large an area is."""
    if isinstance(area, PlanarArea):
        middle = math.cos(math.radians(shapely.centroid(area.planar).y))
        return float(area.planar.area) * _DEGREE_M**2 * middle
    return math.pi * area.radius_m**2 if isinstance(area, Circle) else 0.0


def _box_m2(box: Box) -> float:
    south, north = (math.sin(math.radians(lat)) for lat in (box.min_lat, box.max_lat))
    return EARTH_RADIUS_M**2 * math.radians(box.width_deg) * (north - south)


def _paths_of_blocks(frames: list[Frame], blocks: GridBlocks) -> Iterator[str]:
    digits = (blocks.depth - 1) // 2
    for number, east, north in zip(*(each.tolist() for each in blocks[1:]), strict=True):
        zone = frames[number].zone
        if not blocks.depth:
            yield zone
            continue
        path = _path_of_utm(zone, east, north, digits)
        yield f"{path[:-1]}$*" if blocks.depth % 2 else path


def _path_of_utm(zone: str, easting: int, northing: int, digits: int) -> str:
    number = int(zone[:-1])
    column = _COLUMNS[number % 3][max(0, min(7, easting // _SQUARE_M - 1))]
    row = _ROWS[(northing // _SQUARE_M + (0 if number % 2 else 5)) % 20]
    east, north = f"{easting % _SQUARE_M:05d}"[:digits], f"{northing % _SQUARE_M:05d}"[:digits]
    return "/".join((zone, column + row, *(e + n for e, n in zip(east, north, strict=True))))


def area_of_reference(reference: str) -> Area:
    """The square of a reference as an area; its edges follow the grid by straight pieces."""
    path = path_of_reference(reference)
    zone, *rest = path.split("/")
    if not rest:
        return zone_box(zone)
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
