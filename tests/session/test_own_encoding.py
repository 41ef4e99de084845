"""Encodings that a user registers: everything that a session does works with them, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from network import collect, eventually, texts, wait_until_answered, wait_until_declared
from own_encodings import OWN_ENCODINGS, registered
from zonal.geo import Box, Circle, Everywhere, Point, Polygon
from zonal.keys import Encoding, encoding_named
from zonal.session import Query, Session

DUOMO = Point(45.4642, 9.1900)
NAVIGLI = Point(45.4520, 9.1750)
MONZA = Point(45.5845, 9.2744)
CENTRE = Polygon(((45.45, 9.16), (45.45, 9.22), (45.48, 9.22), (45.48, 9.16), (45.45, 9.16)))
OpenClient = Callable[..., Session]


@pytest.fixture(params=OWN_ENCODINGS, ids=lambda encoding: encoding.name)
def name(request: pytest.FixtureRequest) -> Iterator[str]:
    with registered(request.param) as name:
        yield name


@pytest.fixture
def encoding(name: str) -> Encoding:
    return encoding_named(name)


def test_messages_reach_the_areas_they_come_from(
    near: Session, far: Session, topic: str, name: str
) -> None:
    inside = far.declare_subscriber(topic, area=CENTRE, encoding=name)
    all_of_it = far.declare_subscriber(topic)
    wait_until_declared(near, inside)
    if not encoding_named(name).announces_areas:
        wait_until_declared(near, all_of_it)
    for place, text in ((MONZA, "monza"), (DUOMO, "duomo"), (NAVIGLI, "navigli")):
        near.put(topic, text, location=place, encoding=name)
    with near.declare_publisher(topic, location=DUOMO, encoding=name) as publisher:
        publisher.put("there")
    near.put(topic, "blurred", location=DUOMO, precision_m=200, encoding=name)
    heard = collect(inside, 4)
    assert sorted(texts(heard)) == ["blurred", "duomo", "navigli", "there"]
    assert {s.location for s in heard if not s.is_blurred} == {DUOMO, NAVIGLI}
    assert len(collect(all_of_it, 5)) == 5


def test_an_area_follows_the_position(
    near: Session, far_client: OpenClient, topic: str, name: str
) -> None:
    mobile = far_client(position=DUOMO)
    around = mobile.declare_subscriber(topic, area=Circle(radius_m=500), encoding=name)
    wait_until_declared(near, around)
    near.put(topic, "first", location=DUOMO, encoding=name)
    assert texts(collect(around, 1)) == ["first"]
    mobile.declare_position_handler(60, MONZA)
    wait_until_declared(near, around)

    def heard() -> bool:
        near.put(topic, "second", location=MONZA, encoding=name)
        near.put(topic, "behind", location=DUOMO, encoding=name)
        sample = around.recv(timeout=0.05)
        assert sample is None or sample.payload.to_string() == "second"
        return sample is not None

    eventually(heard)


def test_fenced_messages_reach_those_inside(
    near: Session, far_client: OpenClient, topic: str, name: str
) -> None:
    fence = Box(45.44, 9.15, 45.49, 9.23)
    inside, outside = (
        far_client(position=place).declare_subscriber(topic, area=Everywhere(), encoding=name)
        for place in (DUOMO, MONZA)
    )
    wait_until_declared(near, inside, outside)
    near.put(topic, "fenced", location=MONZA, geofence=fence, encoding=name)
    near.put(topic, "for all", location=MONZA, encoding=name)
    assert sorted(texts(collect(inside, 2))) == ["fenced", "for all"]
    assert texts(collect(outside, 1)) == ["for all"]
    assert outside.counters.received == 1


def test_questions_reach_the_queryables_of_their_area(
    near: Session, far: Session, topic: str, name: str
) -> None:
    def answer(query: Query) -> None:
        query.reply(topic, "duomo", location=DUOMO, encoding=name)
        query.reply(topic, "monza", location=MONZA, encoding=name)

    asked: list[Query] = []
    centre = far.declare_queryable(topic, answer, area=CENTRE, encoding=name)
    elsewhere = far.declare_queryable(
        topic, asked.append, area=Circle(MONZA, radius_m=300), encoding=name
    )
    wait_until_answered(near, centre, elsewhere)
    area = Circle(DUOMO, radius_m=800)
    replies = eventually(lambda: list(near.get(topic, area=area, encoding=name)))
    assert [reply.payload.to_string() for reply in replies] == ["duomo"]
    assert [reply.location for reply in replies] == [DUOMO]
    assert not asked


def test_sessions_opened_with_it_use_it_for_everything(
    far_client: OpenClient, topic: str, name: str
) -> None:
    one, two = far_client(encoding=name, position=DUOMO), far_client(encoding=name)
    subscriber = two.declare_subscriber(topic, area=CENTRE)
    wait_until_declared(one, subscriber)
    one.put(topic, "here")
    (sample,) = collect(subscriber, 1)
    assert f"/@{name}/" in str(sample.zenoh.key_expr)
    assert sample.location == DUOMO
