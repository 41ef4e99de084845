"""The stored test vectors of the wire format are what we write, and we read them back.

A difference here is a change of the format. `python tools/make_vectors.py` writes them anew.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from wire_vectors import ENCODINGS, FILE, vectors
from zonal.errors import AttachmentError
from zonal.geo import Area, Cell, Point, area_from_bytes, area_from_dict
from zonal.keys import (
    LocationKey,
    Place,
    Role,
    announced_expression,
    encoding_named,
    match,
    read_announced,
    read_key,
    refine,
)
from zonal.session import GeoContext
from zonal.trust import TrustedIssuers, Zone, open_payload, written_places

STORED: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
ORIGIN = int(STORED["origin"], 16)


@pytest.mark.parametrize("section", sorted({*STORED, *vectors()}))
def test_we_write_what_is_stored(section: str) -> None:
    made = json.loads(json.dumps(vectors()))
    assert made.get(section) == STORED.get(section)


def place_of(values: dict[str, Any] | None) -> Place | None:
    if values is None:
        return None
    return Cell.from_token(values["cell"]) if "cell" in values else Point(**values)


def area_of(values: dict[str, Any] | None) -> Area | None:
    return None if values is None else area_from_dict(values)


@pytest.mark.parametrize("vector", STORED["attachments"], ids=lambda each: each["attachment"][:24])
def test_attachments_are_read(vector: dict[str, Any]) -> None:
    origin = None if vector["origin"] is None else int(vector["origin"], 16)
    stamp = origin if vector["origin_in_time_stamp"] else None
    read = GeoContext.from_bytes(bytes.fromhex(vector["attachment"]), vector["expression"], stamp)
    assert read == GeoContext(
        origin,
        vector["sequence"],
        place_of(vector["place"]),
        area_of(vector["fence"]),
        area_of(vector["area"]),
        vector["copies"],
        None if vector["user"] is None else bytes.fromhex(vector["user"]),
        vector["attested"],
    )


@pytest.mark.parametrize("name", STORED["malformed"])
def test_malformed_attachments_are_refused(name: str) -> None:
    with pytest.raises(AttachmentError):
        GeoContext.from_bytes(bytes.fromhex(STORED["malformed"][name]))


def test_exact_keys_are_read() -> None:
    keys = [
        (each["place"], key) for each in STORED["points"] for key in each["exact_keys"].values()
    ]
    assert len(keys) >= len(STORED["points"])
    for place, key in keys:
        assert read_key(key).read_exact() == (place_of(place), ORIGIN)


def test_shapes_are_read() -> None:
    for each in STORED["areas"]:
        assert area_from_bytes(bytes.fromhex(each["bytes"])) == area_of(each["area"])


def test_announcements_are_read() -> None:
    for each in STORED["announcements"]:
        read = read_announced(announced_expression(each["token"]), encoding_named("json"))
        assert read.area == area_of(each["area"])
        assert (read.hears, read.answers) == (each["role"] == "s", each["role"] == "q")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_point_in_an_area_has_a_key_that_meets_one_of_its_keys(encoding: str) -> None:
    """What another implementation has to hold as well, whatever cells it covers areas with."""
    met = 0
    for point in STORED["points"]:
        key = LocationKey(point["expressions"][encoding], Role.PUBLISHER)
        place = place_of(point["place"])
        for each in STORED["areas"]:
            area = area_of(each["area"])
            assert area is not None
            assert place is not None
            if refine(area, place):
                met += 1
                keys = [LocationKey(e, Role.SUBSCRIBER) for e in each["expressions"][encoding]]
                assert any(match(key, other) for other in keys)
    assert met > len(STORED["points"])


def test_tokens_are_read() -> None:
    for each in STORED["tokens"]:
        trusted = TrustedIssuers([bytes.fromhex(each["public_key"])])
        token = bytes.fromhex(each["token"])
        found = trusted.verify(token, now=each["issued"] + 1, subject=each["subject"])
        assert found.cell == Cell.from_token(each["cell"])
        assert (found.issued, found.lifetime_s) == (each["issued"], each["lifetime_s"])
        assert found.holder == bytes.fromhex(each["holder"])


def test_sealed_payloads_are_opened() -> None:
    for each in STORED["sealed"]:
        fence, place = area_of(each["fence"]), place_of(each["place"])
        assert fence is not None
        assert isinstance(place, Point)
        zone = Zone(each["zone"], fence, bytes.fromhex(each["secret"]), each["epoch_s"])
        opened = open_payload(
            bytes.fromhex(each["payload"]), each["topic"], written_places(place, fence),
            lambda _, epoch, zone=zone: zone.key_of(epoch).key,
        )  # fmt: skip
        assert opened == (each["plain"].encode(), each["content_encoding"])
