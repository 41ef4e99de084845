"""Places in payloads: what JSON, GeoJSON, NMEA 0183 and Sparkplug B say about latitude, longitude.

Every reader takes a payload and returns a place, or None where the payload says none; what is not
in its format raises `ValueError`.
"""

from __future__ import annotations

import json
import operator
import re
import struct
from typing import Any

from zonal.geo import Point

STEP = re.compile(r"\.(?P<name>[\w@-]+)|\[(?P<number>-?\d+)\]|\['(?P<quoted>[^']*)'\]")
CLAUSE = re.compile(
    r"\s*(?P<path>\$\S*)\s*(?:(?P<sign>==|!=|<=|>=|<|>)\s*(?P<value>'[^']*'|\"[^\"]*\"|\S+))?\s*"
)
SENTENCE = re.compile(
    r"\$(?P<body>[A-Z]{2}(?P<kind>GGA|RMC|GLL|GNS),[^*\r\n]*)(?:\*(?P<sum>\w\w))?"
)
# Where latitude begins, where the fix is judged, and what it must not be.
FIELDS = {"GGA": (2, 6, "0"), "RMC": (3, 2, "V"), "GLL": (1, 6, "V"), "GNS": (2, 6, "N")}

ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}

Path = tuple[str | int, ...]


def read_path(text: str) -> Path:
    """The steps of a JSON path such as `$.gps.lat`, `$['a b'][0]`."""
    steps: list[str | int] = []
    position = 1
    while position < len(text):
        found = STEP.match(text, position)
        if found is None:
            break
        number = found["number"]
        steps.append(int(number) if number else found["name"] or found["quoted"])
        position = found.end()
    if not text.startswith("$") or position < len(text):
        raise ValueError(f"{text!r} is no path such as $.gps.lat or $.fixes[0]['lat']")
    return tuple(steps)


def follow(path: Path, value: Any) -> Any:
    """What stands at a path in a JSON value; None where nothing does."""
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


class Condition:
    """Clauses such as `$._type == 'location'`, joined by `and`; a path alone: it is there."""

    def __init__(self, text: str) -> None:
        self._clauses = [self._clause(part, text) for part in re.split(r"\s+and\s+", text)]

    @staticmethod
    def _clause(part: str, whole: str) -> tuple[Path, str | None, Any]:
        found = CLAUSE.fullmatch(part)
        if found is None:
            raise ValueError(f"{whole!r} is no condition such as $._type == 'location'")
        value = found["value"]
        if value is not None:
            value = value[1:-1] if value[0] in "'\"" else json.loads(value)
        return read_path(found["path"]), found["sign"], value

    def holds(self, document: Any) -> bool:
        """Whether all clauses are true of a JSON value."""
        return all(
            compare(follow(path, document), sign, value) for path, sign, value in self._clauses
        )


def compare(found: Any, sign: str | None, value: Any) -> bool:
    """Whether `found sign value`; different kinds are only ever unequal."""
    if sign is None:
        return found is not None
    if sign in {"==", "!="}:
        return bool(found == value) is (sign == "==")
    try:
        return bool(ORDERS[sign](found, value))
    except TypeError:
        return False


def number(value: Any) -> float | None:
    """A number, also one written as text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def place(latitude: Any, longitude: Any) -> Point | None:
    """The place of two values; None where they are not two numbers."""
    lat, lon = number(latitude), number(longitude)
    return None if lat is None or lon is None else Point(lat, lon)


def from_geojson(value: Any) -> Point | None:
    """The place of a GeoJSON point, or of a feature that is one."""
    if isinstance(value, dict) and value.get("type") == "Feature":
        value = value.get("geometry")
    if not isinstance(value, dict) or value.get("type") != "Point":
        return None
    coordinates = value.get("coordinates")
    if not isinstance(coordinates, list) or len(coordinates) < 2:
        return None
    return place(coordinates[1], coordinates[0])


def from_nmea(payload: bytes) -> Point | None:
    """The last fix in GGA, RMC, GLL or GNS sentences, of any satellites; bad sums are passed by."""
    found: Point | None = None
    for sentence in SENTENCE.finditer(payload.decode("ascii", "replace")):
        total = 0
        for sign in sentence["body"].encode("ascii", "replace"):
            total ^= sign
        if sentence["sum"] is not None and sentence["sum"].upper() != f"{total:02X}":
            continue
        parts = sentence["body"].split(",")
        at, judged, bad = FIELDS[sentence["kind"]]
        if len(parts) <= max(judged, at + 3) or parts[judged][:1] in {bad, ""}:
            continue
        lat, lon = _degrees(parts[at], parts[at + 1]), _degrees(parts[at + 2], parts[at + 3])
        if lat is not None and lon is not None:
            found = Point(lat, lon)
    return found


def _degrees(written: str, side: str) -> float | None:
    """Degrees from `ddmm.mmmm` and a side of the world."""
    try:
        whole, minutes = divmod(float(written), 100.0)
    except ValueError:
        return None
    if side not in {"N", "S", "E", "W"}:
        return None
    degrees = round(whole + minutes / 60.0, 9)
    return -degrees if side in "SW" else degrees


def sparkplug_metrics(payload: bytes) -> list[tuple[str | None, int | None, Any]]:
    """Name, alias and value of each metric of a Sparkplug B payload (protocol buffers)."""
    return [
        _metric(value) for field, value in _fields(payload) if field == 2 and type(value) is bytes
    ]


def _metric(data: bytes) -> tuple[str | None, int | None, Any]:
    name: str | None = None
    alias: int | None = None
    value: Any = None
    for field, raw in _fields(data):
        if field == 1 and isinstance(raw, bytes):
            name = raw.decode()
        elif field == 2 and isinstance(raw, int):
            alias = raw
        elif field == 12 and isinstance(raw, bytes) and len(raw) == 4:
            value = struct.unpack("<f", raw)[0]
        elif field == 13 and isinstance(raw, bytes) and len(raw) == 8:
            value = struct.unpack("<d", raw)[0]
        elif field == 15 and isinstance(raw, bytes):
            value = raw.decode()
    return name, alias, value


def _fields(data: bytes) -> list[tuple[int, int | bytes]]:
    """The fields of a protocol buffer message: numbers, and the bytes of all else."""
    found: list[tuple[int, int | bytes]] = []
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        kind = key & 7
        if kind == 0:
            value, position = _varint(data, position)
            found.append((key >> 3, value))
            continue
        if kind == 2:
            size, position = _varint(data, position)
        elif kind in {1, 5}:
            size = 8 if kind == 1 else 4
        else:
            raise ValueError(f"a field of wire type {kind}")
        if position + size > len(data):
            raise ValueError("a field goes beyond its message")
        found.append((key >> 3, data[position : position + size]))
        position += size
    return found


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(data) and shift < 64:
        part = data[position]
        position += 1
        value |= (part & 0x7F) << shift
        if part < 0x80:
            return value, position
        shift += 7
    raise ValueError("a number that does not end")
