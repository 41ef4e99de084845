"""Threads of a session: four of its own, whatever it does, and as many more as callbacks run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from network import client, eventually, plain_client, wait_for_answerer, wait_until_declared
from zonal import Circle, Memory, PastMessages, Point, Recovery, Session
from zonal.session import AttestationService, KeyService, Overflow, Query, Router
from zonal.trust import AttestationRequest, Attester, TrustedIssuers, Zone

DUOMO, MONZA = Point(45.4642, 9.1900), Point(45.5845, 9.2744)
AROUND = Circle(radius_m=500)
ATTESTER, SIGNER = Attester.new(), Attester.new()

OpenClient = Callable[..., Session]


def own_threads() -> list[str]:
    """Those of sessions, without those for callbacks, and without those of services."""
    names = (thread.name for thread in threading.enumerate() if thread.name.startswith("zonal-"))
    others = {"zonal-callback", "zonal-reloads", "zonal-metrics"}
    return sorted(name for name in names if name not in others)


@pytest.fixture
def operator(routers: list[Router], near: Session) -> Iterator[None]:
    """An attester and a key service, whose tokens and keys have to be renewed soon."""
    zone = Zone("quick", Circle(DUOMO, radius_m=500), b"sixteen bytes or more", epoch_s=2)
    trusted = TrustedIssuers([ATTESTER.public_key])

    def locate(_: AttestationRequest) -> Point:
        return DUOMO

    with (
        AttestationService(near, ATTESTER, locate, name="quick", lifetime_s=2),
        KeyService(near, SIGNER, [zone], trusted),
        plain_client(routers[-1]) as plain,
    ):
        wait_for_answerer(plain, "@zonal/attest/quick")
        wait_for_answerer(plain, "@zonal/keys/quick")
        yield


@pytest.mark.usefixtures("operator")
def test_a_session_that_does_everything_at_once_has_four_threads_of_its_own(
    near: Session, far_client: OpenClient, topic: str
) -> None:
    session = far_client(position=lambda: DUOMO, lifetime=0.05)
    session.trust([ATTESTER.public_key, SIGNER.public_key])
    heard, asked, evidence, let_go = list[str](), list[str](), list[bytes](), threading.Event()

    def answer(query: Query) -> None:
        query.reply(f"{topic}/thing", "x", location=DUOMO)

    def prove() -> bytes:
        evidence.append(b"beacon")
        return evidence[-1]

    def wait(_: object) -> None:
        asked.append("nearest")
        let_go.wait(20)

    with ExitStack() as end:
        end.callback(let_go.set)
        subscribers = [
            session.declare_subscriber(
                f"{topic}/{number}", lambda sample: heard.append(sample.key), area=AROUND
            )
            for number in range(20)
        ]
        session.declare_subscriber(
            f"{topic}/kept", area=AROUND, history=PastMessages(), recovery=Recovery()
        )
        session.declare_queryable(f"{topic}/asked", answer, area=AROUND)
        liveliness = session.liveliness()
        for number in range(3):
            liveliness.declare_subscriber(f"{topic}/{number}", lambda _: None, area=AROUND)
        liveliness.declare_token(f"{topic}/here")
        session.declare_publisher(f"{topic}/mine", memory=Memory(cache=10))
        zones = AROUND, Circle(DUOMO, radius_m=100)
        fences = [session.declare_fence(f"{topic}/*", zone) for zone in zones]
        session.request_attestation("quick", prove, keep=True)
        first = session.keyring.join("quick")
        things = near.declare_queryable(f"{topic}/thing", answer, area=Circle(DUOMO, radius_m=9))
        wait_for_answerer(session.zenoh, things.declared_keys[0])
        session.get(f"{topic}/thing", wait, nearest=1)
        wait_until_declared(near, *subscribers, *fences)
        for number in range(20):
            near.put(f"{topic}/{number}", "x", location=DUOMO)
        eventually(lambda: len(heard) == 20 and asked)
        eventually(lambda: len(evidence) > 2 and max(session.keyring._keys["quick"]) > first.epoch)
        eventually(lambda: len(own_threads()) <= 4, timeout=3, what=str(own_threads()))
        assert {"zonal-reader", "zonal-asker", "zonal-chores"} <= set(own_threads())


def test_the_nearest_are_handed_over_in_order_whatever_the_callback_raises(
    near: Session, far: Session, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    places = [Point(DUOMO.lat + 0.001 * number, DUOMO.lon) for number in range(10)]

    def answer(query: Query) -> None:
        for number in (3, 1, 4, 0, 5, 9, 2, 6, 8, 7):
            query.reply(f"{topic}/{number}", str(number), location=places[number])

    heard: list[str] = []
    names: set[str] = set()

    def take(sample: object) -> None:
        heard.append(getattr(sample, "text", ""))
        names.add(threading.current_thread().name)
        if len(heard) % 2:
            raise ValueError("odd")

    with near.declare_queryable(f"{topic}/*", answer) as things:
        wait_for_answerer(far.zenoh, things.declared_keys[0])
        found = far.get(f"{topic}/*", take, nearest=10, to=DUOMO)
        eventually(lambda: len(heard) == 10)
    assert heard == [str(number) for number in range(10)]
    assert names == {"zonal-callback"}
    eventually(lambda: found.callback_errors == 5)
    assert f"the callback of get '{topic}/*' failed" in caplog.text


def test_the_position_is_asked_for_while_somebody_has_to_know_it(
    far_client: OpenClient, topic: str
) -> None:
    asked: list[int] = []

    def where() -> Point:
        asked.append(1)
        return DUOMO

    session = far_client(position=where, lifetime=0.05)
    for _ in range(2):
        with session.declare_subscriber(topic, area=AROUND):
            before = len(asked)
            eventually(lambda before=before: len(asked) > before + 2)
        eventually(lambda: "zonal-chores" not in own_threads())
        assert own_threads() == ["zonal-reader"]


# Ending


def test_a_position_handler_may_close_its_session(routers: list[Router], topic: str) -> None:
    closed = threading.Event()

    def where() -> Point:
        if threading.current_thread() is not threading.main_thread():
            session.close()
            closed.set()
        return DUOMO

    session = client(routers[-1], position=where, lifetime=0.05)
    session.declare_subscriber(topic, area=AROUND)
    assert closed.wait(20), "it waits for itself"
    assert session.is_closed


@pytest.mark.usefixtures("operator")
def test_evidence_may_say_that_no_more_is_asked_for(far: Session) -> None:
    given: list[int] = []

    def prove() -> bytes:
        given.append(1)
        if len(given) == 2:
            far.stop_requesting()
            given.append(1)
        return b"beacon"

    far.trust([ATTESTER.public_key])
    far.request_attestation("quick", prove, keep=True)
    eventually(lambda: len(given) == 3, what="it waits for itself")
    eventually(lambda: "zonal-chores" not in own_threads())


def test_a_session_closes_whose_fence_nobody_reads(routers: list[Router], topic: str) -> None:
    """Who moves is held up by the fence's mailbox, and the fence is let go of first."""
    where = [DUOMO]
    with client(routers[0]) as bus:
        session = client(routers[0], position=lambda: where[0], lifetime=0.05)
        fence = session.declare_fence(
            f"{topic}/*", AROUND, capacity=1, overflow=Overflow.BLOCK, reach_m=50_000
        )
        wait_until_declared(bus, fence)
        for number in range(5):
            bus.put(f"{topic}/{number}", "x", location=MONZA)
        eventually(lambda: fence.counters.received == 5)
        where[0] = MONZA  # all of them come in
        eventually(lambda: len(fence._mailbox) == 1)
        closing = threading.Thread(target=session.close, daemon=True)
        closing.start()
        closing.join(20)
        assert not closing.is_alive()


def test_whoever_closes_waits_for_the_position_handler(routers: list[Router], topic: str) -> None:
    asked, over = threading.Event(), list[int]()

    def where() -> Point:
        if threading.current_thread() is not threading.main_thread():
            asked.set()
            time.sleep(0.2)
            over.append(1)
        return DUOMO

    session = client(routers[-1], position=where, lifetime=0.05)
    session.declare_subscriber(topic, area=AROUND)
    assert asked.wait(20)
    session.close()
    assert len(over) >= 1
    after = len(over)
    eventually(lambda: not own_threads())
    assert len(over) == after
