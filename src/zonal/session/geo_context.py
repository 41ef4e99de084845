"""The geo-context of a message on the wire: a small versioned binary form in Zenoh's attachment.

```
byte 0   bits 0–1 form of the point (see `zonal.keys.compact_point`), bit 2 further flags follow,
         bit 3 source by time stamp, bit 4 source by number, bits 6–7 version, 1
then     source by time stamp: a check of it (16 bits); by number: which session (64 bits)
then     if there is a source: the number of the message in its session (LEB128)
then     further flags: 1 cell, 2 fence, 4 area, 8 the user's own attachment, 16 copies,
         32 attested
then     the point (0, 3, 8 or 16 bytes), or the cell (S2 cell id, 64 bits)
then     fence, then area: length (unsigned 32) and the shape, see `Area.to_bytes`
then     the user's own attachment, to the end
```

All numbers are unsigned and little-endian. The payload is the user's own and is never touched.
Bytes count: between routers a message of a sensor is hardly longer than its time stamp. So the
source is the session's id in that very stamp (the check tells whether a router replaced it), and
the point is what the key does not say. A message from a place costs 7 to 9 bytes, and none where
its publisher stays at its place: then the key says the point, and there is
no attachment but the user's own.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from zonal.errors import AttachmentError, GeometryError
from zonal.geo import Area, Cell, Point, area_from_bytes
from zonal.keys import NO_POINT, POINT_SIZES, checked_cell, pack_point, unpack_point

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zonal.keys import Place

VERSION = 1
_FORM, _MORE, _BY_STAMP, _BY_NUMBER, _VERSION_SHIFT = 3, 4, 8, 16, 6
_CELL, _FENCE, _AREA, _USER, _COPIES, _ATTESTED = 1, 2, 4, 8, 16, 32
_CELL_ID = struct.Struct("<Q")
_LENGTH = struct.Struct("<I")
_ORIGIN_BYTES, _CHECK_BYTES = 8, 2
POINT_BYTES = {
    VERSION << _VERSION_SHIFT | source | form: size
    for source in (0, _BY_STAMP, _BY_NUMBER)
    for form, size in enumerate(POINT_SIZES)
    if form != NO_POINT
}
"""First bytes of attachments that end with a point, and how many bytes that point has."""

SEQUENCE_AT = 1 + _CHECK_BYTES
"""Where the number of the message begins in an attachment with the source by time stamp."""

MAX_VERTICES = 2_048
"""Vertices of a fence or an area in a message: more would make its receivers late for others.

The most expensive shapes that fit, hundreds of rings inside each other, take some 30 ms to read.
"""
_MAX_SHAPE_BYTES = 16 * MAX_VERTICES
_LEB128_BYTES = 5


class GeoContext(NamedTuple):
    """Where a message comes from, whom it is for, and which message it is."""

    origin: int | None = None
    sequence: int = 0
    place: Place | None = None
    fence: Area | None = None
    area: Area | None = None
    copies: bool = False
    """Whether the same message may arrive under several keys (a fence, a blurred place, …)."""
    user: bytes | None = None
    attested: bool = False
    """Whether the fence is for those alone whose position somebody vouches for."""

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing but a place and a source."""
        return self.fence is None and self.area is None and not self.copies and self.user is None

    @property
    def may_come_again(self) -> bool:
        """Whether a receiver may get it under several of its keys, as it is or in copies.

        Several keys of one receiver may meet the one key of a wide fence.
        """
        return self.copies or self.fence is not None

    @property
    def identity(self) -> int | None:
        """One number for the message, the same for all its copies; None where it is not known."""
        return None if self.origin is None else self.origin << 64 | self.sequence

    def to_bytes(self, expression: str = "", *, stamped: bool = False) -> bytes:
        """The attachment of a message with this location in its key.

        `stamped`: the message's time stamp carries the origin.
        """
        first, source = self._source_bytes(stamped=stamped)
        flags, body = _COPIES * self.copies | _ATTESTED * self.attested, b""
        if isinstance(self.place, Point):
            form, body = pack_point(self.place, expression)
            first |= form
        elif self.place is not None:
            flags, body = flags | _CELL, _CELL_ID.pack(self.place.id)
        for flag, shape in ((_FENCE, self.fence), (_AREA, self.area)):
            if shape is not None:
                data = shape.to_bytes()
                if len(data) > _MAX_SHAPE_BYTES:
                    raise GeometryError(
                        f"a geofence or area in a message has some {MAX_VERTICES:,} vertices at "
                        f"most, not {len(data) // 16:,}; simplify it (shapely.simplify)"
                    )
                flags, body = flags | flag, body + _LENGTH.pack(len(data)) + data
        if self.user is not None:
            flags, body = flags | _USER, body + self.user
        if flags:
            return bytes((first | _MORE,)) + source + bytes((flags,)) + body
        return bytes((first,)) + source + body

    def _source_bytes(self, *, stamped: bool) -> tuple[int, bytes]:
        first = VERSION << _VERSION_SHIFT
        if self.origin is None:
            return first, b""
        number = leb128(self.sequence)
        if stamped:
            return first | _BY_STAMP, _check(self.origin).to_bytes(_CHECK_BYTES, "little") + number
        return first | _BY_NUMBER, self.origin.to_bytes(_ORIGIN_BYTES, "little") + number

    @classmethod
    def from_bytes(
        cls, data: bytes, expression: str = "", stamp_origin: int | None = None
    ) -> GeoContext:
        """The geo-context of an attachment; anything else is an `AttachmentError`.

        `expression` is the location in the key, `stamp_origin` the origin in the time stamp.
        """
        try:
            return _read(data, expression, stamp_origin)
        except (IndexError, struct.error, ValueError, OverflowError) as error:
            raise AttachmentError(
                f"cannot read an attachment of {len(data)} bytes: {error}"
            ) from error


