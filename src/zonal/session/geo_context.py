"""The geo-context of a message on the wire: a small versioned binary form in Zenoh's attachment.

```
byte 0       version, 1
byte 1       flags: 1 point, 2 cell, 4 fence, 8 area, 16 the user's own attachment, 32 copies
bytes 2–9    origin: which session sent it (random, unsigned)
bytes 10–13  sequence: the number of the message in that session (unsigned, wraps)
then         point: latitude and longitude (two doubles), or cell: S2 cell id (unsigned 64)
then         fence, then area: length (unsigned 32) and the shape, see `shape_to_bytes`
then         the user's own attachment, to the end
```

All numbers are little-endian. The payload is the user's own and is never touched.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

import shapely

from zonal.errors import AttachmentError, GeometryError
from zonal.geo import (
    Area,
    Box,
    Cell,
    Circle,
    Everywhere,
    MultiPolygon,
    Point,
    Polygon,
    area_from_wkb,
)

if TYPE_CHECKING:
    from zonal.keys import Place

VERSION = 1
_POINT, _CELL, _FENCE, _AREA, _USER, _COPIES = 1, 2, 4, 8, 16, 32
_HEADER = struct.Struct("<BBQI")
_POINT_MESSAGE = struct.Struct("<BBQIdd")
_TWO_DOUBLES = struct.Struct("<dd")
_CELL_ID = struct.Struct("<Q")
_LENGTH = struct.Struct("<I")
_MAX_SHAPE_BYTES = 16 * 1024 * 1024


class GeoContext(NamedTuple):
    """Where a message comes from, whom it is for, and which message it is."""

    origin: int
    sequence: int
    place: Place | None = None
    fence: Area | None = None
    area: Area | None = None
    copies: bool = False
    """Whether the same message may arrive under several keys (a fence, a blurred place, …)."""
    user: bytes | None = None

    @property
    def identity(self) -> int:
        """One number for the message, the same for all its copies."""
        return self.origin << 32 | self.sequence

    def to_bytes(self) -> bytes:
        """The attachment."""
        flags, body = (_COPIES if self.copies else 0), b""
        if isinstance(self.place, Point):
            flags, body = flags | _POINT, _TWO_DOUBLES.pack(self.place.lat, self.place.lon)
        elif self.place is not None:
            flags, body = flags | _CELL, _CELL_ID.pack(self.place.id)
        for flag, shape in ((_FENCE, self.fence), (_AREA, self.area)):
            if shape is not None:
                data = shape_to_bytes(shape)
                flags, body = flags | flag, body + _LENGTH.pack(len(data)) + data
        if self.user is not None:
            flags, body = flags | _USER, body + self.user
        return _HEADER.pack(VERSION, flags, self.origin, self.sequence) + body

    @classmethod
    def from_bytes(cls, data: bytes) -> GeoContext:
        """The geo-context of an attachment; anything else is an `AttachmentError`."""
        if len(data) == _POINT_MESSAGE.size and data[1] == _POINT and data[0] == VERSION:
            _, _, origin, sequence, lat, lon = _POINT_MESSAGE.unpack(data)
            try:
                return cls(origin, sequence, Point(lat, lon))
            except GeometryError as error:
                raise AttachmentError(f"an attachment with a bad place: {error}") from error
        return _read(data)


def _read(data: bytes) -> GeoContext:
    try:
        version, flags, origin, sequence = _HEADER.unpack_from(data)
        if version != VERSION:
            raise AttachmentError(f"version {version} of an attachment, known is {VERSION}")
        place, offset = _read_place(data, flags, _HEADER.size)
        fence, offset = _read_shape(data, flags & _FENCE, offset)
        area, offset = _read_shape(data, flags & _AREA, offset)
    except (struct.error, GeometryError) as error:
        raise AttachmentError(f"cannot read an attachment of {len(data)} bytes: {error}") from error
    user = data[offset:] if flags & _USER else None
    return GeoContext(origin, sequence, place, fence, area, bool(flags & _COPIES), user)


def _read_place(data: bytes, flags: int, offset: int) -> tuple[Place | None, int]:
    if flags & _POINT:
        return Point(*_TWO_DOUBLES.unpack_from(data, offset)), offset + _TWO_DOUBLES.size
    if flags & _CELL:
        return Cell(*_CELL_ID.unpack_from(data, offset)), offset + _CELL_ID.size
    return None, offset


def _read_shape(data: bytes, present: int, offset: int) -> tuple[Area | None, int]:
    if not present:
        return None, offset
    (length,) = _LENGTH.unpack_from(data, offset)
    start, end = offset + _LENGTH.size, offset + _LENGTH.size + length
    if length > _MAX_SHAPE_BYTES or end > len(data):
        raise GeometryError(f"a shape of {length} bytes in an attachment of {len(data)}")
    return shape_from_bytes(data[start:end]), end


_SHAPES = {b"C": struct.Struct("<ddd"), b"B": struct.Struct("<dddd")}


def shape_to_bytes(area: Area) -> bytes:
    """A letter and the shape: E everywhere, C circle, B box (doubles), P polygons (WKB)."""
    match area:
        case Everywhere():
            return b"E"
        case Circle(center=Point(lat, lon), radius_m=radius_m):
            return b"C" + _SHAPES[b"C"].pack(lat, lon, radius_m)
        case Box(min_lat, min_lon, max_lat, max_lon):
            return b"B" + _SHAPES[b"B"].pack(min_lat, min_lon, max_lat, max_lon)
        case Polygon():
            return b"P" + bytes(shapely.to_wkb(area.planar))
        case MultiPolygon(polygons):
            parts = shapely.MultiPolygon([polygon.planar for polygon in polygons])
            return b"P" + bytes(shapely.to_wkb(parts))
    raise GeometryError(f"{area} has no place yet, or no form on the wire")


def shape_from_bytes(data: bytes) -> Area:
    """The shape that `shape_to_bytes` wrote."""
    letter, body = data[:1], data[1:]
    match letter:
        case b"E":
            return Everywhere()
        case b"C":
            lat, lon, radius_m = _SHAPES[b"C"].unpack(body)
            return Circle(Point(lat, lon), radius_m=radius_m)
        case b"B":
            return Box(*_SHAPES[b"B"].unpack(body))
        case b"P":
            return area_from_wkb(body)
    raise GeometryError(f"unknown shape {letter!r}")
