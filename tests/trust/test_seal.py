"""Sealed payloads, the keys of zones, and numbers that are taken once."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zonal.errors import GeometryError, SealError, TrustError
from zonal.geo import Circle, Point
from zonal.trust import (
    Attester,
    Holder,
    ReplayGuard,
    TrustedIssuers,
    Zone,
    answer_for,
    open_payload,
    read_question,
    seal_payload,
    sealed_head,
    written_places,
)

DUOMO = Point(45.4642, 9.19)
FENCE = Circle(DUOMO, radius_m=500)
NOW = 1_800_000_000.0
ZONE = Zone("duomo", FENCE, b"0123456789abcdef", epoch_s=60)
PLACES = written_places(DUOMO, FENCE)


def key_of(zone: str, epoch: int) -> bytes | None:
    return ZONE.key_of(epoch).key if zone == "duomo" else None


@settings(deadline=None)
@given(payload=st.binary(max_size=300), encoding=st.text(max_size=50), topic=st.text(min_size=1))
def test_what_was_sealed_opens_with_its_content_encoding(
    payload: bytes, encoding: str, topic: str
) -> None:
    data = seal_payload(ZONE.key_of(5), payload, encoding, topic, PLACES)
    assert open_payload(data, topic, PLACES, key_of) == (payload, encoding)
    assert sealed_head(data) == ("duomo", 5, 14)


def test_a_seal_holds_for_its_topic_its_fence_and_its_epoch() -> None:
    data = seal_payload(ZONE.key_of(5), b"secret", "text/plain", "a/b", PLACES)
    assert b"secret" not in data
    wider = written_places(DUOMO, Circle(DUOMO, radius_m=5000))
    for topic, places in (("a/c", PLACES), ("a/b", wider), ("a/b", written_places(None, FENCE))):
        with pytest.raises(SealError):
            open_payload(data, topic, places, key_of)
    with pytest.raises(SealError, match="no key of zone 'duomo' for epoch 5"):
        open_payload(data, "a/b", PLACES, lambda _zone, _epoch: None)
    with pytest.raises(SealError):
        open_payload(data, "a/b", PLACES, lambda _zone, _epoch: ZONE.key_of(6).key)


@settings(deadline=None)
@given(at=st.integers(0, 60), flip=st.integers(1, 255))
def test_no_byte_of_a_sealed_payload_can_be_changed(at: int, flip: int) -> None:
    data = bytearray(seal_payload(ZONE.key_of(5), b"x" * 30, "text/plain", "a/b", PLACES))
    data[at % len(data)] ^= flip
    with pytest.raises(SealError):
        open_payload(bytes(data), "a/b", PLACES, key_of)


@given(data=st.binary(max_size=100) | st.binary(max_size=100).map(lambda rest: b"\0ZS\1" + rest))
def test_whatever_comes_is_opened_or_refused(data: bytes) -> None:
    with pytest.raises(SealError):
        open_payload(data, "a/b", PLACES, key_of)


def test_epochs_have_keys_of_their_own_and_the_last_one_has_a_grace() -> None:
    assert ZONE.key_of(1).key != ZONE.key_of(2).key
    assert Zone("other", FENCE, ZONE.secret).key_of(1).key != ZONE.key_of(1).key
    epoch = ZONE.epoch_at(NOW)
    begin = epoch * 60.0
    assert [key.epoch for key in ZONE.keys_for_those_inside(begin + 1)] == [epoch, epoch - 1]
    assert [key.epoch for key in ZONE.keys_for_those_inside(begin + 20)] == [epoch]


def test_a_key_is_handed_to_the_holder_and_to_nobody_else() -> None:
    attester, service = Attester.new(), Attester.new()
    trusted = TrustedIssuers([attester.public_pem, service.public_key])
    holder, thief = Holder(), Holder()
    token = attester.attest("bus-7", DUOMO, now=NOW, holder=holder.public_key)
    question = holder.ask(token)
    attestation = trusted.verify(read_question(question), now=NOW, area=ZONE.area)
    answer = answer_for(ZONE.key_of(9), attestation, question, service)
    got = holder.read_answer(answer, zone="duomo", question=question, services=trusted)
    assert got == ZONE.key_of(9)
    assert ZONE.key_of(9).key not in answer
    # Whoever overhears the question and the answer, or asks again with the same token.
    with pytest.raises(SealError):
        thief.read_answer(answer, zone="duomo", question=question, services=trusted)
    again = answer_for(ZONE.key_of(9), attestation, thief.ask(token), service)
    with pytest.raises(SealError):
        thief.read_answer(again, zone="duomo", question=question, services=trusted)
    # An answer to another question, for another zone, of a service that nobody trusts.
    with pytest.raises(SealError):
        holder.read_answer(again, zone="duomo", question=question, services=trusted)
    with pytest.raises(SealError):
        holder.read_answer(answer, zone="castle", question=question, services=trusted)
    forged = answer_for(ZONE.key_of(9), attestation, question, Attester.new())
    with pytest.raises(SealError, match="whom we trust"):
        holder.read_answer(forged, zone="duomo", question=question, services=trusted)
    nobody = trusted.verify(attester.attest("a", DUOMO, now=NOW), now=NOW)
    with pytest.raises(SealError, match="names no key"):
        answer_for(ZONE.key_of(9), nobody, question, service)
    for data in (b"", answer[:-1], b"x" * len(answer)):
        with pytest.raises(SealError):
            holder.read_answer(data, zone="duomo", question=question, services=trusted)


def test_zones_that_cannot_be_are_refused() -> None:
    for name, secret, seconds in (("a/b", b"x" * 16, 60), ("a", b"x", 60), ("a", b"x" * 16, 0)):
        with pytest.raises(TrustError):
            Zone(name, FENCE, secret, epoch_s=seconds)
    with pytest.raises(GeometryError):
        Zone("a", "nowhere", b"x" * 16)  # type: ignore[arg-type]


@given(numbers=st.lists(st.integers(0, 60), max_size=80), window=st.integers(1, 40))
def test_a_number_is_news_once_and_only_within_the_window(numbers: list[int], window: int) -> None:
    guard: ReplayGuard[str] = ReplayGuard(window)
    taken: set[int] = set()
    highest = -1
    for number in numbers:
        expected = number not in taken and (not taken or number > highest - window)
        assert guard.is_news("a", number) == expected
        if expected:
            taken.add(number)
            highest = max(highest, number)


def test_senders_have_numbers_of_their_own_and_few_are_remembered() -> None:
    guard: ReplayGuard[int] = ReplayGuard(64, senders=2)
    assert all(guard.is_news(sender, 7) for sender in (1, 2))
    assert not guard.is_news(1, 7)
    assert guard.is_news(3, 7)
    assert len(guard._seen) == 2
