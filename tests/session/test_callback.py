"""Callbacks: at once where a message comes alone, one at a time, in order, and never in the way."""

from __future__ import annotations

import threading
import time
from typing import Any

import zenoh

from network import eventually, wait_until_declared
from zonal.geo import Circle, Point
from zonal.session import Overflow, Session

DUOMO = Point(45.4642, 9.19)
AREA = Circle(DUOMO, radius_m=2000)


def numbers(heard: list[bytes]) -> list[int]:
    return list(map(int, heard))


def test_a_message_that_comes_alone_is_handed_over_by_the_thread_that_read_it(
    near: Session, far: Session, topic: str
) -> None:
    heard: list[str] = []
    subscriber = far.declare_subscriber(
        topic, lambda _: heard.append(threading.current_thread().name), area=AREA
    )
    wait_until_declared(near, subscriber)
    for number in range(20):
        near.put(topic, "x", location=DUOMO)
        eventually(lambda number=number: len(heard) == number + 1)
    assert any(name == "zonal-reader" for name in heard)
    assert (subscriber.counters.delivered, subscriber.counters.waiting) == (20, 0)


def test_what_comes_while_a_callback_takes_long_is_read_and_waits_in_the_mailbox(
    near: Session, far: Session, topic: str
) -> None:
    """More than Zenoh's channel holds: were it not read, the link would be held up."""
    count = 20_000
    heard: list[bytes] = []
    let_go = threading.Event()

    def take(sample: Any) -> None:
        heard.append(sample.payload.to_bytes())
        assert let_go.wait(60)

    subscriber = far.declare_subscriber(topic, take, area=AREA)
    wait_until_declared(near, subscriber)
    publisher = near.declare_publisher(
        topic, location=DUOMO, congestion_control=zenoh.CongestionControl.BLOCK
    )
    publisher.put("0")
    eventually(lambda: heard)
    for number in range(1, count):
        publisher.put(str(number))
    eventually(lambda: subscriber.counters.waiting == count - 1, timeout=30)
    let_go.set()
    eventually(lambda: len(heard) == count)
    assert numbers(heard) == list(range(count))


def test_calls_never_overlap_and_keep_the_order_at_any_pace(
    near: Session, far: Session, topic: str
) -> None:
    heard: list[bytes] = []
    running: list[int] = []
    overlapped: list[int] = []

    def take(sample: Any) -> None:
        overlapped.extend(running)
        running.append(1)
        heard.append(sample.payload.to_bytes())
        if len(heard) % 50 == 0:
            time.sleep(0.01)  # a user's code that takes a while now and then
        running.pop()

    subscriber = far.declare_subscriber(topic, take, area=AREA, overflow=Overflow.BLOCK)
    wait_until_declared(near, subscriber)
    publisher = near.declare_publisher(
        topic, location=DUOMO, congestion_control=zenoh.CongestionControl.BLOCK
    )
    for number in range(1000):
        publisher.put(str(number))
        if number % 7 == 0:
            time.sleep(0.001)
    eventually(lambda: len(heard) == 1000)
    assert numbers(heard) == list(range(1000))
    assert not overlapped


def test_a_callback_may_undeclare_its_subscriber(near: Session, far: Session, topic: str) -> None:
    done = threading.Event()
    heard: list[bytes] = []

    def take(sample: Any) -> None:
        heard.append(sample.payload.to_bytes())
        subscriber.undeclare()
        done.set()

    subscriber = far.declare_subscriber(topic, take, area=AREA)
    wait_until_declared(near, subscriber)
    near.put(topic, "1", location=DUOMO)
    assert done.wait(10)
    assert heard == [b"1"]


def test_undeclaring_waits_for_the_call_that_runs(near: Session, far: Session, topic: str) -> None:
    began, over = threading.Event(), threading.Event()

    def take(_: Any) -> None:
        began.set()
        time.sleep(0.3)
        over.set()

    subscriber = far.declare_subscriber(topic, take, area=AREA)
    wait_until_declared(near, subscriber)
    near.put(topic, "1", location=DUOMO)
    assert began.wait(10)
    subscriber.undeclare()
    assert over.is_set()


def test_a_slow_callback_does_not_keep_the_topics_other_subscribers_waiting(
    near: Session, far: Session, topic: str
) -> None:
    let_go = threading.Event()
    slow = far.declare_subscriber(topic, lambda _: let_go.wait(30), area=AREA)
    quick = far.declare_subscriber(topic, area=AREA)
    wait_until_declared(near, quick)
    for number in range(5):
        near.put(topic, str(number), location=DUOMO)
    got = [quick.recv(timeout=10) for _ in range(5)]
    let_go.set()
    assert all(got)
    eventually(lambda: slow.counters.delivered == 5)
