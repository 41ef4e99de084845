"""Everything without a place of its own follows the session's position."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from network import collect, eventually, wait_until_answered, wait_until_declared
from zonal import Circle, Point, Session
from zonal.session import Query

DUOMO = Point(45.4642, 9.1900)
MONZA = Point(45.5845, 9.2744)
BERGAMO = Point(45.6983, 9.6773)
AROUND = Circle(radius_m=500)
TOWN = "bloom:45.3,9.0,45.8,9.8,24x24,0.25"

OpenClient = Callable[..., Session]


class Traveller:
    """Somebody who is where we say."""

    def __init__(self, where: Point) -> None:
        self.where = where

    def __call__(self) -> Point:
        return self.where


@pytest.mark.parametrize("encoding", ["s2", "mgrs", "json", TOWN])
def test_a_queryable_follows(
    near: Session, far_client: OpenClient, topic: str, encoding: str
) -> None:
    traveller = Traveller(DUOMO)
    mobile = far_client(position=traveller, encoding=encoding)

    def answer(query: Query) -> None:
        query.reply(topic, {"from": "the traveller"}, location=traveller.where)

    def answers(place: Point) -> int:
        around = Circle(place, radius_m=100)
        return len(list(near.get(topic, area=around, encoding=encoding, timeout=2)))

    with mobile.declare_queryable(topic, answer, area=AROUND) as queryable:
        wait_until_answered(near, queryable)
        assert (answers(DUOMO), answers(MONZA)) == (1, 0)
        before = queryable.declared_keys
        traveller.where = Point(DUOMO.lat + 0.0001, DUOMO.lon)  # within the margin
        mobile.update_position()
        assert queryable.declared_keys == before
        assert queryable.area == AROUND.at(traveller.where)
        traveller.where = MONZA
        mobile.update_position()
        assert queryable.declared_keys != before
        wait_until_answered(near, queryable)
        eventually(lambda: (answers(DUOMO), answers(MONZA)) == (0, 1))


def test_a_fence_around_me_is_where_i_am_at_the_time_of_the_put(
    near: Session, far_client: OpenClient, topic: str
) -> None:
    traveller = Traveller(DUOMO)
    mobile = far_client(position=traveller)
    with mobile.declare_publisher(topic, geofence=AROUND) as publisher:
        subscriber = near.declare_subscriber(topic, fenced=True)
        wait_until_declared(mobile, subscriber)
        publisher.put("1")
        traveller.where = MONZA
        mobile.update_position()
        publisher.put("2")
        mobile.put(topic, "3", geofence=AROUND)
        mobile.put(topic, "4", geofence=AROUND, location=BERGAMO)
        mobile.put(topic, "5", geofence=AROUND, precision_m=1000)
        samples = collect(subscriber, 5)
    fences = [sample.geofence for sample in samples]
    assert fences[:4] == [AROUND.at(place) for place in (DUOMO, MONZA, MONZA, BERGAMO)]
    blurred = samples[4]
    assert blurred.is_blurred
    assert blurred.location is not None
    assert blurred.geofence == AROUND.at(blurred.location)  # the fence does not tell more


@pytest.mark.parametrize("encoding", ["s2", TOWN])
def test_those_around_me_hear_it_and_others_do_not(
    near: Session, far_client: OpenClient, topic: str, encoding: str
) -> None:
    near.declare_position_handler(float("inf"), DUOMO)
    here, there = far_client(position=DUOMO), far_client(position=MONZA)
    listeners = [session.declare_subscriber(topic) for session in (here, there)]
    wait_until_declared(near, *listeners)
    near.put(topic, "around me", geofence=AROUND, encoding=encoding)
    assert [sample.text for sample in collect(listeners[0], 1)] == ["around me"]
    assert listeners[1].recv(timeout=0.3) is None


def test_a_reply_with_a_fence_is_for_askers_inside(
    near: Session, far_client: OpenClient, topic: str
) -> None:
    def answer(query: Query) -> None:
        query.reply(f"{topic}/all", "for all")
        query.reply(f"{topic}/near", "those around me", geofence=AROUND)
        query.reply(f"{topic}/place", "those around it", location=MONZA, geofence=AROUND)

    mobile = far_client(position=DUOMO)
    with mobile.declare_queryable(f"{topic}/*", answer) as queryable:
        wait_until_answered(near, queryable)
        assert {reply.text for reply in near.get(f"{topic}/*")} == {"for all"}
        near.declare_position_handler(float("inf"), DUOMO)
        assert {r.text for r in near.get(f"{topic}/*")} == {"for all", "those around me"}
        near.declare_position_handler(float("inf"), MONZA)
        assert {r.text for r in near.get(f"{topic}/*")} == {"for all", "those around it"}


@pytest.mark.parametrize("encoding", ["s2", "mgrs", "json", TOWN])
def test_a_token_follows(near: Session, far_client: OpenClient, topic: str, encoding: str) -> None:
    traveller = Traveller(DUOMO)
    mobile = far_client(position=traveller, encoding=encoding)
    monza = Circle(MONZA, radius_m=1000)
    heard = near.liveliness().declare_subscriber(topic, area=monza, encoding=encoding)
    with heard, mobile.liveliness().declare_token(topic) as token:

        def is_at(place: Point) -> bool:
            around = Circle(place, radius_m=100)
            return bool(near.liveliness().get(topic, area=around, encoding=encoding))

        eventually(lambda: is_at(DUOMO))
        traveller.where = MONZA
        mobile.update_position()
        eventually(lambda: is_at(MONZA) and not is_at(DUOMO))
        assert [presence.alive for presence in collect(heard, 1)] == [True]
        token.undeclare()
        assert [presence.alive for presence in collect(heard, 1)] == [False]
        assert mobile.update_position() == MONZA


def test_a_token_at_a_place_stays(far_client: OpenClient, topic: str) -> None:
    traveller = Traveller(DUOMO)
    mobile = far_client(position=traveller)
    with mobile.liveliness().declare_token(topic, location=BERGAMO) as token:
        before = token.declared_keys
        traveller.where = MONZA
        mobile.update_position()
        assert token.declared_keys == before


@pytest.mark.parametrize("history", [False, True])
def test_who_we_come_near_to_appears_and_who_we_leave_disappears(
    near: Session, far_client: OpenClient, topic: str, history: bool
) -> None:
    traveller = Traveller(BERGAMO)
    mobile = far_client(position=traveller)
    near.liveliness().declare_token(f"{topic}/duomo", location=DUOMO)
    monza = near.liveliness().declare_token(f"{topic}/monza", location=MONZA)
    heard: list[tuple[str, bool]] = []
    eventually(lambda: len(mobile.liveliness().get(f"{topic}/*")) == 2)
    with mobile.liveliness().declare_subscriber(
        f"{topic}/*",
        lambda presence: heard.append((presence.key.rpartition("/")[2], presence.alive)),
        area=AROUND,
        history=history,
    ):
        traveller.where = DUOMO
        mobile.update_position()
        eventually(lambda: heard == [("duomo", True)])
        traveller.where = MONZA
        mobile.update_position()
        eventually(lambda: heard[1:] == [("duomo", False), ("monza", True)])
        monza.undeclare()
        eventually(lambda: heard[-1] == ("monza", False))


def test_a_querier_and_a_get_ask_around_the_position(
    near: Session, far_client: OpenClient, topic: str
) -> None:
    traveller = Traveller(DUOMO)
    mobile = far_client(position=traveller)

    def answer(query: Query) -> None:
        for place in (DUOMO, MONZA):
            query.reply(topic, str(place.lat), location=place)

    with near.declare_queryable(topic, answer, area="EVERYWHERE") as queryable:
        wait_until_answered(mobile, queryable)
        querier = mobile.declare_querier(topic, area=AROUND)
        for place in (DUOMO, MONZA):
            traveller.where = place
            mobile.update_position()
            assert [reply.location for reply in querier.get()] == [place]
            assert [reply.location for reply in mobile.get(topic, area=AROUND)] == [place]


@pytest.mark.parametrize("encoding", ["s2", "mgrs", "json", TOWN])
def test_a_publisher_follows(
    near: Session, far_client: OpenClient, topic: str, encoding: str
) -> None:
    traveller = Traveller(DUOMO)
    mobile = far_client(position=traveller, encoding=encoding)
    subscribers = [
        near.declare_subscriber(topic, area=AROUND.at(place), encoding=encoding)
        for place in (DUOMO, MONZA)
    ]
    publisher = mobile.declare_publisher(topic)
    for subscriber, place in zip(subscribers, (DUOMO, MONZA), strict=True):
        traveller.where = place
        mobile.update_position()
        wait_until_declared(mobile, subscriber)
        publisher.put("here")
        (sample,) = collect(subscriber, 1)
        assert sample.location == place
    assert [subscriber.try_recv() for subscriber in subscribers] == [None, None]


def test_following_goes_by_itself(near: Session, far_client: OpenClient, topic: str) -> None:
    traveller = Traveller(DUOMO)
    mobile = far_client(position=traveller, lifetime=0.05)
    with mobile.liveliness().declare_token(topic):
        traveller.where = MONZA
        around = Circle(MONZA, radius_m=100)
        eventually(lambda: near.liveliness().get(topic, area=around))


def test_who_is_nowhere_is_told_once_that_it_hears_no_fences(
    near: Session, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "zonal.session")
    near.declare_subscriber(topic, fenced=True)
    near.declare_subscriber(topic, fenced=False)
    assert not caplog.records
    near.declare_subscriber(topic)
    near.declare_pull_subscriber(topic)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "fenced=True" in caplog.text


def test_who_has_a_position_is_not_told_of_fences(
    far_client: OpenClient, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    far_client(position=DUOMO).declare_subscriber(topic)
    assert not caplog.records
