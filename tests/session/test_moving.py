"""Ego-centric areas follow the position; positions have lifetimes."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable
from typing import Any

import pytest
import zenoh

from network import collect, eventually, texts, wait_for_match, wait_until_declared
from zonal.errors import PositionError
from zonal.geo import Circle, Everywhere, Point, destination
from zonal.keys import LocationKey, Role, encode_place, match
from zonal.session import Position, Session
from zonal.session.declarations import Declarations

DUOMO = Point(45.4642, 9.1900)
MONZA = Point(45.5845, 9.2744)
OpenClient = Callable[..., Session]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_handler_is_asked_again_only_when_the_lifetime_is_over() -> None:
    clock, asked = Clock(), []

    def handler() -> Point:
        asked.append(clock.now)
        return DUOMO

    position = Position(handler, 60, clock=clock)
    for now in (0, 10, 60, 61, 100, 122):
        clock.now = now
        assert position.current() == DUOMO
    assert asked == [0, 61, 122]
    position.lifetime = 5
    clock.now = 128
    position.current()
    assert asked[-1] == 128


def test_a_fixed_position_lives_for_ever() -> None:
    clock = Clock()
    position = Position(DUOMO, 1, clock=clock)
    clock.now = math.inf
    assert position.current() == DUOMO
    assert not position.moves


@pytest.mark.parametrize(
    "nonsense", [None, 17, "here", (91.0, 0.0), (1.0,), (1.0, 2.0, 3.0), float("nan")]
)
def test_nonsense_from_a_handler_is_reported_and_the_last_good_position_used(
    nonsense: object,
) -> None:
    clock, answers = Clock(), [(45.0, 9.0)]
    position = Position(lambda: answers[0], 10, clock=clock)  # type: ignore[arg-type,return-value]
    assert position.current() == Point(45, 9)
    answers[0] = nonsense  # type: ignore[call-overload]
    clock.now = 11
    assert position.current() == Point(45, 9)
    assert position.failures == 1
    clock.now = 31
    with pytest.raises(PositionError, match=r"31\.0 s old"):
        position.current()
    answers[0] = (46.0, 9.0)
    assert position.current() == Point(46, 9)


def test_a_handler_that_fails_at_first_is_an_error_with_its_reason() -> None:
    def broken() -> Point:
        raise OSError("no satellites")

    with pytest.raises(PositionError, match="no satellites"):
        Position(broken, 10).current()


@pytest.mark.parametrize("lifetime", [-1, math.nan])
def test_an_impossible_lifetime_is_refused(lifetime: float) -> None:
    with pytest.raises(PositionError, match="lifetime"):
        Position(DUOMO, lifetime)


def test_an_ego_centric_area_needs_a_position(far: Session, topic: str) -> None:
    with pytest.raises(PositionError, match="position is needed"):
        far.declare_subscriber(topic, area=Circle(radius_m=500))


def test_messages_come_from_the_position_that_the_handler_gives(
    far: Session, far_client: OpenClient, topic: str
) -> None:
    where = [DUOMO]
    mobile = far_client(position=lambda: where[0], lifetime=0)
    with far.declare_subscriber(topic, area=Circle(DUOMO, radius_m=100)) as subscriber:
        wait_until_declared(mobile, subscriber)
        mobile.put(topic, "here")
        where[0] = MONZA
        mobile.put(topic, "away")
        mobile.put(topic, "a location of its own", location=DUOMO)
        assert texts(collect(subscriber, 2)) == ["here", "a location of its own"]


def test_an_ego_centric_subscriber_follows_by_itself(
    near: Session, far_client: OpenClient, topic: str
) -> None:
    where = [DUOMO]
    session = far_client()
    session.declare_position_handler(0.05, lambda: where[0])
    subscriber = session.declare_subscriber(topic, area=Circle(radius_m=500))
    assert subscriber.area == Circle(DUOMO, radius_m=500)
    wait_until_declared(near, subscriber)
    near.put(topic, "duomo", location=DUOMO)
    assert texts(collect(subscriber, 1)) == ["duomo"]
    where[0] = MONZA
    eventually(lambda: subscriber.area == Circle(MONZA, radius_m=500))
    wait_for_match(near.zenoh, f"{topic}/{encode_place(MONZA)[0]}")
    near.put(topic, "duomo", location=DUOMO)
    near.put(topic, "monza", location=MONZA)
    assert texts(collect(subscriber, 1)) == ["monza"]


def test_small_moves_declare_nothing(far_client: OpenClient, topic: str) -> None:
    where = [DUOMO]
    session = far_client(position=lambda: where[0], lifetime=3600)
    subscriber = session.declare_subscriber(topic, area=Circle(radius_m=2000))
    declared = subscriber.declared_keys
    for metres in range(0, 31, 3):  # the margin is a 64th of the radius
        where[0] = destination(DUOMO, 70, metres)
        session.update_position()
        assert subscriber.declared_keys == declared
        assert subscriber.area == Circle(where[0], radius_m=2000)
    where[0] = destination(DUOMO, 70, 500)
    session.update_position()
    assert subscriber.declared_keys != declared


def test_a_changed_lifetime_wakes_the_mover(far_client: OpenClient, topic: str) -> None:
    where = [DUOMO]
    session = far_client(position=lambda: where[0])
    subscriber = session.declare_subscriber(topic, area=Circle(radius_m=500))
    where[0] = MONZA
    session.set_position_lifetime(0.05)
    eventually(lambda: subscriber.area == Circle(MONZA, radius_m=500))


def test_moving_through_cells_loses_and_doubles_nothing(
    near: Session, far_client: OpenClient, topic: str
) -> None:
    """Messages keep coming from a spot that is always inside, while the area moves around it."""
    where = [DUOMO]
    session = far_client(position=lambda: where[0], lifetime=3600)
    subscriber = session.declare_subscriber(topic, area=Circle(radius_m=3000), margin_m=50)
    wait_until_declared(near, subscriber)
    publisher = near.declare_publisher(
        topic, location=DUOMO, congestion_control=zenoh.CongestionControl.BLOCK
    )
    stop, sent = threading.Event(), [0]

    def publish() -> None:
        while not stop.is_set():
            publisher.put(str(sent[0]))
            sent[0] += 1
            stop.wait(0.001)

    thread = threading.Thread(target=publish)
    thread.start()
    seen_keys = set(subscriber.declared_keys)
    try:
        for step in range(60):
            where[0] = destination(DUOMO, step * 37, 2900 * (step % 7) / 7)
            session.update_position()
            seen_keys.update(subscriber.declared_keys)
    finally:
        stop.set()
        thread.join()
    assert len(seen_keys) > 50
    numbers = sorted(int(text) for text in texts(collect(subscriber, sent[0])))
    assert numbers == list(range(sent[0]))
    assert subscriber.try_recv() is None


def test_a_message_by_an_old_key_may_come_by_a_new_one_behind_the_mark() -> None:
    """Zenoh lets go of an undeclared subscriber before it calls the next one of a message."""

    class Declared:
        def __init__(self, _: str, handler: zenoh.handlers.Callback[zenoh.Sample]) -> None:
            self.undeclare = handler.drop

    arrived: list[Any] = []
    declarations = Declarations(Declared, arrived.append)
    declarations.adjust({"old"})
    assert not declarations.is_changing
    declarations.adjust({"new"})
    (mark,) = arrived
    mark.read()
    assert declarations.is_changing
    eventually(lambda: not declarations.is_changing)


def test_wherever_it_moves_the_declared_keys_hold_the_area(
    far_client: OpenClient, topic: str
) -> None:
    """The edge area always lies within what is declared, so that no message is missed."""
    where = [DUOMO]
    session = far_client(position=lambda: where[0], lifetime=3600)
    subscriber = session.declare_subscriber(topic, area=Circle(radius_m=800))
    generator = random.Random(3)
    for _ in range(40):
        where[0] = destination(where[0], generator.uniform(0, 360), generator.uniform(0, 600))
        session.update_position()
        declared = [
            LocationKey(key.removeprefix(f"{topic}/"), Role.SUBSCRIBER)
            for key in subscriber.declared_keys
            if "@to" not in key
        ]
        for direction in range(0, 360, 30):
            (edge,) = encode_place(destination(where[0], direction, 800))
            assert any(match(edge, key) for key in declared)


def test_everywhere_needs_no_position(far: Session, topic: str) -> None:
    with far.declare_subscriber(topic, area=Everywhere()) as subscriber:
        assert subscriber.declared_keys == (f"{topic}/@s2/**",)
