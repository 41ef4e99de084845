"""Inputs of strangers, made from a seed: right in structure, wrong in some of its parts."""

from __future__ import annotations

import base64
import json
import math
import random
import struct
from dataclasses import dataclass
from typing import Any

from zonal.geo import Box, Cell, Circle, Everywhere, Point, Polygon, cell_of
from zonal.keys import encodings, exact_key, fence_expressions, join
from zonal.session import GeoContext
from zonal.session.geo_context import leb128

_NUMBERS = (0.0, -0.0, 1e-320, 90.0, -90.0, 180.0, -180.0, 180.0000001, 360.0, -361.0, 1e308,
            math.inf, -math.inf, math.nan)  # fmt: skip
_COUNTS = (0, 1, 2, 3, 4, 255, 2_048, 2_049, 65_535, 65_537, 2**31 - 1, 2**31, 2**32 - 1)
_TEXTS = ("", "*", "**", "$*", "=", "@", "@to", "@by", "@s2", "@json", "s_", "é", "\x00", "8",
          "²", "٣", "ff", "32T", "99Z", "NR", "00", "A" * 2_000)  # fmt: skip
AREA = Circle(Point(45.4642, 9.19), radius_m=2000)
_LONGEST_KEY = 65_535
"""Characters: Zenoh carries no longer keys."""
_ROLES = ("p", "s", "ps", "q", "g", "", "x")


@dataclass(frozen=True)
class Stamp:
    """A time stamp as `zenoh.Timestamp` shows itself."""

    time: int
    id: str

    def get_id(self) -> str:
        return self.id

    def __str__(self) -> str:
        return f"{self.time}/{self.id}"


@dataclass(frozen=True)
class Bytes:
    """Bytes as `zenoh.ZBytes` shows itself."""

    data: bytes

    def to_bytes(self) -> bytes:
        return self.data


@dataclass(frozen=True)
class Arrived:
    """A sample as `zenoh.Sample` shows itself to those who read it."""

    key_expr: str
    attachment: Bytes | None
    timestamp: Stamp | None
    payload: Bytes = Bytes(b"")
    source_info: None = None


