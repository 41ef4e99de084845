"""Attested positions: only what a trusted issuer signed, for this subject, here and now."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from places import areas_with_points, points
from property_examples import examples
from zonal.errors import AttestationError, TrustError
from zonal.geo import Area, Circle, Point, Polygon, cell_of
from zonal.trust import (
    Attester,
    TrustedIssuers,
    new_private_pem,
    token_from_text,
    token_to_text,
)
from zonal.trust.attestation import holds_cell

DUOMO = Point(45.4642, 9.19)
ATTESTER = Attester.new()
TRUSTED = TrustedIssuers([ATTESTER.public_pem])
NOW = 1_800_000_000.0
TOKEN = ATTESTER.attest("bus-7", DUOMO, now=NOW, lifetime_s=30)


def test_a_token_says_who_was_where_and_when() -> None:
    found = TRUSTED.verify(TOKEN, now=NOW + 1, subject="bus-7", area=Circle(DUOMO, radius_m=50))
    assert (found.subject, found.issued, found.lifetime_s) == ("bus-7", NOW, 30)
    assert found.cell == cell_of(DUOMO, 22)
    assert found.issuer == ATTESTER.id
    assert len(TOKEN) == 56 + len("bus-7") + 64
    assert token_from_text(token_to_text(TOKEN)) == TOKEN


def test_places_and_areas_are_taken_as_users_have_them() -> None:
    token = ATTESTER.attest("bus-7", (45.4642, 9.19), now=NOW, lifetime_s=30)
    assert token == TOKEN
    around = "CIRCLE (9.19 45.4642, 50)"
    assert TRUSTED.verify(token, now=NOW, area=around).is_inside(around)
    with pytest.raises(AttestationError, match="outside"):
        TRUSTED.verify(token, now=NOW, area="CIRCLE (9.19 45.47, 50)")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"now": NOW + 30}, "held from"),
        ({"now": NOW - 10}, "held from"),
        ({"subject": "bus-8"}, "none of 'bus-8'"),
        ({"area": Circle(Point(45.47, 9.19), radius_m=50)}, "outside"),
        ({"area": Circle(DUOMO, radius_m=1)}, "outside"),
        ({"token": Attester.new().attest("bus-7", DUOMO, now=NOW)}, "whom we trust"),
        ({"token": TOKEN[:-1]}, "no attested"),
        ({"token": b""}, "no attested"),
        ({"token": bytes(200)}, "no attested"),
    ],
    ids=["old", "new", "foreign", "distant", "wide", "stranger", "short", "empty", "zeros"],
)
def test_old_foreign_distant_and_forged_tokens_are_refused(
    given: dict[str, Any], reason: str
) -> None:
    arguments = {"token": TOKEN, "now": NOW + 1, "subject": "bus-7", **given}
    with pytest.raises(AttestationError, match=reason):
        TRUSTED.verify(arguments.pop("token"), **arguments)


@settings(deadline=None)
@given(at=st.integers(0, len(TOKEN) - 1), flip=st.integers(1, 255))
def test_no_byte_of_a_token_can_be_changed(at: int, flip: int) -> None:
    changed = bytearray(TOKEN)
    changed[at] ^= flip
    with pytest.raises(AttestationError):
        TRUSTED.verify(bytes(changed), now=NOW + 1)


@settings(deadline=None)
@given(data=st.binary(max_size=500))
def test_whatever_is_presented_is_read_or_refused(data: bytes) -> None:
    with pytest.raises(AttestationError):
        TRUSTED.verify(data, now=NOW)


@examples(200)
@given(case=areas_with_points(), level=st.integers(8, 30), other=points)
def test_a_cell_is_held_only_where_all_of_it_is_inside(
    case: tuple[Area, Point], level: int, other: Point
) -> None:
    area, point = case
    cell = cell_of(point, level)
    if holds_cell(area, cell):
        assert all(area.contains(corner) for corner in (*cell.vertices, cell.center))
        assert area.contains(point)
    far = cell_of(other, 20)
    if not area.contains(far.center):
        assert not holds_cell(area, far)


def test_a_hole_in_a_fence_is_outside() -> None:
    ring = Polygon(
        [(45.4, 9.1), (45.4, 9.3), (45.5, 9.3), (45.5, 9.1)],
        holes=[[(45.46, 9.18), (45.46, 9.2), (45.47, 9.2), (45.47, 9.18)]],
    )
    assert not holds_cell(ring, cell_of(DUOMO, 22))
    assert holds_cell(ring, cell_of(Point(45.43, 9.15), 18))
    assert not holds_cell(ring, cell_of(Point(45.43, 9.15), 8))


def test_keys_that_are_none_are_refused_with_what_to_do() -> None:
    with pytest.raises(TrustError, match="zonal attest key"):
        TrustedIssuers([b"nothing"])
    with pytest.raises(TrustError, match="no private key"):
        Attester(b"nothing")
    assert len(TrustedIssuers([ATTESTER.public_pem + Attester.new().public_pem])) == 2
    assert Attester(new_private_pem()).id != ATTESTER.id
    for subject, seconds in (("", 30), ("x" * 256, 30), ("a", 0), ("a", 70_000)):
        with pytest.raises(AttestationError):
            ATTESTER.attest(subject, DUOMO, now=NOW, lifetime_s=seconds)
