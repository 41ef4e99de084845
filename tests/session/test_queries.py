"""Queries by area, through three routers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import zenoh

from network import eventually, plain_client, wait_until_declared
from zonal.errors import ClosedError, PositionError
from zonal.geo import Box, Circle, Everywhere, Point, destination
from zonal.session import Memory, PastMessages, Query, Recovery, Router, Session

DUOMO = Point(45.4642, 9.1900)
MONZA = Point(45.5845, 9.2744)
ROMA = Point(41.9028, 12.4964)
OpenClient = Callable[..., Session]


def serve(session: Session, topic: str, places: dict[str, Point], **options: object) -> None:
    def answer(query: Query) -> None:
        for name, place in places.items():
            query.reply(topic, name, location=place)

    session.declare_queryable(topic, answer, **options)  # type: ignore[arg-type]


def names(replies: object) -> list[str]:
    return sorted(reply.payload.to_string() for reply in replies)  # type: ignore[attr-defined]


def ask_until(session: Session, topic: str, expected: list[str], **options: object) -> None:
    """Declarations take a moment to spread; then the answer must be exactly this."""
    eventually(
        lambda: names(session.get(topic, timeout=5, **options)) == expected,  # type: ignore[arg-type]
        what=f"{expected} from {options}",
    )


@pytest.mark.parametrize("encoding", ["s2", "mgrs", "bloom", "json"])
def test_queries_reach_the_queryables_whose_area_intersects(
    near: Session, far_client: OpenClient, topic: str, encoding: str
) -> None:
    for name, place in (("milano", DUOMO), ("roma", ROMA)):
        serve(
            far_client(),
            topic,
            {name: place},
            area=Circle(place, radius_m=20_000),
            encoding=encoding,
        )
    ask_until(near, topic, ["milano"], area=Circle(DUOMO, radius_m=1000), encoding=encoding)
    ask_until(near, topic, ["milano", "roma"], area=Box(40, 8, 46, 13), encoding=encoding)
    ask_until(near, topic, [], area=Circle(Point(0, 0), radius_m=1000), encoding=encoding)
    ask_until(near, topic, ["milano", "roma"])


def test_a_queryable_is_asked_once_however_many_cells_meet(
    near: Session, far: Session, topic: str
) -> None:
    asked: list[Query] = []

    def answer(query: Query) -> None:
        asked.append(query)
        query.reply(topic, "one", location=DUOMO)

    far.declare_queryable(topic, answer, area=Circle(DUOMO, radius_m=30_000))
    area = Circle(destination(DUOMO, 90, 10_000), radius_m=25_000)
    ask_until(near, topic, ["one"], area=area)
    asked.clear()
    assert names(near.get(topic, area=area)) == ["one"]
    assert len(asked) == 1
    assert asked[0].area == area


def test_replies_outside_the_area_are_left_out(near: Session, far: Session, topic: str) -> None:
    serve(far, topic, {"duomo": DUOMO, "monza": MONZA, "roma": ROMA})
    ask_until(near, topic, ["duomo"], area=Circle(DUOMO, radius_m=1000))
    replies = near.get(topic, area=Circle(DUOMO, radius_m=20_000))
    assert names(replies) == ["duomo", "monza"]
    assert replies.filtered_at_edge == 1


def test_the_same_message_from_two_queryables_comes_once(
    near: Session, far_client: OpenClient, topic: str
) -> None:
    stamp = near.zenoh.new_timestamp()
    for _ in range(2):
        far_client().declare_queryable(
            topic, lambda query: query.reply(topic, "same", location=DUOMO, timestamp=stamp)
        )
    ask_until(near, topic, ["same"], area=Everywhere())
    eventually(lambda: (r := near.get(topic)) and names(r) == ["same"] and r.duplicates == 1)


def test_parameters_payload_and_attachment_travel(near: Session, far: Session, topic: str) -> None:
    def answer(query: Query) -> None:
        assert query.payload is not None
        text = f"{query.key} {query.parameters} {query.payload.to_string()} {query.attachment!r}"
        query.reply(topic, text)

    far.declare_queryable(topic, answer)
    expected = f"{topic} a=1;_time=[now(-1h)..] hello b'mine'"
    eventually(
        lambda: (
            names(near.get(f"{topic}?a=1;_time=[now(-1h)..]", payload="hello", attachment=b"mine"))
            == [expected]
        )
    )


def test_an_error_of_a_queryable_reaches_the_asker(near: Session, far: Session, topic: str) -> None:
    def answer(_: Query) -> None:
        raise LookupError("nothing here")

    far.declare_queryable(topic, answer, area=Everywhere())

    def failures() -> list[str]:
        replies = near.get(topic, area=Everywhere())
        assert list(replies) == []
        return [str(failure) for failure in replies.failures]

    eventually(lambda: failures() == ["LookupError: nothing here"])


def test_a_querier_asks_around_the_position_each_time(
    far: Session, far_client: OpenClient, topic: str
) -> None:
    serve(far, topic, {"duomo": DUOMO, "monza": MONZA})
    where = [DUOMO]
    mobile = far_client(position=lambda: where[0], lifetime=0)
    with mobile.declare_querier(topic, area=Circle(radius_m=500)) as querier:
        eventually(lambda: names(querier.get()) == ["duomo"])
        where[0] = MONZA
        assert names(querier.get(parameters="x=1")) == ["monza"]
    with pytest.raises(ClosedError):
        querier.get()


async def test_replies_can_be_awaited(near: Session, far: Session, topic: str) -> None:
    serve(far, topic, {"duomo": DUOMO})
    ask_until(near, topic, ["duomo"])
    heard = [reply.payload.to_string() async for reply in near.get(topic)]
    assert heard == ["duomo"]


def test_a_callback_gets_the_replies(near: Session, far: Session, topic: str) -> None:
    serve(far, topic, {"duomo": DUOMO})
    ask_until(near, topic, ["duomo"])
    heard: list[str] = []
    near.get(topic, lambda reply: heard.append(reply.payload.to_string()))
    eventually(lambda: heard == ["duomo"])


def test_queries_by_iteration(near: Session, far: Session, topic: str) -> None:
    queryable = far.declare_queryable(topic)
    replies = near.get(topic, timeout=20)

    def answered() -> bool:
        query = queryable.recv(timeout=0.2)
        if query is None:
            return False
        with query:
            query.reply_del(topic, location=DUOMO)
        return True

    while not answered():
        replies = near.get(topic, timeout=20)
    assert [reply.kind for reply in replies] == [zenoh.SampleKind.DELETE]


def test_a_plain_client_can_ask_and_a_plain_queryable_can_answer(
    near: Session, routers: list[Router], topic: str
) -> None:
    with plain_client(routers[-1]) as plain:
        serve(near, topic, {"duomo": DUOMO})
        for key in (topic, f"{topic}/@s2/**"):
            eventually(
                lambda key=key: [r.ok.payload.to_string() for r in plain.get(key)] == ["duomo"]
            )
        queryable = plain.declare_queryable(
            f"{topic}/plain", lambda query: query.reply(f"{topic}/plain", "plain")
        )
        eventually(lambda: names(near.get(f"{topic}/plain")) == ["plain"])
        queryable.undeclare()


def test_a_queryable_without_a_place_for_its_circle_is_refused(near: Session, topic: str) -> None:
    with pytest.raises(PositionError, match="a position is needed"):
        near.declare_queryable(topic, area=Circle(radius_m=5))


def test_a_late_subscriber_gets_what_a_publisher_with_a_memory_keeps(
    near: Session, far: Session, topic: str
) -> None:
    publisher = near.declare_publisher(topic, location=DUOMO, memory=Memory(cache=100))
    elsewhere = near.declare_publisher(topic, location=MONZA, memory=Memory(cache=100))
    for number in range(10):
        publisher.put(str(number))
        elsewhere.put("elsewhere")
    subscriber = far.declare_subscriber(
        topic,
        area=Circle(DUOMO, radius_m=1000),
        history=PastMessages(),
        recovery=Recovery(),
    )
    wait_until_declared(near, subscriber)
    for number in range(10, 20):
        publisher.put(str(number))
    heard: list[str] = []
    while len(heard) < 20:
        sample = subscriber.recv(timeout=20)
        assert sample is not None, heard
        heard.append(sample.payload.to_string())
        assert sample.location == DUOMO
    assert sorted(heard, key=int) == [str(number) for number in range(20)]
