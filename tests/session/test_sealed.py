"""Attested fences and sealed messages on a real network, with liars and eavesdroppers on it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
import zenoh

from network import collect, eventually, plain_client, texts, wait_for_answerer, wait_until_declared
from zonal.errors import AttestationError, GeometryError, SealError
from zonal.geo import Circle, MultiPolygon, Point, Polygon
from zonal.session import AttestationService, KeyService, Router, Session
from zonal.trust import AttestationRequest, Attester, Holder, TrustedIssuers, Zone

DUOMO, BERLIN = Point(45.4642, 9.19), Point(52.52, 13.405)
FENCE = Circle(DUOMO, radius_m=500)
ATTESTER, SIGNER = Attester.new(), Attester.new()
TRUSTED = TrustedIssuers([ATTESTER.public_key, SIGNER.public_key])
ZONE = Zone("duomo", FENCE, b"the operator's secret of the duomo")


@pytest.fixture
def places() -> dict[str, Point]:
    """Where the operator's locating system finds whom."""
    return {}


@pytest.fixture
def operator(
    routers: list[Router], near: Session, places: dict[str, Point]
) -> Iterator[tuple[AttestationService, KeyService]]:
    def locate(request: AttestationRequest) -> Point | None:
        return places.get(request.subject) if request.evidence == b"beacon" else None

    with (
        AttestationService(near, ATTESTER, locate, lifetime_s=30) as attesting,
        KeyService(near, SIGNER, [ZONE], TRUSTED) as keys,
        plain_client(routers[-1]) as plain,
    ):
        wait_for_answerer(plain, "@zonal/attest/attester")
        wait_for_answerer(plain, "@zonal/keys/duomo")
        yield attesting, keys


def attest(session: Session, place: Point, **options: int) -> None:
    session.present(
        ATTESTER.attest(
            session.subject, place, now=time.time(), holder=session.holder.public_key, **options
        )
    )


def test_an_attested_fence_is_heard_by_whom_somebody_vouches_for(
    near: Session, far: Session, topic: str
) -> None:
    far.declare_position_handler(float("inf"), DUOMO)
    far.trust(TRUSTED)
    subscriber = far.declare_subscriber(topic)
    wait_until_declared(near, subscriber)

    def tell(text: str, *, attested: bool = True) -> None:
        near.put(topic, text, geofence=FENCE, attested=attested)
        near.put(topic, "then", geofence=FENCE)

    tell("nobody vouches")
    assert texts(collect(subscriber, 1)) == ["then"]
    attest(far, BERLIN)
    tell("somebody vouches for Berlin")
    assert texts(collect(subscriber, 1)) == ["then"]
    attest(far, DUOMO)
    tell("here")
    assert texts(collect(subscriber, 2)) == ["here", "then"]
    # Many listeners are found in another way.
    others = [far.declare_subscriber(topic) for _ in range(15)]
    tell("all")
    assert [texts(collect(each, 2)) for each in others] == [["all", "then"]] * 15
    far._position.attestation = None
    tell("none")
    assert [texts(collect(each, 1)) for each in others] == [["then"]] * 15


def test_old_foreign_and_forged_tokens_are_not_presented(near: Session, far: Session) -> None:
    far.trust(TRUSTED)
    now = time.time()
    tokens = {
        "whom we trust": Attester.new().attest(far.subject, DUOMO, now=now),
        "none of": ATTESTER.attest(near.subject, DUOMO, now=now),
        "held from": ATTESTER.attest(far.subject, DUOMO, now=now - 100),
        "no attested": b"nonsense",
    }
    for reason, token in tokens.items():
        with pytest.raises(AttestationError, match=reason):
            far.present(token)
    assert far.attestation is None
    with pytest.raises(GeometryError, match="geofence"):
        far.put("t", b"", location=DUOMO, attested=True)


@pytest.mark.usefixtures("operator")
def test_who_is_located_gets_a_token_and_then_the_key(
    near: Session, far: Session,
    places: dict[str, Point], topic: str, routers: list[Router],
) -> None:  # fmt: skip
    far.trust(TRUSTED)
    with pytest.raises(AttestationError, match="refused"):
        far.request_attestation("attester", b"guess")
    with pytest.raises(SealError, match="we presented none"):
        far.keyring.join("duomo")
    places[far.subject] = DUOMO
    found = far.request_attestation("attester", b"beacon")
    assert found.is_inside(FENCE)
    assert far.position is not None
    assert far.position.distance_m(DUOMO) < 5
    key = far.keyring.join("duomo")
    assert key in ZONE.keys_for_those_inside(time.time())

    # The sender has the zone's secret; whoever subscribes past all fences gets ciphertext.
    near.keyring.add_secret(ZONE)
    with plain_client(routers[0]) as spy:
        spied: list[zenoh.Sample] = []
        spy.declare_subscriber(f"{topic}/**/@to/**", spied.append)
        subscriber = far.declare_subscriber(topic)
        fenced = far.declare_subscriber(f"{topic}/publisher", fenced=True)
        wait_until_declared(near, subscriber, fenced)
        near.put(topic, {"plan": 1}, geofence=FENCE, attested=True, sealed="duomo")
        (sample,) = collect(subscriber, 1)
        assert sample.json() == {"plan": 1}
        assert str(sample.content_encoding) == "application/json"
        assert not sample.is_sealed
        publisher = near.declare_publisher(f"{topic}/publisher", location=DUOMO, sealed="duomo",
                                           geofence=FENCE)  # fmt: skip
        publisher.put("from a publisher")
        assert texts(collect(fenced, 1)) == ["from a publisher"]
        eventually(lambda: len(spied) >= 2)
        assert all(b"plan" not in s.payload.to_bytes() for s in spied)
        assert all(b"from a publisher" not in s.payload.to_bytes() for s in spied)
        ring = Polygon([(45.46, 9.18), (45.46, 9.2), (45.47, 9.2), (45.47, 9.18)])
        wheres: list[Any] = [
            {"location": DUOMO, "precision_m": 1000},
            {"location": Point(45.46421234567, 9.19001234567), "encoding": "mgrs"},
            {"location": DUOMO, "geofence": ring},
            {"geofence": MultiPolygon((ring, Polygon([(45, 9), (45, 9.1), (45.1, 9.1)])))},
        ]
        for where in wheres:
            near.put(topic, b"anyhow", **{"geofence": FENCE, "sealed": "duomo", **where})
            assert texts(collect(subscriber, 1)) == ["anyhow"], where
        # A payload that is put under another topic, or with a wider fence, does not open.
        spy.put(str(spied[0].key_expr).replace(topic, f"{topic}/publisher"), spied[0].payload,
                encoding=spied[0].encoding, attachment=spied[0].attachment)  # fmt: skip
        (moved,) = collect(fenced, 1)
        assert moved.is_sealed
        assert far.keyring.unopened_count == 1
        publisher.undeclare()


