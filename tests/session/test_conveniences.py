"""What makes the session a pleasure to use: what it takes, and what it shows."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import shapely

import zonal
from network import client, collect, eventually, wait_until_answered, wait_until_declared
from zonal import Circle, Point, Session
from zonal.session import Query, Router

DUOMO = Point(45.4642, 9.1900)


@pytest.mark.parametrize("location", [None, (45.4642, 9.19)])
def test_dictionaries_and_lists_are_json(
    near: Session, far: Session, topic: str, location: Any
) -> None:
    values: list[Any] = [{"pm10": 21, "where": "Città"}, [1, None, "x"]]
    with far.declare_subscriber(topic) as subscriber:
        wait_until_declared(near, subscriber)
        publisher = near.declare_publisher(topic, location=location)
        typed = near.declare_publisher(topic, location=location, content_encoding="text/json")
        for value in values:
            near.put(topic, value, location=location)
            publisher.put(value)
            typed.put(value)
            publisher.put(value, content_encoding="application/geo+json")
        samples = collect(subscriber, 8)
    assert [sample.json() for sample in samples] == [values[0]] * 4 + [values[1]] * 4
    encodings = [str(sample.content_encoding) for sample in samples[:4]]
    assert encodings == [
        "application/json",
        "application/json",
        "text/json",
        "application/geo+json",
    ]


def test_payloads_are_read_as_text_and_json(near: Session, far: Session, topic: str) -> None:
    with far.declare_subscriber(topic) as subscriber:
        wait_until_declared(near, subscriber)
        for payload in ('{"a": 1}', "Città", b"\xff", bytearray(b"1"), memoryview(b"2")):
            near.put(topic, payload)
        document, text, noise, one, two = collect(subscriber, 5)
    assert document.json() == {"a": 1}
    assert text.text == "Città"
    assert (one.text, two.json()) == ("1", 2)
    with pytest.raises(zonal.PayloadError, match="no JSON"):
        text.json()
    with pytest.raises(zonal.PayloadError, match="no text"):
        _ = noise.text
    with pytest.raises(zonal.PayloadError, match="no JSON"):
        noise.json()


def test_replies_are_json_too(near: Session, far: Session, topic: str) -> None:
    def answer(query: Query) -> None:
        assert query.payload is not None
        query.reply(topic, {"asked": query.payload.to_string()}, location=(45.4642, 9.19))

    with far.declare_queryable(topic, answer) as queryable:
        wait_until_answered(near, queryable)
        (reply,) = near.get(topic, payload=[1])
    assert reply.json() == {"asked": "[1]"}
    assert reply.location == DUOMO


@pytest.mark.parametrize(
    "area",
    [
        Circle((45.4642, 9.19), radius_m=1000),  # type: ignore[arg-type]
        shapely.box(9.1, 45.4, 9.3, 45.5),
        {"type": "Polygon", "coordinates": [[[9.1, 45.4], [9.3, 45.4], [9.2, 45.6]]]},
        "POLYGON ((9.1 45.4, 9.3 45.4, 9.2 45.6))",
    ],
)
def test_areas_as_users_have_them(near: Session, far: Session, topic: str, area: Any) -> None:
    far.declare_position_handler(float("inf"), (45.4642, 9.19))
    with far.declare_subscriber(topic, area=area) as subscriber:
        wait_until_declared(near, subscriber)
        near.put(topic, "outside", location=[45.7, 9.19])
        near.put(topic, "inside", location=shapely.Point(9.19, 45.4642))
        near.put(topic, "fenced", location=(45.4642, 9.19), geofence=area)
        assert [sample.text for sample in collect(subscriber, 2)] == ["inside", "fenced"]


async def test_a_session_is_an_asynchronous_context_manager(
    routers: list[Router], topic: str
) -> None:
    async with client(routers[0], position=(45.4642, 9.19)) as session:
        with session.declare_subscriber(topic) as subscriber:
            await asyncio.to_thread(session.put, topic, "here")
            async for sample in subscriber:
                assert sample.location == DUOMO
                break
    assert session.is_closed


def test_the_second_element_of_a_handler_is_the_subscribers_handler(
    near: Session, far: Session, topic: str
) -> None:
    heard: list[str] = []
    with far.declare_subscriber(topic, (lambda sample: heard.append(sample.text), heard)) as given:
        wait_until_declared(near, given)
        near.put(topic, "x")
        eventually(lambda: given.handler == ["x"])
    with far.declare_subscriber(topic, print) as alone:
        assert alone.handler is None


def test_what_things_say_of_themselves(near: Session, far: Session, topic: str) -> None:
    subscriber = far.declare_subscriber(topic, area=Circle(DUOMO, radius_m=5))
    wait_until_declared(near, subscriber)
    publisher = near.declare_publisher(topic, location=DUOMO, geofence=None)
    publisher.put({"pm10": 21})
    (sample,) = collect(subscriber, 1)
    assert repr(sample) == f'Sample(PUT {topic!r} from {DUOMO}: {{"pm10": 21}})'
    assert repr(near).startswith(f"Session(zid='{near.zenoh.zid()}', position=None, s2, 1 publish")
    assert topic in repr(subscriber)
    assert "radius_m=5" in repr(subscriber)
    assert repr(publisher) == f"Publisher(key={topic!r}, from {DUOMO})"
    queryable = near.declare_queryable(topic, area=Circle(DUOMO, radius_m=5))
    assert repr(queryable).startswith(f"Queryable(key={topic!r}, area=Circle(")
    near.close()
    assert repr(near) == "Session(closed)"
    assert repr(publisher).endswith("closed)")


def test_the_admin_space_can_be_asked(near: Session, routers: list[Router]) -> None:
    keys = {reply.key: reply for reply in near.get("@/**", timeout=5)}
    state = keys[f"@/{routers[0].zenoh.zid()}/router"]
    assert state.json()["zid"] == str(routers[0].zenoh.zid())
    assert state.location is None
    assert state.attachment is None
    (one,) = near.get(f"@/{routers[0].zenoh.zid()}/router")
    assert one.key == state.key
    with pytest.raises(zonal.TopicError, match="without an area"):
        near.get("@/**", area=Circle(DUOMO, radius_m=5))
    with pytest.raises(zonal.TopicError, match="no key expression"):
        near.get("@//a")
