"""Callbacks that raise: logged and counted, and the next item follows."""

from __future__ import annotations

import logging
import threading

import pytest

from network import eventually, wait_until_answered
from zonal.geo import Circle, Point
from zonal.session import Presence, Query, Sample, Session

DUOMO = Point(45.4642, 9.1900)
AREA = Circle(DUOMO, radius_m=1000)


def test_presence_goes_on_after_an_error(
    near: Session, far: Session, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[Presence] = []

    def fragile(presence: Presence) -> None:
        heard.append(presence)
        if len(heard) == 1:
            raise RuntimeError("the user's own")

    caplog.set_level(logging.CRITICAL, "zonal.runtime")
    with near.liveliness().declare_subscriber(topic, fragile, area=AREA, history=True) as events:
        token = far.liveliness().declare_token(topic, location=DUOMO)
        eventually(lambda: [presence.alive for presence in heard] == [True])
        token.undeclare()
        eventually(lambda: [presence.alive for presence in heard] == [True, False])
        assert events.callback_errors == 1


def test_replies_go_on_after_an_error(
    near: Session, far: Session, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    def answer(query: Query) -> None:
        for number in range(3):
            query.reply(f"{topic}/{number}", str(number), location=DUOMO)

    heard: list[str] = []

    def fragile(sample: Sample) -> None:
        heard.append(sample.payload.to_string())
        if len(heard) == 1:
            raise RuntimeError("the user's own")

    caplog.set_level(logging.CRITICAL, "zonal.runtime")
    with far.declare_queryable(f"{topic}/*", answer, area=AREA) as queryable:
        wait_until_answered(near, queryable)
        replies = near.get(f"{topic}/*", fragile, area=AREA)
        eventually(lambda: len(heard) == 3)
        assert heard == ["0", "1", "2"]
        assert replies.callback_errors == 1


def test_a_queryable_goes_on_after_an_error_and_tells_the_asker(
    near: Session, far: Session, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    asked = 0

    def fragile(query: Query) -> None:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise RuntimeError("the user's own")
        query.reply(topic, "fine", location=DUOMO)

    caplog.set_level(logging.CRITICAL, "zonal.runtime")
    with far.declare_queryable(topic, fragile, area=AREA) as queryable:
        wait_until_answered(near, queryable)
        first = near.get(topic, area=AREA)
        assert list(first) == []
        assert [str(failure) for failure in first.failures] == ["RuntimeError: the user's own"]
        assert [reply.payload.to_string() for reply in near.get(topic, area=AREA)] == ["fine"]
        assert queryable.callback_errors == 1


@pytest.mark.parametrize("kind", ["presence", "queryable"])
def test_undeclaring_from_within_the_callback_does_not_wait_for_itself(
    near: Session, far: Session, topic: str, kind: str
) -> None:
    over = threading.Event()
    if kind == "presence":
        events = near.liveliness().declare_subscriber(
            topic, lambda _: (events.undeclare(), over.set()), area=AREA, history=True
        )
        kept: object = far.liveliness().declare_token(topic, location=DUOMO)
    else:
        queryable = near.declare_queryable(
            topic, lambda _: (queryable.undeclare(), over.set()), area=AREA
        )
        wait_until_answered(far, queryable)
        kept = far.get(topic, area=AREA)
    assert over.wait(20)
    assert kept is not None


def test_many_callbacks_need_no_thread_each(near: Session, topic: str) -> None:
    before = threading.active_count()
    kept = [
        near.declare_queryable(f"{topic}/{number}", lambda _: None, area=AREA)
        for number in range(30)
    ]
    assert threading.active_count() <= before + 3
    for queryable in kept:
        queryable.undeclare()
