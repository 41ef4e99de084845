from __future__ import annotations

import contextlib

import pytest

from network import eventually
from own_encodings import OWN_ENCODINGS, registered
from zonal.geo import Circle, Point
from zonal.keys import Encoding, encoding_named
from zonal.session import Presence, Router, Session

DUOMO = Point(45.4642, 9.1900)
MONZA = Point(45.5845, 9.2744)


KNOWN = [encoding_named(name) for name in ("s2", "mgrs", "json")]


@pytest.mark.parametrize("encoding", [*KNOWN, *OWN_ENCODINGS], ids=lambda encoding: encoding.name)
def test_who_is_there_in_this_area(
    near: Session, far: Session, topic: str, encoding: Encoding
) -> None:
    with contextlib.nullcontext() if encoding in KNOWN else registered(encoding):
        _look_around(near, far, topic, encoding)


def _look_around(near: Session, far: Session, topic: str, encoding: Encoding) -> None:
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