class Stranger:
    """Makes one input after another; the same seed makes the same ones."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    # Messages

    def message(self) -> Arrived:
        """A message: a key, and perhaps an attachment and a time stamp."""
        key = self.key()
        attachment = Bytes(self.attachment(key)) if self._often() else None
        stamp = Stamp(self._random.getrandbits(64), f"{self._random.getrandbits(128):x}")
        return Arrived(key, attachment, stamp if self._often() else None)

    def attachment(self, key: str = "") -> bytes:
        """A geo-context, built field by field, or a good one with bytes changed."""
        if self._often():
            return self._built_attachment()
        place = self._random.choice((None, self.point(), self.cell()))
        fence = self._random.choice((None, Circle(self.point(), radius_m=500), Everywhere()))
        user = self._random.choice((None, b"", b"user"))
        origin = self._random.choice((None, self._random.getrandbits(64)))
        number = self._random.getrandbits(32)
        context = GeoContext(origin, number, place, fence, None, self._often(), user)
        return self._spoiled(context.to_bytes(key.partition("/@")[2], stamped=self._often()))

    def _built_attachment(self) -> bytes:
        first = (0 if self._seldom() else 1 << 6) | self._random.getrandbits(6)
        data = bytes((first,))
        data += self._random.randbytes(2 if first & 8 else 8 if first & 16 else 0)
        if first & 24:
            data += self._leb128()
        flags = self._random.getrandbits(8 if self._seldom() else 5)
        if first & 4:
            data += bytes((flags,))
        if first & 4 and flags & 1:
            data += struct.pack("<Q", self.cell_id())
        else:
            data += (b"", self._random.randbytes(3), self._packed("<ii"), self._doubles("<dd"))[
                first & 3
            ]
        for flag in (2, 4):
            if first & 4 and flags & flag:
                shape = self.shape()
                length = self._count() if self._seldom() else len(shape)
                data += struct.pack("<I", length) + shape
        return self._spoiled(data) if self._seldom() else data

    def _leb128(self) -> bytes:
        if self._seldom():
            return b"\xff" * self._random.choice((4, 5, 6, 1_000)) + b"\x01"
        return leb128(self._random.getrandbits(self._random.choice((3, 7, 14, 32, 40))))

    # Shapes

    def shape(self) -> bytes:
        """A fence or an area in bytes."""
        match self._random.randrange(6):
            case 0:
                return b"C" + self._doubles("<ddd")
            case 1:
                return b"B" + self._doubles("<dddd")
            case 2:
                return b"E" + (b"x" if self._seldom() else b"")
            case 3:
                return self._spoiled(Circle(self.point(), radius_m=1e4).to_bytes())
            case _:
                return b"P" + self.wkb()

    def wkb(self, depth: int = 0) -> bytes:
        """Well-known binary: polygons, multipolygons, and what must not be read."""
        order = self._random.choice("<>")
        kind = self._random.choice((1, 3, 3, 3, 6, 6, 7, 10, 17, 1003, 2**31 | 3))
        head = struct.pack("B", "><".index(order)) + struct.pack(f"{order}I", kind)
        if self._seldom():
            head = struct.pack("BB", self._random.getrandbits(8), 0) + head[2:]
        match kind:
            case 1:
                return head + self._doubles(f"{order}dd")
            case 3:
                return head + self._rings(order)
            case 6:
                if self._random.random() < 0.02:
                    return head + self._slivers(order)
                parts = self._random.choice((0, 1, 2, 5, 40))
                many = self._count() if self._seldom() else parts
                polygon = struct.pack("B", "><".index(order)) + struct.pack(f"{order}I", 3)
                body = b"".join(polygon + self._rings(order) for _ in range(parts))
                return head + struct.pack(f"{order}I", many) + body
        inner = b"" if depth > 50 else self.wkb(depth + 1)
        return head + struct.pack(f"{order}I", self._count()) + inner

    def _slivers(self, order: str) -> bytes:
        """As many thin triangles as a message may hold, each of which crosses all others."""
        parts = self._random.choice((10, 100, 700))
        polygon = struct.pack("B", "><".index(order)) + struct.pack(f"{order}III", 3, 1, 4)
        body = b""
        for number in range(parts):
            x, y = math.cos(number), math.sin(number)
            corners = (-x, -y, x, y, x + 1e-4, y + 1e-4, -x, -y)
            body += polygon + struct.pack(f"{order}8d", *corners)
        return struct.pack(f"{order}I", parts) + body

    def _rings(self, order: str) -> bytes:
        rings = self._random.choice((0, 1, 1, 1, 1, 2, 3))
        data = struct.pack(f"{order}I", self._count() if self._seldom() else rings)
        return data + b"".join(self._ring(order) for _ in range(rings))

    def _ring(self, order: str) -> bytes:
        corners = self._random.choice((0, 1, 3, 4, 8, 60))
        lat, lon = self._random.uniform(-90, 90), self._random.uniform(-180, 180)
        size = self._random.choice((0.0, 1e-9, 0.01, 1.0, 20.0))
        turns = [2 * math.pi * number / max(corners, 1) for number in range(corners)]
        ring = [(lon + size * math.cos(turn), lat + size * math.sin(turn)) for turn in turns]
        ring += ring[:1]
        if ring and self._seldom():
            ring[self._random.randrange(len(ring))] = (self._double(), self._double())
        if self._seldom():
            self._random.shuffle(ring)
        many = self._count() if self._seldom() else len(ring)
        values = [value for vertex in ring for value in vertex]
        return struct.pack(f"{order}I", many) + struct.pack(f"{order}{len(values)}d", *values)

    # Keys

    def key(self) -> str:
        """A key of any encoding, perhaps with an exact place and a fence."""
        topic = self._random.choice(("t", "a/b", "a/*/c", "**", ""))
        location = self.expression()
        if self._seldom():
            size = self._random.choice((0, 3, 8, 11, 16, 24, 25))
            location = f"{location}/={self._base64(self._random.randbytes(size))}"
        fence = ""
        if self._seldom():
            fence = self._random.choice(fence_expressions(AREA))
        key = join(topic, location, fence)
        return (self._spoiled_key(key) if self._seldom() else key)[:_LONGEST_KEY]

    def expression(self) -> str:
        """The location in a key."""
        encoding = self._random.choice(encodings())
        if encoding.name == "json":
            return self.json_expression()
        place = self.point() if self._often() or encoding.name == "mgrs" else self.cell()
        try:
            if isinstance(place, Point) and self._seldom():
                key = exact_key("t", place, self._random.getrandbits(64), encoding)
                expression = (key or "t/@s2/1").partition("/")[2]
            else:
                expression = self._random.choice(encoding.place_expressions(place))
        except ValueError:  # outside a domain, or too wide for this encoding
            expression = encoding.prefix
        return self._spoiled_key(expression) if self._often() else expression

    def token(self) -> str:
        """The key by which an area is announced."""
        key = join("t", self.json_expression() if self._often() else self.expression())
        device = self._random.choice(("abc-1", "", "@by", "x/y"))
        return f"{key[: _LONGEST_KEY - 50]}/@by/{device}"

    def json_expression(self) -> str:
        """`@json/…` with any role, shape and value."""
        role, shape = self._random.choice(_ROLES), self._random.choice("01234x")
        values = self._shape_values(shape)
        text = self._deep_json() if self._seldom() else json.dumps(self._spoiled_values(values))
        data = self._spoiled(text.encode()) if self._seldom() else text.encode()
        head = role if role == "p" and self._often() else f"{role}_{shape}"
        return f"@json/{head}_{self._base64(data)}"[: _LONGEST_KEY - 100]

    def _shape_values(self, shape: str) -> Any:
        point = self.point()
        match shape:
            case "1":
                names = ("min_lat", "min_long", "max_lat", "max_long")
                low = self.point()
                corner = (low.lat, low.lon, min(90.0, low.lat + 1), min(180.0, low.lon + 1))
                return dict(zip(names, corner, strict=True))
            case "2":
                return {"r": 500.0, "c": {"lat": point.lat, "long": point.lon}}
            case "3":
                box = Box(point.lat * 0.9, point.lon * 0.9, 85.0, 179.0)
                kinds = (Polygon(box.ring).to_geojson(), {"type": "Point", "coordinates": [9, 45]})
                inner = self._random.choice(kinds)
                if self._seldom():
                    return {"type": "GeometryCollection", "geometries": [inner] * 3}
                return inner
            case "4":
                return {"cell": self.cell().token}
        return {"lat": point.lat, "long": point.lon}

    def _spoiled_values(self, values: Any) -> Any:
        """A JSON value with one part replaced, or without it."""
        if self._seldom():
            return self._json_value()
        if isinstance(values, dict) and values:
            name = self._random.choice(list(values))
            changed = dict(values)
            if self._seldom():
                del changed[name]
            else:
                changed[name] = self._spoiled_values(values[name])
            return changed
        if isinstance(values, list) and values:
            changed_list = list(values)
            at = self._random.randrange(len(values))
            changed_list[at] = self._spoiled_values(values[at])
            return changed_list
        return values

    def _json_value(self) -> Any:
        odd = ("", "1e400", "ff", [], {}, [[]], 10**400, -1, 1e308, {"lat": {}})
        choices: tuple[Any, ...] = (None, True, *odd, *_NUMBERS)
        return self._random.choice(choices)

    def _deep_json(self) -> str:
        depth = self._random.choice((10, 1_000, 20_000))
        text = self._random.choice(("[", '{"c":', '{"type":"GeometryCollection","geometries":['))
        return text * depth

    def _base64(self, data: bytes) -> str:
        return base64.urlsafe_b64encode(data).decode().rstrip("=")

    # Values

    def point(self) -> Point:
        lat, lon = self._random.uniform(-90, 90), self._random.uniform(-180, 180)
        return Point(lat, lon) if self._often() else Point(round(lat, 7), round(lon, 7))

    def cell(self) -> Cell:
        return cell_of(self.point(), self._random.randrange(31))

    def cell_id(self) -> int:
        return self._random.getrandbits(64) if self._seldom() else self.cell().id

    def _count(self) -> int:
        return self._random.choice(_COUNTS)

    def _double(self) -> float:
        if self._seldom():
            return self._random.choice(_NUMBERS)
        return self._random.uniform(-90, 90)

    def _doubles(self, form: str) -> bytes:
        return struct.pack(form, *(self._double() for _ in range(form.count("d"))))

    def _packed(self, form: str) -> bytes:
        return self._random.randbytes(struct.calcsize(form))

    # Spoiling

    def _spoiled(self, data: bytes) -> bytes:
        changed = bytearray(data)
        for _ in range(self._random.randrange(4)):
            at = self._random.randrange(len(changed) + 1)
            match self._random.randrange(4):
                case 0:
                    changed[at : at + 1] = self._random.randbytes(1)
                case 1:
                    del changed[at:]
                case 2:
                    changed[at:at] = self._random.randbytes(self._random.choice((1, 4, 300)))
                case 3:
                    changed[at : at + 4] = struct.pack("<I", self._count())
        return bytes(changed)

    def _spoiled_key(self, key: str) -> str:
        chunks = key.split("/")
        at = self._random.randrange(len(chunks))
        match self._random.randrange(5):
            case 0:
                chunks[at] = self._random.choice(_TEXTS)
            case 1:
                del chunks[at]
            case 2:
                chunks[at:at] = [self._random.choice(_TEXTS)]
            case 3:
                fit = _LONGEST_KEY // (len(chunks[at]) + 1)
                chunks[at:at] = chunks[at : at + 1] * min(fit, self._random.choice((1, 30, 3_000)))
            case 4:
                letters = list(chunks[at] or "x")
                letters[self._random.randrange(len(letters))] = chr(self._random.randrange(1, 300))
                chunks[at] = "".join(letters)
        return "/".join(chunks)[:_LONGEST_KEY]

    def _seldom(self) -> bool:
        return self._random.random() < 0.15

    def _often(self) -> bool:
        return self._random.random() < 0.6
