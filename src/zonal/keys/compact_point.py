"""A point in 3, 8 or 16 bytes: what the location key says already is not said again.

Most positions are whole multiples of 1e-7 degrees (GPS receivers give them so). Such a point is two
integers, and the key's cell fixes all but their low bits: 12 bits each are enough for an S2 cell of
level 20 (11 m) up to about 70° and for an MGRS metre. The receiver takes the integers with these
low bits nearest to the key's middle, so both sides need to agree on that only to some metres.

The point stands in the attachment, or, where a publisher stays at its place, as one more chunk
behind the key's cell (`@s2/2/03/30/…/23/=YAiVtYj3gMRPp58`), together with the publisher's session.
Such a key is declared once and is a number on every link from then on, so its messages say nothing
more of their place and source.
"""

from __future__ import annotations

import base64
import math
import struct
from functools import lru_cache

from zonal.errors import LocationKeyError
from zonal.geo import Cell, Point
from zonal.keys.marks import EXACT_MARK
from zonal.keys.registry import encoding_of_expression

_E7 = struct.Struct("<ii")
_DOUBLES = struct.Struct("<dd")
_LOW_BITS = 12
_RANGE = 1 << _LOW_BITS
_NEAR_BYTES = 3
# Half the range, less what two implementations may disagree about the key's middle (5 m).
_REACH = _RANGE // 2 - 512
_BY_CELLS = ("@s2/", "@mgrs/")
"""Location parts that say where a place is to within a cell."""
_FARTHEST = 5_000
"""How far a point is from the middle of its key's cell at most, in 1e-7 degrees: 55 m."""


NO_POINT, NEAR_POINT, E7_POINT, EXACT_POINT = range(4)
"""How a point is written: two bits of the attachment's first byte."""
POINT_SIZES = (0, _NEAR_BYTES, _E7.size, _DOUBLES.size)
"""Bytes of each form."""

_ORIGIN_BYTES = 8
_FORMS = {size: form for form, size in enumerate(POINT_SIZES) if size}


def pack_point(point: Point, expression: str) -> tuple[int, bytes]:
    """The shortest lossless form; `expression` is the key's location part (`@s2/2/03/30/…`)."""
    lat, lon = round(point.lat * 1e7), round(point.lon * 1e7)
    if lat / 1e7 != point.lat or lon / 1e7 != point.lon:
        return EXACT_POINT, _DOUBLES.pack(point.lat, point.lon)
    middle = _middle(expression)
    if middle and abs(lat - middle[0]) < _REACH and abs(lon - middle[1]) < _REACH:
        low = lat % _RANGE << _LOW_BITS | lon % _RANGE
        return NEAR_POINT, low.to_bytes(_NEAR_BYTES, "little")
    return E7_POINT, _E7.pack(lat, lon)


def unpack_point(form: int, data: bytes, expression: str) -> Point:
    """The point that `pack_point` wrote for a key with the same location part.

    A `LocationKeyError` for one that is not where the key says: routers decide by the key who may
    publish where, and to whom it goes.
    """
    middle = _middle(expression)
    if form == EXACT_POINT:
        return _near(Point(*_DOUBLES.unpack(data)), middle)
    if form == E7_POINT:
        lat, lon = _E7.unpack(data)
        return _near(Point(lat / 1e7, lon / 1e7), middle)
    if middle is None or len(data) != _NEAR_BYTES:
        raise LocationKeyError(f"three bytes of a point need a key of cells, not {expression!r}")
    low = int.from_bytes(data, "little")
    lat, lon = _nearest(low >> _LOW_BITS, middle[0]), _nearest(low % _RANGE, middle[1])
    return Point(lat / 1e7, lon / 1e7)


def _near(point: Point, middle: tuple[int, int] | None) -> Point:
    if middle is None:
        return point
    lat, lon = abs(point.lat * 1e7 - middle[0]), abs(point.lon * 1e7 - middle[1])
    across = min(lon, 3.6e9 - lon) * math.cos(math.radians(point.lat))
    if lat > _FARTHEST or across > _FARTHEST:
        raise LocationKeyError("a point that is not where its key says")
    return point


def checked_cell(cell: Cell, expression: str) -> Cell:
    """The cell of a blurred place, if a key with this location part is its own or a wider one."""
    if not _can_be_of(cell, expression):
        raise LocationKeyError("a cell that is not where its key says")
    return cell


@lru_cache(maxsize=4_096)
def _can_be_of(cell: Cell, expression: str) -> bool:
    if not expression.startswith(_BY_CELLS):
        return True
    try:
        own = encoding_of_expression(expression).place_expressions(cell)
    except LocationKeyError:
        return False
    is_wide = expression.endswith("/**")
    return any(each == expression or (is_wide and each.startswith(expression[:-2])) for each in own)


def exact_chunk(point: Point, origin: int, expression: str) -> str:
    """A point and a session as the last chunk of a key: `=`, the shortest form, in base64url."""
    data = pack_point(point, expression)[1] + origin.to_bytes(_ORIGIN_BYTES, "little")
    return EXACT_MARK + base64.urlsafe_b64encode(data).decode().rstrip("=")


def read_exact_chunk(chunk: str, expression: str) -> tuple[Point, int]:
    """What `exact_chunk` wrote for a key with this location part before it."""
    text = chunk.removeprefix(EXACT_MARK)
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        point, origin = data[:-_ORIGIN_BYTES], data[-_ORIGIN_BYTES:]
        place = unpack_point(_FORMS[len(point)], point, expression)
    except (ValueError, KeyError) as error:
        raise LocationKeyError(f"{chunk!r} is no exact place behind {expression!r}") from error
    return place, int.from_bytes(origin, "little")


def _nearest(low: int, middle: int) -> int:
    return middle + (low - middle + _RANGE // 2) % _RANGE - _RANGE // 2


@lru_cache(maxsize=16_384)
def _middle(expression: str) -> tuple[int, int] | None:
    """The middle of the key's cell in 1e-7 degrees; None where the key says too little."""
    try:
        middle = encoding_of_expression(expression).middle(expression)
    except LocationKeyError:
        return None
    return None if middle is None else (round(middle.lat * 1e7), round(middle.lon * 1e7))
