"""The test vectors of the wire format: what is written for some places, areas and messages."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

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
)
from zonal.keys import (
    Place,
    Role,
    announcement_key,
    encoding_named,
    exact_key,
    fence_expressions,
    message_keys,
)
from zonal.session import GeoContext
from zonal.session.geo_context import leb128

FILE = Path(__file__).parents[1] / "vectors" / "wire-format.json"
ENCODINGS = ("s2", "mgrs", "bloom", "json")
TOPIC = "city/air"
ORIGIN = 0x0123456789ABCDEF

MILANO = Point(45.4642, 9.19)
POINTS = (
    MILANO,
    Point(45.46421234567, 9.19001234567),
    Point(-33.8567844, 151.2152967),
    Point(0.0, 0.0),
    Point(0.0000001, -0.0000001),
    Point(-16.5, 180.0),
    Point(64.1466, -21.9426),
    Point(78.2232, 15.6267),
)
SQUARE = Polygon(((45.0, 9.0), (45.0, 9.5), (45.5, 9.5), (45.5, 9.0)))
HOLED = Polygon(SQUARE.shell, (((45.1, 9.1), (45.1, 9.2), (45.2, 9.2)),))
AREAS: tuple[Area, ...] = (
    Everywhere(),
    Circle(MILANO, radius_m=2000.0),
    Circle(Point(-16.5, 179.99), radius_m=50_000.0),
    Box(45.0, 9.0, 45.5, 9.5),
    Box(-10.0, 170.0, 10.0, -170.0),
    HOLED,
    MultiPolygon((SQUARE, Polygon(((46.0, 10.0), (46.0, 10.1), (46.1, 10.1))))),
)
MALFORMED = {
    "empty": "",
    "version 0": "00",
    "version 2": "80",
    "version 3": "c0",
    "cut off in the number": "50efcdab8967452301",
    "a number of six bytes": "50efcdab8967452301ffffffffff01",
    "a number cut off after its first byte": "48ab1480",
    "bytes behind the end": "4000",
    "no S2 cell": "44010000000000000000",
    "latitude 91": "43" + "0000000000c05640" + "0000000000000000",
    "a fence longer than the attachment": "4402ff00000045",
    "a fence of an unknown kind": "4402010000005a",
    "a fence that is a collection": "44020a0000005001070000000000000000",
}


def vectors() -> dict[str, Any]:
    """All of them, as the file holds them."""
    return {
        "version": 1,
        "topic": TOPIC,
        "origin": f"{ORIGIN:016x}",
        "leb128": {str(n): leb128(n).hex() for n in (0, 1, 127, 128, 300, 16_384, 2**32 - 1)},
        "points": [_point(point) for point in POINTS],
        "cells": [_cell(cell_of(MILANO, level)) for level in (2, 8, 12, 20)],
        "areas": [_area(area) for area in AREAS],
        "fences": [{"area": a.to_dict(), "expressions": list(fence_expressions(a))} for a in AREAS],
        "attachments": [_attachment(**each) for each in _contexts()],
        "messages": [
            {
                "place": _place(place),
                "fence": fence.to_dict(),
                "encoding": name,
                "keys": list(message_keys(TOPIC, place, fence, encoding_named(name))),
            }
            for place in (MILANO, cell_of(MILANO, 12))
            for fence in (Circle(MILANO, radius_m=500.0), Everywhere())
            for name in ("s2", "mgrs", "bloom")
        ],
        "announcements": [
            {
                "area": area.to_dict(),
                "role": role.value,
                "token": announcement_key(_json_key(area, role), "abc-1"),
            }
            for area in AREAS
            for role in (Role.SUBSCRIBER, Role.QUERYABLE)
        ],
        "tokens": [_token()],
        "sealed": [_sealed()],
        "malformed": MALFORMED,
    }


def _token() -> dict[str, Any]:
    """A token as the page says it, with nothing of ours but the cell."""
    key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    public = key.public_key().public_bytes_raw()
    issuer = hashlib.sha256(public).digest()[:8]
    holder = bytes(range(32, 64))
    cell = cell_of(MILANO, 22)
    said = (
        struct.pack(">B8sQIH32sB", 0xA1, issuer, cell.id, 1_800_000_000, 60, holder, 5) + b"bus-7"
    )
    token = said + key.sign(b"zonal attested position\0" + said)
    return {
        "public_key": public.hex(),
        "subject": "bus-7",
        "cell": cell.token,
        "issued": 1_800_000_000,
        "lifetime_s": 60,
        "holder": holder.hex(),
        "token": token.hex(),
    }


def _sealed() -> dict[str, Any]:
    """A sealed payload as the page says it, with nothing of ours but the shape."""
    secret, epoch = b"a secret of this zone", 30_000_000
    info = f"zonal zone duomo 60 {epoch}".encode()
    key = HKDF(hashes.SHA256(), 32, None, info).derive(secret)
    fence = Circle(MILANO, radius_m=500.0)
    head = b"\0ZS\1" + bytes((5,)) + b"duomo" + struct.pack(">I", epoch)
    topic = TOPIC.encode()
    place = b"+" + struct.pack(">dd", MILANO.lat, MILANO.lon)
    associated = head + struct.pack(">I", len(topic)) + topic + place + fence.to_bytes()
    nonce, plain = bytes(range(12)), bytes((10,)) + b"text/plain" + b"the plan"
    return {
        "zone": "duomo",
        "secret": secret.hex(),
        "epoch_s": 60,
        "epoch": epoch,
        "topic": TOPIC,
        "place": _place(MILANO),
        "fence": fence.to_dict(),
        "content_encoding": "text/plain",
        "plain": "the plan",
        "payload": (head + nonce + AESGCM(key).encrypt(nonce, plain, associated)).hex(),
    }


def _json_key(area: Area, role: Role) -> str:
    return f"{TOPIC}/{encoding_named('json').area_expressions(area, role)[0]}"


def _point(point: Point) -> dict[str, Any]:
    kinds = {name: encoding_named(name) for name in ENCODINGS}
    exact = {name: exact_key(TOPIC, point, ORIGIN, kinds[name]) for name in ENCODINGS}
    return {
        "place": _place(point),
        "expressions": {n: kind.place_expressions(point)[0] for n, kind in kinds.items()},
        "exact_keys": {name: key for name, key in exact.items() if key is not None},
    }


def _cell(cell: Cell) -> dict[str, Any]:
    return {
        "place": _place(cell),
        "id": f"{cell.id:016x}",
        "expressions": {n: list(encoding_named(n).place_expressions(cell)) for n in ENCODINGS},
    }


def _area(area: Area) -> dict[str, Any]:
    return {
        "area": area.to_dict(),
        "bytes": area.to_bytes().hex(),
        "expressions": {
            name: list(encoding_named(name).area_expressions(area, Role.SUBSCRIBER))
            for name in ENCODINGS
        },
    }


def _contexts() -> list[dict[str, Any]]:
    near = encoding_named("s2").place_expressions(MILANO)[0]
    metre = encoding_named("mgrs").place_expressions(MILANO)[0]
    cell = cell_of(MILANO, 12)
    fence = Circle(MILANO, radius_m=500.0)
    here = GeoContext(ORIGIN, 300, MILANO)
    return [
        {"context": GeoContext()},
        {"context": here, "expression": near, "stamped": True},
        {"context": here, "expression": near},
        {"context": here, "expression": metre, "stamped": True},
        {"context": here, "expression": "@json/p_x", "stamped": True},
        {"context": GeoContext(None, 0, MILANO), "expression": near},
        {"context": GeoContext(ORIGIN, 7, POINTS[1]), "expression": near, "stamped": True},
        {"context": GeoContext(ORIGIN, 2**32 - 1, cell, copies=True), "expression": "@s2/2/**"},
        {"context": here._replace(fence=fence, copies=True), "expression": near, "stamped": True},
        {"context": here._replace(fence=Everywhere(), user=b"mine"), "expression": near},
        {"context": here._replace(user=b""), "expression": near},
        {"context": here._replace(fence=fence, attested=True), "expression": near},
        {"context": GeoContext(ORIGIN, 1, area=HOLED)},
        {"context": GeoContext(ORIGIN, 1, None, fence, Box(45.0, 9.0, 45.5, 9.5))},
    ]


def _attachment(
    context: GeoContext, expression: str = "", *, stamped: bool = False
) -> dict[str, Any]:
    return {
        "expression": expression,
        "origin": None if context.origin is None else f"{context.origin:016x}",
        "origin_in_time_stamp": stamped,
        "sequence": context.sequence,
        "place": None if context.place is None else _place(context.place),
        "fence": None if context.fence is None else context.fence.to_dict(),
        "area": None if context.area is None else context.area.to_dict(),
        "copies": context.copies,
        "attested": context.attested,
        "user": None if context.user is None else context.user.hex(),
        "attachment": context.to_bytes(expression, stamped=stamped).hex(),
    }


def _place(place: Place) -> dict[str, Any]:
    if isinstance(place, Cell):
        return {"cell": place.token}
    return {"lat": place.lat, "lon": place.lon}
