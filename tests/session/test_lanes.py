"""Keys that very many messages come by: a lane opens and closes, and nobody notices."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import zenoh

import zonal
from network import client, eventually, wait_for_match, wait_until_declared
from zonal.geo import Circle, Point, destination
from zonal.runtime import Arrivals
from zonal.session import (
    Memory,
    Overflow,
    PastMessages,
    Recovery,
    Router,
    Session,
    declarations,
    edge,
    receiving,
)
from zonal.session.lane import DOUBTFUL, Lane

DUOMO = Point(45.4642, 9.19)
AREA = Circle(DUOMO, radius_m=2000)
BLOCK = zenoh.CongestionControl.BLOCK


class Lanes:
    """Which lanes were opened, and how many messages came by them."""

    def __init__(self) -> None:
        self.opened = self.ended = self.taken = 0


@pytest.fixture
def lanes(monkeypatch: pytest.MonkeyPatch) -> Lanes:
    counted = Lanes()

    class CountedLane(Lane):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            counted.opened += 1

        def take(self, most: int) -> list[zenoh.Sample] | None:
            items = super().take(most)
            counted.taken += len(items or ())
            counted.ended += items is None
            return items

    monkeypatch.setattr(declarations, "Lane", CountedLane)
    # A flood on a machine that is busy elsewhere is a trickle: any two at once shall do.
    monkeypatch.setattr(edge, "_MANY", 2)
    monkeypatch.setattr(edge, "_BUSY", 1)
    return counted


def flood(
    publisher: Any, numbers: Iterator[int], until: Callable[[], bool], most: int = 400_000
) -> None:
    """Send numbers as fast as the network takes them, until there is what is waited for."""
    for number in itertools.islice(numbers, most):
        publisher.put(str(number).encode())
        if number % 1000 == 0 and until():
            return
    raise AssertionError(f"it did not happen within {most} messages")


@pytest.mark.parametrize("reading", ["iterating", "callback"])
def test_floods_and_calm_alternate_and_every_message_comes_once_in_order(
    near: Session, far: Session, topic: str, lanes: Lanes, reading: str
) -> None:
    got: list[int] = []

    def take(sample: Any) -> None:
        got.append(int(sample.payload.to_bytes()))

    def read_all() -> None:
        for sample in subscriber:
            take(sample)

    handler = take if reading == "callback" else None
    subscriber = far.declare_subscriber(topic, handler, area=AREA, overflow=Overflow.BLOCK)
    reader = threading.Thread(target=read_all if handler is None else lambda: None)
    reader.start()
    wait_until_declared(near, subscriber)
    publisher = near.declare_publisher(topic, location=DUOMO, congestion_control=BLOCK)
    numbers = itertools.count()
    for _ in range(2):
        wanted = lanes.taken + 20_000
        flood(publisher, numbers, lambda wanted=wanted: lanes.taken > wanted)
        eventually(lambda: lanes.ended == lanes.opened)
        for _ in range(50):
            publisher.put(str(next(numbers)).encode())
            time.sleep(0.001)  # calm: one after another
    sent = next(numbers)
    eventually(lambda: len(got) == sent)
    subscriber.undeclare()
    reader.join(20)
    assert got == list(range(sent))
    assert lanes.opened >= 2
    assert subscriber.counters.received - subscriber.counters.duplicates == sent


@pytest.mark.parametrize("memory", [None, Memory(cache=5_000)], ids=["none", "of 5,000"])
def test_with_history_and_recovery_a_flood_comes_by_a_lane_as_well(
    near: Session, far: Session, topic: str, lanes: Lanes, memory: Memory | None
) -> None:
    got: list[int] = []
    numbers = itertools.count()
    publisher = near.declare_publisher(
        topic, location=DUOMO, memory=memory, congestion_control=BLOCK
    )
    before = 0 if memory is None else 100
    for _ in range(before):
        publisher.put(str(next(numbers)).encode())
    subscriber = far.declare_subscriber(
        topic,
        lambda sample: got.append(int(sample.payload.to_bytes())),
        area=AREA,
        overflow=Overflow.BLOCK,
        history=PastMessages(),
        recovery=Recovery(),
    )
    wait_until_declared(near, subscriber)
    eventually(lambda: len(got) == before)
    for _ in range(2):
        wanted = lanes.taken + 5_000
        flood(publisher, numbers, lambda wanted=wanted: lanes.taken > wanted)
        eventually(lambda: lanes.ended == lanes.opened)
    sent = next(numbers)
    eventually(lambda: len(got) == sent)
    assert got == list(range(sent))
    assert lanes.opened >= 2
    assert subscriber.counters.given_up == 0


def test_after_a_short_burst_the_lane_ends_and_nobody_looks_into_it_any_more(
    near: Session, far: Session, topic: str, lanes: Lanes
) -> None:
    """Also where fewer messages came by it than might have come twice."""
    got: list[int] = []
    subscriber = far.declare_subscriber(
        topic, lambda sample: got.append(int(sample.payload.to_bytes())), area=AREA
    )
    wait_until_declared(near, subscriber)
    publisher = near.declare_publisher(topic, location=DUOMO, congestion_control=BLOCK)
    sent = 0
    while not lanes.opened and sent < 20_000:
        for _ in range(20):  # no more are under way, and so none come by the lane but these
            publisher.put(str(sent).encode())
            sent += 1
        eventually(lambda sent=sent: len(got) == sent)
    eventually(lambda: lanes.opened and lanes.ended == lanes.opened)
    assert lanes.taken < DOUBTFUL
    assert got == list(range(sent))


def test_a_subscriber_that_goes_in_a_flood_ends_its_lane(
    routers: list[Router], near: Session, topic: str, lanes: Lanes
) -> None:
    publisher = near.declare_publisher(topic, location=DUOMO, congestion_control=BLOCK)
    with client(routers[-1]) as there:
        subscriber = there.declare_subscriber(topic, lambda _: None, area=AREA)
        wait_until_declared(near, subscriber)
        flood(publisher, itertools.count(), lambda: lanes.taken > 5_000)
        subscriber.undeclare()
        eventually(lambda: lanes.ended == 1)
        other = there.declare_subscriber(topic, area=AREA)  # the same topic is heard again
        wait_until_declared(near, other)
        publisher.put("again")
        # What was on its way when it was declared comes first.
        assert any(sample.text == "again" for sample in iter(lambda: other.recv(20), None))


def test_a_subscriber_that_moves_in_a_flood_hears_every_message_once(
    routers: list[Router], near: Session, topic: str, lanes: Lanes
) -> None:
    """Its own cells change while the one that the flood comes by is read from a lane."""
    where, got = [DUOMO], list[int]()
    publisher = near.declare_publisher(topic, location=DUOMO, congestion_control=BLOCK)
    numbers, steps, moves = itertools.count(), itertools.count(1), itertools.count()
    with client(routers[-1], position=lambda: where[0], lifetime=3600) as there:
        subscriber = there.declare_subscriber(
            topic,
            lambda sample: got.append(int(sample.payload.to_bytes())),
            area=Circle(radius_m=2000),
            overflow=Overflow.BLOCK,
        )
        wait_until_declared(near, subscriber)

        def move() -> bool:
            where[0] = destination(DUOMO, next(steps) * 47.0, 600)
            there.update_position()
            return next(moves) == 40

        flood(publisher, numbers, lambda: lanes.taken > 100)
        flood(publisher, numbers, move)
        sent = next(numbers)
        eventually(lambda: len(got) >= sent)
        assert got == list(range(sent))


def test_large_messages_keep_to_the_queue_which_weighs_them(
    near: Session, far: Session, topic: str, lanes: Lanes
) -> None:
    got: list[int] = []
    subscriber = far.declare_subscriber(
        topic, lambda sample: got.append(len(sample.payload)), area=AREA, overflow=Overflow.BLOCK
    )
    wait_until_declared(near, subscriber)
    publisher = near.declare_publisher(topic, location=DUOMO, congestion_control=BLOCK)
    for _ in range(2000):
        publisher.put(bytes(20_000))
    eventually(lambda: len(got) == 2000)
    assert lanes.opened == 0


def test_messages_that_cannot_be_told_apart_keep_to_the_queue(topic: str, lanes: Lanes) -> None:
    """Without a time stamp, one that came by both ways would be heard twice."""
    got: list[int] = []
    with Router(["tcp/127.0.0.1:0"]) as probe:
        endpoint = probe.endpoints[0]
    listening = zonal.config("peer", listen=[endpoint], scouting=False)
    connecting = zonal.config("peer", connect=[endpoint])
    for config in (listening, connecting):
        config.insert_json5("timestamping/enabled", "false")
    with zonal.open(listening) as session, zenoh.open(connecting) as plain:
        session.declare_subscriber(
            topic, lambda sample: got.append(int(sample.text)), overflow=Overflow.BLOCK
        )
        publisher = plain.declare_publisher(topic, congestion_control=BLOCK)
        eventually(lambda: publisher.matching_status.matching)
        for number in range(20_000):
            publisher.put(str(number))
        eventually(lambda: len(got) == 20_000)
    assert got == list(range(20_000))
    assert lanes.opened == 0


def test_a_lane_does_not_overtake_what_one_of_zenohs_threads_still_holds(
    near: Session, far: Session, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the message it holds Zenoh knows only the former way, of the next ones only the lane."""
    door, held = Arrivals.door, list[zenoh.Sample]()
    let_go, others_came = threading.Event(), threading.Event()
    made, got = list[declarations.Declarations](), list[int]()

    def slow_door(arrivals: Arrivals, receiver: Any) -> Callable[[Any], None]:
        arrive = door(arrivals, receiver)

        def hold(item: Any) -> None:
            if isinstance(item, zenoh.Sample) and item.payload.to_bytes() == b"100":
                held.append(item)
                assert let_go.wait(20)
            arrive(item)

        return hold

    class KnownDeclarations(declarations.Declarations):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            made.append(self)

    class LateLane(Lane):
        opened_at = 0.0

        def take(self, most: int) -> list[zenoh.Sample] | None:
            self.opened_at = self.opened_at or time.monotonic()
            if time.monotonic() - self.opened_at > 0.1 and not let_go.is_set():
                let_go.set()
                assert others_came.wait(20)  # as if the reader had other work meanwhile
            return super().take(most)

    monkeypatch.setattr(Arrivals, "door", slow_door)
    monkeypatch.setattr(receiving, "Declarations", KnownDeclarations)
    monkeypatch.setattr(declarations, "Lane", LateLane)
    subscriber = far.declare_subscriber(
        topic, lambda sample: got.append(int(sample.payload.to_bytes())), area=AREA
    )
    wait_until_declared(near, subscriber)
    # One of Zenoh's threads hands over all that comes by a link, one after another.
    end = far.zenoh.declare_subscriber(f"{topic}/end", lambda _: others_came.set())
    wait_for_match(near.zenoh, f"{topic}/end")
    publisher = near.declare_publisher(topic, location=DUOMO, congestion_control=BLOCK)
    for number in range(101):
        publisher.put(str(number).encode())
    eventually(lambda: held)
    made[-1].hurry(held[0])
    for number in range(101, 200):
        publisher.put(str(number).encode())
    near.zenoh.put(f"{topic}/end", b"", congestion_control=BLOCK)
    eventually(lambda: len(got) == 200)
    assert got == list(range(200))
    end.undeclare()
