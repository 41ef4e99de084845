"""What strangers send beside messages is counted, told once in a while, and bounded."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import zenoh

from network import (
    collect,
    eventually,
    plain_client,
    texts,
    wait_for_answerer,
    wait_until_answered,
    wait_until_declared,
)
from zonal.errors import LocationKeyError
from zonal.geo import Circle, Everywhere, Point, destination
from zonal.keys import (
    Role,
    announcement_key,
    area_keys,
    encoding_named,
    every_place,
    join,
    query_keys,
)
from zonal.session import PresenceSubscriber, Router, Session, announced_areas, liveliness
from zonal.session.announced_areas import AnnouncedAreas
from zonal.session.queryable import UNREADABLE

DUOMO = Point(45.4642, 9.19)
AREA = Circle(DUOMO, radius_m=2000)
JSON = encoding_named("json")


@pytest.fixture
def stranger(routers: list[Router]) -> Iterator[zenoh.Session]:
    with plain_client(routers[0]) as session:
        yield session


def warnings(caplog: pytest.LogCaptureFixture, text: str) -> list[str]:
    told = [record.getMessage() for record in caplog.records]
    return [each for each in told if text in each]


def announcement(topic: str, number: int, device: str = "d") -> str:
    area = Circle(destination(DUOMO, 90, number), radius_m=500)
    (key,) = area_keys(topic, area, JSON)
    return announcement_key(key, device)


# Announcements


class Told:
    """Announced areas, and what was told of them."""

    def __init__(self) -> None:
        self.malformed: list[Exception] = []
        self.left_out: list[str] = []
        self.areas = AnnouncedAreas(JSON, self.malformed.append, self.left_out.append)


def test_announced_areas_are_bounded_in_number_and_known_again_when_the_others_go() -> None:
    told = Told()
    tokens = [announcement("t", number) for number in range(announced_areas.MOST_AREAS + 10)]
    for token in tokens:
        told.areas.add(token)
        told.areas.add(token)  # what is there already comes twice
    assert len(told.areas.known()) == announced_areas.MOST_AREAS
    assert not told.areas.complete
    assert told.left_out == tokens[-10:]
    for token in tokens[-10:]:
        told.areas.remove(token)
    assert told.areas.complete
    for token in tokens:
        told.areas.remove(token)
    assert told.areas.known() == []
    told.areas.add(tokens[-1])
    assert len(told.areas.known()) == 1
    assert told.malformed == []


def test_announced_areas_are_bounded_in_characters_and_devices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(announced_areas, "MOST_CHARACTERS", 1000)
    monkeypatch.setattr(announced_areas, "MOST_TOKENS", 20)
    monkeypatch.setattr(announced_areas, "MOST_LEFT_OUT", 5)
    long, many = Told(), Told()
    for number in range(100):
        long.areas.add(announcement("t", number))
        many.areas.add(announcement("t", 0, f"d{number}"))
    assert 0 < sum(len(area.expression) for area in long.areas.known()) <= 1000
    assert len(many.areas.known()) == 1
    assert len(many.areas._holders) == 1
    assert sum(map(len, many.areas._holders.values())) == 20
    for told in (long, many):
        assert not told.areas.complete
        assert len(told.areas._left_out) == 5


def test_what_announces_nothing_is_told_once_while_it_stands() -> None:
    told = Told()
    for _ in range(3):
        told.areas.add("t/@json/s_3_AAAA/@by/d")
        assert told.areas.known() == []
    assert len(told.malformed) == 1
    assert isinstance(told.malformed[0], LocationKeyError)


def test_strangers_announcements_are_counted_and_told_now_and_then(
    stranger: zenoh.Session, near: Session, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    tokens = [
        stranger.liveliness().declare_token(f"{topic}/@json/s_3_AAA{number}/@by/x")
        for number in range(50)
    ]

    def all_read() -> bool:
        near.put(topic, "x", location=DUOMO, encoding="json")
        return near.announcements.malformed == 50

    eventually(all_read)
    assert len(warnings(caplog, "an announced area is ignored")) == 1
    for token in tokens:
        token.undeclare()


def test_beyond_the_bound_of_announced_areas_messages_still_come_and_only_where_they_belong(
    stranger: zenoh.Session,
    near: Session,
    far: Session,
    topic: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(announced_areas, "MOST_AREAS", 20)
    flood = [stranger.liveliness().declare_token(announcement(topic, n)) for n in range(20)]

    def others_are_known() -> bool:
        near.put(topic, "x", location=DUOMO, encoding="json")
        (watch,) = near._parts.announcements._watches.values()
        return len(watch.areas.known()) == 20

    eventually(others_are_known)
    late = far.declare_subscriber(topic, area=AREA, encoding="json")
    elsewhere = far.declare_subscriber(
        topic, area=Circle(destination(DUOMO, 0, 50_000), radius_m=500), encoding="json"
    )
    wait_until_declared(near, late, elsewhere)
    eventually(lambda: near.announcements.left_out == 2)
    for number in range(20):
        near.put(topic, str(number), location=DUOMO, encoding="json")
    assert texts(collect(late, 20)) == list(map(str, range(20)))
    eventually(lambda: elsewhere.counters.filtered_at_edge >= 20)
    assert elsewhere.counters.delivered == 0
    assert len(warnings(caplog, "too many areas are announced")) == 1
    for token in flood:
        token.undeclare()
    late.undeclare()
    elsewhere.undeclare()
    (watch,) = near._parts.announcements._watches.values()
    eventually(lambda: watch.areas.complete and not watch.areas.known())


def test_beyond_the_bound_a_question_reaches_the_queryable_that_is_left_out(
    stranger: zenoh.Session, near: Session, far: Session, topic: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(announced_areas, "MOST_AREAS", 5)
    flood = [stranger.liveliness().declare_token(announcement(topic, n)) for n in range(10)]
    eventually(lambda: not list(near.get(topic, area=AREA, encoding="json", timeout=1))
               and near.announcements.left_out)  # fmt: skip
    answering = far.declare_queryable(
        topic, lambda query: query.reply(topic, "here", location=DUOMO), area=AREA, encoding="json"
    )
    wait_until_answered(near, answering)
    assert texts(list(near.get(topic, area=AREA, encoding="json"))) == ["here"]
    for token in flood:
        token.undeclare()


def test_zenohs_thread_reads_no_announced_area(
    stranger: zenoh.Session, near: Session, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read by whoever sends."""
    read: list[str] = []
    monkeypatch.setattr(
        announced_areas, "read_announced", lambda expression, _: read.append(expression)
    )
    near.put(topic, "x", location=DUOMO, encoding="json")
    (watch,) = near._parts.announcements._watches.values()
    with stranger.liveliness().declare_token(announcement(topic, 1)):
        eventually(lambda: watch.areas._unread)
        assert read == []


