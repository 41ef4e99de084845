"""Inputs of strangers who know the format: right in all of it, but for one part, if at all."""

from __future__ import annotations

import base64
import json
import math
import random
import struct
from dataclasses import dataclass
from typing import Any

import zenoh

from hostile import Arrived, Bytes, Stamp, Stranger
from zonal.geo import (
    Area,
    Box,
    Cell,
    Circle,
    Everywhere,
    MultiPolygon,
    Point,
    Polygon,
    cell_of,
    destination,
)
from zonal.keys import Role, encoding_named, join, location_of, place_key
from zonal.session import GeoContext

HERE = Point(45.4642, 9.19)
_ODD_DOUBLES = (0.0, -0.0, 5e-324, 90.0, 180.0, 180.5, -361.0, 1e308, math.inf, math.nan)
_ODD_COUNTS = (0, 1, 3, 2_049, 65_537, 2**31, 2**32 - 1)
_TIMES = ("now()", "now(-1h)", "2026-11-15T06:00:00Z", "", "now(-2w)", "2026-11-15", "1h",
          "now(1e308d)", "9999-12-31", "0001-01-01T00:00:00+14:00", "x")  # fmt: skip
_VALUES = ("1", "10", "45.46,9.19", "1000", "-1", "0", "nan", "inf", "1e400", "9" * 5_000, "٣", "",
           "45.46,9.19,1", "91,0", "²", "\x00", "=", "a;b")  # fmt: skip
_NAMES = ("_nearest", "_to", "_beyond", "_time", "_limit", "_since", "_store", "_sn", "_anyke", "")


@dataclass(frozen=True)
class Shape:
    """An area that writes itself as somebody else says."""

    data: bytes

    def to_bytes(self) -> bytes:
        return self.data


@dataclass(frozen=True)
class Failure:
    """An error as `zenoh.ReplyError` shows itself."""

    payload: Bytes


@dataclass(frozen=True)
class Answer:
    """A reply as `zenoh.Reply` shows itself."""

    ok: Arrived | None
    err: Failure | None


@dataclass(frozen=True)
class Question:
    """A question as `zenoh.Query` shows itself to those who read it."""

    key_expr: str
    parameters: zenoh.Parameters
    attachment: Bytes | None

    def drop(self) -> None:
        """Nobody waits for the end of it."""


