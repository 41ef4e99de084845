from __future__ import annotations

import pytest

from network import eventually
from zonal.geo import Circle, Point
from zonal.keys import encoding_named
from zonal.session import Presence, Router, Session

DUOMO = Point(45.4642, 9.1900)
MONZA = Point(45.5845, 9.2744)


@pytest.mark.parametrize("name", ["s2", "mgrs", "json"])
def test_who_is_there_in_this_area(near: Session, far: Session, topic: str, name: str) -> None:
    encoding = encoding_named(name)
    area = Circle(DUOMO, radius_m=1000)
    events = near.liveliness().declare_subscriber(topic, area=area, encoding=encoding, history=True)
    here = far.liveliness().declare_token(topic, location=DUOMO, encoding=encoding)
    there = far.liveliness().declare_token(topic, location=MONZA, encoding=encoding)
    first = events.recv(timeout=20)
    assert first is not None
    assert (first.key, first.alive) == (topic, True)
    eventually(lambda: len(near.liveliness().get(topic, area=area, encoding=encoding)) == 1)
    eventually(lambda: len(near.liveliness().get(topic)) == 2)
    here.undeclare()
    second = events.recv(timeout=20)
    assert second is not None
    assert not second.alive
    there.undeclare()
    events.undeclare()


def test_a_token_stands_at_the_position_and_goes_with_its_session(
    near: Session, routers: list[Router], topic: str
) -> None:
    from network import client

    heard: list[Presence] = []
    events = near.liveliness().declare_subscriber(
        topic, heard.append, area=Circle(DUOMO, radius_m=1000), history=True
    )
    with client(routers[-1], position=DUOMO) as mobile:
        token = mobile.liveliness().declare_token(topic)
        eventually(lambda: [presence.alive for presence in heard] == [True])
        assert token is not None
    eventually(lambda: [presence.alive for presence in heard] == [True, False])
    events.undeclare()