def source_of(data: bytes, stamp_origin: int | None = None) -> tuple[int | None, int]:
    """Origin and number in an attachment, read from its first bytes alone; see `from_bytes`."""
    try:
        return _read_source(data, data[0], stamp_origin)[:2]
    except IndexError as error:
        raise AttachmentError(f"an attachment of {len(data)} bytes is too short") from error


def numbers_in(data: Sequence[bytes], stamp_origin: int) -> list[int] | None:
    """The numbers in many attachments, if all are of that origin and look the same; else None.

    As `source_of` reads them one by one, in a fraction of the time.
    """
    length, head = len(data[0]), data[0][:SEQUENCE_AT]
    if not head[0] & _BY_STAMP or source_of(data[0], stamp_origin)[0] is None:
        return None
    if set(map(len, data)) != {length} or not all(map(bytes.startswith, data, repeat(head))):
        return None
    block = np.frombuffer(b"".join(data), np.uint8).reshape(len(data), length)
    numbers = np.zeros(len(data), np.int64)
    for place, column in enumerate(block.T[SEQUENCE_AT : SEQUENCE_AT + _LEB128_BYTES]):
        numbers |= (column & 0x7F).astype(np.int64) << 7 * place
        goes_on = column >= 0x80
        if not goes_on.any():
            return [*(numbers & 0xFFFF_FFFF).tolist()]
        if not goes_on.all():
            break
    return None


def identity_of(data: bytes) -> int | None:
    """The identity of the message with this attachment, read from its first bytes alone."""
    if not data or data[0] >> _VERSION_SHIFT != VERSION:
        raise AttachmentError("not a geo-context")
    origin, sequence = source_of(data)
    return None if origin is None else origin << 64 | sequence


def _read(data: bytes, expression: str, stamp_origin: int | None) -> GeoContext:
    first = data[0]
    if first >> _VERSION_SHIFT != VERSION:
        version = first >> _VERSION_SHIFT
        raise AttachmentError(f"version {version} of an attachment, known is {VERSION}")
    origin, sequence, offset = _read_source(data, first, stamp_origin)
    place: Place | None
    if not first & _MORE:
        place, offset = _read_point(data, first & _FORM, offset, expression)
        if offset != len(data):
            raise AttachmentError(f"{len(data) - offset} bytes too many in an attachment")
        return GeoContext(origin, sequence, place)
    flags, offset = data[offset], offset + 1
    if flags & _CELL:
        cell = Cell(*_CELL_ID.unpack_from(data, offset))
        place, offset = checked_cell(cell, expression), offset + _CELL_ID.size
    else:
        place, offset = _read_point(data, first & _FORM, offset, expression)
    fence, offset = _read_shape(data, flags & _FENCE, offset)
    area, offset = _read_shape(data, flags & _AREA, offset)
    user = data[offset:] if flags & _USER else None
    if user is None and offset != len(data):
        raise AttachmentError(f"{len(data) - offset} bytes too many in an attachment")
    copies, attested = bool(flags & _COPIES), bool(flags & _ATTESTED)
    return GeoContext(origin, sequence, place, fence, area, copies, user, attested)


def _read_source(data: bytes, first: int, stamp: int | None) -> tuple[int | None, int, int]:
    origin: int | None
    if first & _BY_STAMP:
        offset = 1 + _CHECK_BYTES
        origin = stamp
        if stamp is not None and data[1] | data[2] << 8 != _check(stamp):
            origin = None
    elif first & _BY_NUMBER:
        offset = 1 + _ORIGIN_BYTES
        origin = int.from_bytes(data[1:offset], "little")
    else:
        return None, 0, 1
    byte = data[offset]
    sequence, shift, offset = byte & 0x7F, 7, offset + 1
    while byte >= 0x80:
        if shift == 7 * _LEB128_BYTES:
            raise AttachmentError(f"a number of more than {_LEB128_BYTES} bytes")
        byte = data[offset]
        sequence |= (byte & 0x7F) << shift
        shift, offset = shift + 7, offset + 1
    return origin, (0 if origin is None else sequence & 0xFFFF_FFFF), offset


_BYTES = tuple(bytes((number,)) for number in range(0x100))


def leb128(number: int) -> bytes:
    """An unsigned number, seven bits a byte, lowest first."""
    if number < 0x80:
        return _BYTES[number]
    return _BYTES[number & 0x7F | 0x80] + _higher_bits(number >> 7)


_higher_bits = lru_cache(maxsize=64)(leb128)
"""Of numbers that are counted up all but the lowest seven bits hardly change."""


def _check(origin: int) -> int:
    return origin % 65_521


def _read_point(data: bytes, form: int, offset: int, expression: str) -> tuple[Point | None, int]:
    if form == NO_POINT:
        return None, offset
    end = offset + POINT_SIZES[form]
    return unpack_point(form, data[offset:end], expression), end


def _read_shape(data: bytes, present: int, offset: int) -> tuple[Area | None, int]:
    if not present:
        return None, offset
    (length,) = _LENGTH.unpack_from(data, offset)
    start, end = offset + _LENGTH.size, offset + _LENGTH.size + length
    if length > _MAX_SHAPE_BYTES or end > len(data):
        raise GeometryError(f"a shape of {length} bytes in an attachment of {len(data)}")
    return area_from_bytes(data[start:end], MAX_VERTICES), end