def test_an_attested_position_is_kept_by_asking_again(
    near: Session, far: Session, routers: list[Router]
) -> None:
    codes = iter(range(100))
    asked: list[bytes] = []

    def locate(request: AttestationRequest) -> Point:
        asked.append(request.evidence)
        return DUOMO

    with (
        AttestationService(near, ATTESTER, locate, name="quick", lifetime_s=1),
        plain_client(routers[-1]) as plain,
    ):
        wait_for_answerer(plain, "@zonal/attest/quick")
        far.trust(TRUSTED)
        far.request_attestation("quick", lambda: str(next(codes)).encode(), keep=True)
        eventually(lambda: len(asked) >= 3)
        assert asked[:3] == [b"0", b"1", b"2"]
        eventually(lambda: far.attestation is not None)
        far.stop_requesting()
        eventually(lambda: far.attestation is None)


def test_no_key_for_whoever_is_outside_lies_or_listens(
    near: Session, far: Session, operator: tuple[AttestationService, KeyService], topic: str,
    routers: list[Router],
) -> None:  # fmt: skip
    _, keys = operator
    far.trust(TRUSTED)
    attest(far, BERLIN)
    with pytest.raises(SealError, match="refused"):
        far.keyring.join("duomo")
    with pytest.raises(SealError, match="refused"):
        far.keyring.join("another")
    assert keys.answered == 0

    # A liar attests itself, asks with another's token, and poses as a key service.
    liar = Attester.new()
    inside = ATTESTER.attest("bus-7", DUOMO, now=time.time(), holder=Holder().public_key)
    with plain_client(routers[-1]) as plain:

        def ask(question: bytes) -> list[bytes]:
            replies = plain.get("@zonal/keys/duomo", payload=question, timeout=5)
            return [reply.ok.payload.to_bytes() for reply in replies if reply.ok is not None]

        thief = Holder()
        forged = liar.attest("me", DUOMO, now=time.time(), holder=thief.public_key)
        bearer = ATTESTER.attest("bus-7", DUOMO, now=time.time())
        old = ATTESTER.attest("me", DUOMO, now=time.time() - 100, holder=thief.public_key)
        for token in (b"", forged, bearer, old, inside[:-1]):
            assert ask(thief.ask(token)) == []
        question = thief.ask(inside)
        answers = ask(question)
        assert answers
        for answer in answers:
            with pytest.raises(SealError):
                thief.read_answer(answer, zone="duomo", question=question, services=TRUSTED)
    near.trust(TRUSTED)
    attest(near, DUOMO)
    with KeyService(far, liar, [ZONE], TRUSTED):
        wait_for_answerer(near.zenoh, "@zonal/keys/duomo")
        key = near.keyring.join("duomo")  # of the true one: the liar's is not believed
        assert key in ZONE.keys_for_those_inside(time.time())
    with pytest.raises(SealError, match="no present key"):
        far.put(topic, b"x", location=DUOMO, sealed="duomo")


def test_keys_change_with_the_epochs_and_no_message_is_unreadable_meanwhile(
    near: Session, far: Session, topic: str, routers: list[Router]
) -> None:
    zone = Zone("quick", FENCE, b"sixteen bytes or more", epoch_s=2)
    with KeyService(near, SIGNER, [zone], TRUSTED), plain_client(routers[-1]) as plain:
        wait_for_answerer(plain, "@zonal/keys/quick")
        far.trust(TRUSTED)
        attest(far, DUOMO)
        first = far.keyring.join("quick")
        near.keyring.add_secret(zone)
        subscriber = far.declare_subscriber(topic)
        wait_until_declared(near, subscriber)
        epochs: set[int] = set()
        sent = 0
        while len(epochs) < 3:
            near.put(topic, str(sent), geofence=FENCE, sealed="quick")
            sent += 1
            epochs = set(far.keyring._keys["quick"])
            time.sleep(0.02)
        assert texts(collect(subscriber, sent)) == list(map(str, range(sent)))
        assert first.epoch in epochs
        far.keyring.leave("quick")
        near.put(topic, "gone", geofence=FENCE, sealed="quick")
        (sealed,) = collect(subscriber, 1)
        assert sealed.is_sealed