class Impostor(Stranger):
    """A stranger who changes one thing in what others would send; the same seed, the same thing."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._dice = random.Random(~seed)

    # What arrives

    def message(self) -> Arrived:
        """From a place near here, perhaps with a fence, in any encoding."""
        place = self._place()
        encoding = encoding_named(self._dice.choice(("s2", "mgrs", "bloom")))
        key = place_key("t", place, encoding)
        fence = None if self._one_in(3) else self._wrong(self._area())
        return self._arrived(key, GeoContext(place=place, fence=fence))

    def answer(self) -> Answer:
        """The reply to a question: a message, a plain one, or an error."""
        if self._one_in(8):
            return Answer(None, Failure(Bytes(self._dice.randbytes(20))))
        return Answer(Arrived("t", None, None) if self._one_in(8) else self.message(), None)

    def question(self) -> Question:
        """About an area, with parameters."""
        context = GeoContext(1, self._dice.getrandbits(32), area=self._wrong(self._area()))
        return Question("t/@s2/1/**", self.parameters(), Bytes(self._changed(context.to_bytes())))

    def token(self) -> str:
        """The token of an announced area."""
        (expression,) = encoding_named("json").area_expressions(self._area(), Role.SUBSCRIBER)
        head, _, written = expression.rpartition("_")
        if self._one_in(2):
            data = base64.urlsafe_b64decode(written + "=" * (-len(written) % 4))
            values = self._spoiled_values(json.loads(data))
            written = self._base64(json.dumps(values).encode())
        return f"{join('t', f'{head}_{written}')}/@by/device-1"

    def presence(self) -> str:
        """The liveliness token of somebody at a place."""
        encoding = encoding_named(self._dice.choice(("s2", "mgrs", "bloom", "json")))
        key = place_key("t", self._place() if encoding.name != "json" else self._near(), encoding)
        return self._spoiled_key(key) if self._one_in(4) else key

    def parameters(self) -> zenoh.Parameters:
        """Those of questions about the past, the nearest, and what came since."""
        begin, end = self._dice.choice(_TIMES), self._dice.choice(_TIMES)
        right = {
            "_nearest": "10", "_to": "45.46,9.19", "_beyond": "-1", "_limit": "5",
            "_time": f"[{begin}{self._dice.choice(('..', '..', '..', ';', ''))}{end}]",
        }  # fmt: skip
        if self._one_in(2):
            right[self._dice.choice(_NAMES)] = self._dice.choice(_VALUES)
        return zenoh.Parameters(";".join(f"{name}={value}" for name, value in right.items()))

    # Its parts

    def _arrived(self, key: str, context: GeoContext) -> Arrived:
        origin = self._dice.getrandbits(64)
        context = context._replace(origin=origin, sequence=self._dice.getrandbits(14), copies=True)
        stamped = self._one_in(2)
        data = context.to_bytes(location_of(key), stamped=stamped)
        stamp = Stamp(self._dice.getrandbits(64), f"{origin:x}") if stamped else None
        return Arrived(key, Bytes(self._changed(data)), stamp)

    def _near(self) -> Point:
        return destination(HERE, self._dice.uniform(0, 360), 10 ** self._dice.uniform(0, 5))

    def _place(self) -> Point | Cell:
        point = self._near()
        if self._one_in(2):
            point = Point(round(point.lat, 7), round(point.lon, 7))
        return cell_of(point, 2 * self._dice.randrange(8, 12)) if self._one_in(4) else point

    def _area(self) -> Area:
        match self._dice.randrange(6):
            case 0:
                return Circle(self._near(), radius_m=10 ** self._dice.uniform(0, 6))
            case 1:
                center = self._near()
                return Box(center.lat - 0.1, center.lon - 0.1, center.lat + 0.1, center.lon + 0.1)
            case 2:
                return Everywhere() if self._one_in(4) else self._polygon()
            case 3:
                return MultiPolygon(
                    tuple(self._polygon() for _ in range(self._dice.randrange(1, 5)))
                )
        return self._polygon()

    def _polygon(self) -> Polygon:
        center, corners = self._near(), self._dice.choice((3, 4, 8, 60, 250))
        size = 10 ** self._dice.uniform(-4, 0.5)
        turns = [math.tau * number / corners for number in range(corners)]
        reach = [size * self._dice.uniform(0.5, 1.0) for _ in turns]
        ring = [
            (center.lat + far * math.sin(turn), center.lon + far * math.cos(turn))
            for far, turn in zip(reach, turns, strict=True)
        ]
        hole = [(center.lat + 0.1 * (lat - center.lat), center.lon + 0.1 * (lon - center.lon))
                for lat, lon in ring]  # fmt: skip
        return Polygon(ring, [hole] if corners > 4 and self._one_in(3) else [])

    # What is changed

    def _wrong(self, area: Area) -> Any:
        """The area; half the time with one number in its bytes changed."""
        data = bytearray(area.to_bytes())
        if self._one_in(2) or len(data) < 10:
            return area
        if data[:1] == b"P":
            # Behind the letter: byte order and type; a number of rings or parts, then vertices.
            at = 1 + self._dice.choice((0, 1, 5, 9))
            if self._one_in(2):
                at = 14 + 8 * self._dice.randrange(max(1, (len(data) - 22) // 8))
                return self._with_double(data, at)
            data[at : at + 4] = struct.pack("<I", self._dice.choice(_ODD_COUNTS))
            return Shape(bytes(data))
        return self._with_double(data, 1 + 8 * self._dice.randrange((len(data) - 1) // 8))

    def _with_double(self, data: bytearray, at: int) -> Shape:
        (value,) = struct.unpack_from("<d", data, at)
        near = value * self._dice.uniform(0.9, 1.1)
        struct.pack_into("<d", data, at, self._dice.choice((near, near, *_ODD_DOUBLES)))
        return Shape(bytes(data))

    def _changed(self, data: bytes) -> bytes:
        """The bytes; now and then some are others, are missing or are too many."""
        if not self._one_in(4):
            return data
        changed, at = bytearray(data), self._dice.randrange(len(data))
        match self._dice.randrange(3):
            case 0:
                changed[at] ^= 1 << self._dice.randrange(8)
            case 1:
                del changed[at:]
            case 2:
                changed[at:at] = self._dice.randbytes(self._dice.choice((1, 4)))
        return bytes(changed)

    def _one_in(self, many: int) -> bool:
        return self._dice.randrange(many) == 0