# Questions and answers


def test_malformed_questions_are_counted_and_answered_with_an_error(
    stranger: zenoh.Session, far: Session, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[object] = []
    answering = far.declare_queryable(topic, asked.append, area=AREA)
    (key, *_) = query_keys(topic, AREA, (encoding_named("s2"),), lambda _: ())
    wait_for_answerer(stranger, key)
    for _ in range(50):
        (reply,) = stranger.get(key, attachment=b"\x44\xff\xff")
        assert reply.err is not None
        assert reply.err.payload.to_string() == UNREADABLE
    assert answering.malformed == 50
    assert asked == []
    assert len(warnings(caplog, "a question was left out")) == 1


def test_a_plain_clients_own_attachment_is_no_malformed_question(
    stranger: zenoh.Session, far: Session, topic: str
) -> None:
    answering = far.declare_queryable(topic, lambda query: query.reply(topic, "yes"))
    wait_for_answerer(stranger, topic)
    (reply,) = stranger.get(topic, attachment=b"\x44\xff\xff")
    assert reply.ok is not None
    assert answering.malformed == 0


def test_malformed_replies_are_counted_and_cost_no_other(
    stranger: zenoh.Session, near: Session, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    located = join(topic, "@s2/1/10")

    def answer(query: zenoh.Query) -> None:
        with query:
            for number in range(20):
                query.reply(located, b"bad", attachment=b"\x44\xff\xff")
                query.reply(topic, str(number))

    with stranger.declare_queryable(topic, answer):
        wait_for_answerer(near.zenoh, topic)
        replies = near.get(topic)
        assert texts(list(replies)) == list(map(str, range(20)))
    assert replies.malformed == 20
    assert len(warnings(caplog, "dropped a reply")) == 1


def test_questions_that_wait_are_bounded_in_bytes(
    stranger: zenoh.Session, far: Session, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zonal.runtime.mailbox.DEFAULT_CAPACITY_BYTES", 5_000_000)
    answering = far.declare_queryable(topic)
    wait_for_answerer(stranger, topic)
    for _ in range(40):
        stranger.get(topic, payload=bytes(500_000), timeout=1)
    eventually(lambda: answering.received == 40)
    assert len(answering._mailbox) < 10
    assert answering.overflowed == 40 - len(answering._mailbox)


# Who is there


def there(subscriber: PresenceSubscriber) -> int:
    return sum(presence.alive for presence in tuple(subscriber._known.values()))


def wait_until_heard(stranger: zenoh.Session, subscriber: PresenceSubscriber, key: str) -> None:
    """Tokens that were declared before the subscription stands are never heard of."""

    def is_heard() -> bool:
        with stranger.liveliness().declare_token(key):
            return subscriber.recv(timeout=0.2) is not None

    eventually(is_heard)
    eventually(lambda: there(subscriber) == 0)


def test_tokens_that_are_known_are_bounded_and_others_counted(
    stranger: zenoh.Session,
    near: Session,
    topic: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(liveliness, "MOST_TOKENS", 30)
    subscriber = near.liveliness().declare_subscriber(f"{topic}/*")
    wait_until_heard(stranger, subscriber, f"{topic}/first")
    tokens = [stranger.liveliness().declare_token(f"{topic}/{number}") for number in range(50)]
    eventually(lambda: subscriber.left_out == 20)
    assert there(subscriber) == 30
    assert len(warnings(caplog, "too many tokens are there")) == 1
    for token in tokens:
        token.undeclare()
    eventually(lambda: there(subscriber) == 0)
    assert subscriber._characters == 0
    with stranger.liveliness().declare_token(f"{topic}/again"):
        eventually(lambda: there(subscriber) == 1)
    subscriber.undeclare()


def test_tokens_that_are_known_are_bounded_in_characters(
    stranger: zenoh.Session, near: Session, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(liveliness, "MOST_CHARACTERS", 20_000)
    subscriber = near.liveliness().declare_subscriber(f"{topic}/*")
    wait_until_heard(stranger, subscriber, f"{topic}/first")
    tokens = [
        stranger.liveliness().declare_token(f"{topic}/{number}{'x' * 3000}") for number in range(20)
    ]
    eventually(lambda: there(subscriber) + subscriber.left_out == 20)
    assert there(subscriber) == 6
    assert len(tokens) == 20
    subscriber.undeclare()


def test_malformed_tokens_are_counted_and_told_now_and_then(
    stranger: zenoh.Session, near: Session, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    subscriber = near.liveliness().declare_subscriber(topic)
    wait_until_heard(stranger, subscriber, topic)
    tokens = [
        stranger.liveliness().declare_token(f"{topic}/@json/p_AAA{number}") for number in range(40)
    ]
    eventually(lambda: subscriber.malformed == 40)
    asked = near.liveliness()
    assert asked.get(topic) == []
    assert asked.malformed == 40
    assert len(warnings(caplog, "a token is ignored")) == 2  # of the subscriber, and of the get
    assert not subscriber._known
    assert len(tokens) == 40
    subscriber.undeclare()


def test_tokens_are_read_on_the_reading_thread(
    stranger: zenoh.Session, near: Session, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    readers: list[str] = []
    original = liveliness.presence_of

    def read(key: str) -> liveliness.Presence:
        readers.append(threading.current_thread().name)
        return original(key)

    monkeypatch.setattr(liveliness, "presence_of", read)
    subscriber = near.liveliness().declare_subscriber(topic)
    wait_until_heard(stranger, subscriber, topic)
    assert set(readers) == {"zonal-reader"}
    subscriber.undeclare()


def test_what_all_expressions_of_an_encoding_intersect() -> None:
    whole = zenoh.KeyExpr(f"t/{every_place(JSON)}")
    for role in (Role.SUBSCRIBER, Role.QUERYABLE):
        for area in (AREA, Everywhere()):
            (key,) = area_keys("t", area, JSON, role)
            assert whole.intersects(zenoh.KeyExpr(key))
