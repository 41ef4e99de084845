"""What publishers remember is asked for in parts, and comes whole."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import zenoh.ext

import zonal
from network import (
    client,
    collect,
    eventually,
    plain_client,
    texts,
    wait_for_answerer,
    wait_for_match,
)
from zonal.geo import Point
from zonal.session import (
    Memory,
    Overflow,
    PastMessages,
    Publisher,
    Recovery,
    Router,
    Session,
    Subscriber,
)
from zonal.session.historian import Remembered
from zonal.session.past_messages import remembered

PART = 4096
"""What no question may exceed."""
RECOVERIES = pytest.mark.parametrize("recovery", [None, Recovery()], ids=["plain", "recovery"])


def numbers(*span: int) -> list[str]:
    return [str(number) for number in range(*span)]


def late(session: Session, topic: str, history: PastMessages, recovery: Any) -> Subscriber:
    return session.declare_subscriber(
        topic, history=history, recovery=recovery, overflow=Overflow.BLOCK
    )


def wait_until_sent(session: Session, *publishers: Publisher) -> None:
    """Wait until what these have put is past the routers: behind it come their memories' answers.

    What is still under way when somebody subscribes comes as the present does, beside the past.
    """
    waiting = {each.key for each in publishers}

    def all_answer() -> bool:
        for key in tuple(waiting):
            if any(
                answers(session, memories)
                for memories in (f"{key}/@adv/pub/**", f"{key}/@s2/**/@adv/pub/**")
            ):
                waiting.discard(key)
        return not waiting

    eventually(all_answer, what="answers of all memories")


def answers(session: Session, memories: str) -> bool:
    """Whether any of these memories answers; that somebody is declared there says less."""
    replies = session.zenoh.get(
        f"{memories}?_max=1", timeout=2.0, accept_replies=zenoh.ReplyKeyExpr.ANY
    )
    return any(reply.ok is not None for reply in replies)


def assert_no_more_comes(subscriber: Subscriber, publisher: Any) -> None:
    """What is asked for comes before the last that is sent, or with it."""
    publisher.put("end")
    assert texts(collect(subscriber, 1)) == ["end"]
    assert subscriber.recv(timeout=0.3) is None


def asked_at_most(parameters: str) -> float:
    """How many messages may be in an answer."""
    if found := re.search(r"_max=(\d+)", parameters):
        return int(found[1])
    if found := re.search(r"_sn=(\d+)\.\.(\d+)", parameters):
        return int(found[2]) - int(found[1]) + 1
    return float("inf")


@contextmanager
def beside_caches(
    routers: list[Router], far: Session, topic: str, hear: Callable[[zenoh.Query], Any]
) -> Iterator[None]:
    """One who is asked whatever the topic's memories are asked."""
    with plain_client(routers[1]) as session:
        session.declare_queryable(f"{topic}/@adv/**", zenoh.handlers.Callback(hear, indirect=False))
        wait_for_answerer(far.zenoh, f"{topic}/@adv/pub/any")
        yield


@RECOVERIES
def test_no_question_asks_for_more_than_a_part(
    routers: list[Router], near: Session, far: Session, topic: str, recovery: Any
) -> None:
    asked: list[str] = []
    count = 15_000
    with beside_caches(routers, far, topic, lambda query: asked.append(str(query.parameters))):
        publisher = near.declare_publisher(topic, memory=Memory(cache=count))
        for number in range(count):
            publisher.put(str(number))
        wait_until_sent(far, publisher)
        asked.clear()
        subscriber = late(far, topic, PastMessages(), recovery)
        assert texts(collect(subscriber, count)) == numbers(count)
    assert len(asked) > 3
    assert max(map(asked_at_most, asked)) <= PART


@RECOVERIES
def test_of_a_memory_that_has_forgotten_the_first_messages_all_it_holds_comes(
    near: Session, far: Session, topic: str, recovery: Any
) -> None:
    publisher = near.declare_publisher(topic, memory=Memory(cache=3000))
    for number in range(10_000):
        publisher.put(str(number))
    wait_until_sent(far, publisher)
    subscriber = late(far, topic, PastMessages(), recovery)
    assert texts(collect(subscriber, 3000)) == numbers(7000, 10_000)
    assert_no_more_comes(subscriber, publisher)


@RECOVERIES
@pytest.mark.parametrize("messages", [1, 100, 2000])
def test_of_so_many_messages_exactly_the_newest_come(
    near: Session, far: Session, topic: str, messages: int, recovery: Any
) -> None:
    publisher = near.declare_publisher(topic, memory=Memory(cache=3000))
    for number in range(5000):
        publisher.put(str(number))
    wait_until_sent(far, publisher)
    subscriber = late(far, topic, PastMessages(messages=messages), recovery)
    assert texts(collect(subscriber, messages)) == numbers(5000 - messages, 5000)
    assert_no_more_comes(subscriber, publisher)


@pytest.mark.parametrize("messages", [None, 1000])
@RECOVERIES
def test_nothing_older_than_an_age_comes(
    routers: list[Router], far: Session, topic: str, messages: int | None, recovery: Any
) -> None:
    stamping = {"timestamping/enabled": True}
    settings = zonal.config("client", connect=routers[0].endpoints, settings=stamping)
    with zonal.open(settings) as near:
        publisher = near.declare_publisher(topic, memory=Memory(cache=5000))
        for number in range(2000):
            publisher.put(str(number))
        time.sleep(2.0)  # an age is a time that passes
        between = time.monotonic() - 1.0
        for number in range(2000, 3500):
            publisher.put(str(number))
        history = PastMessages(messages=messages, age_s=time.monotonic() - between)
        subscriber = late(far, topic, history, recovery)
        first = 2000 if messages is None else 2500
        assert texts(collect(subscriber, 3500 - first)) == numbers(first, 3500)
        assert_no_more_comes(subscriber, publisher)


@RECOVERIES
def test_of_many_publishers_on_a_wild_key_all_comes(
    near: Session, far: Session, topic: str, recovery: Any
) -> None:
    publishers = [
        near.declare_publisher(
            f"{topic}/{name}", location=Point(45 + name / 100, 9), memory=Memory(cache=1000)
        )
        for name in range(40)
    ]
    for number in range(100):
        for name, publisher in enumerate(publishers):
            if number < 10 or name < 5:
                publisher.put(f"{name} {number}")
    wait_until_sent(far, *publishers)
    subscriber = late(far, f"{topic}/*", PastMessages(), recovery)
    heard = texts(collect(subscriber, 5 * 100 + 35 * 10))
    for name in range(40):
        own = [each for each in heard if each.startswith(f"{name} ")]
        assert own == [f"{name} {number}" for number in range(100 if name < 5 else 10)]


@RECOVERIES
def test_many_small_memories_are_asked_together(
    routers: list[Router], near: Session, far: Session, topic: str, recovery: Any
) -> None:
    """In bounded parts as well; one that has forgotten, and one that is larger, come whole."""
    asked: list[str] = []

    def hear(query: zenoh.Query) -> None:
        asked.append(str(query.parameters))

    with beside_caches(routers, far, f"{topic}/*", hear):
        sizes = dict.fromkeys(range(100), 20) | {0: 5, 1: 500}
        publishers = [
            near.declare_publisher(f"{topic}/{name}", memory=Memory(cache=size))
            for name, size in sizes.items()
        ]
        for name, publisher in zip(sizes, publishers, strict=True):
            for number in range(500 if name == 1 else 20):
                publisher.put(f"{name} {number}")
        wait_until_sent(far, *publishers)
        asked.clear()
        subscriber = late(far, f"{topic}/*", PastMessages(), recovery)
        heard = texts(collect(subscriber, sum(sizes.values())))
        for name, size in sizes.items():
            own = [int(each.split()[1]) for each in heard if each.startswith(f"{name} ")]
            assert own == list(range(500 if name == 1 else 20))[-size:]
    assert len(asked) < 30
    assert max(map(asked_at_most, asked)) <= PART


@RECOVERIES
def test_what_a_publisher_sends_while_its_memory_is_asked_comes_once(
    near: Session, far: Session, topic: str, recovery: Any
) -> None:
    publisher = near.declare_publisher(
        topic,
        memory=Memory(cache=20_000, heartbeat_s=0.1),
        congestion_control=zenoh.CongestionControl.BLOCK,
    )
    for number in range(10_000):
        publisher.put(str(number))
    stop, sent = threading.Event(), 10_000

    def publish() -> None:
        nonlocal sent
        while not stop.wait(0.001):
            publisher.put(str(sent))
            sent += 1

    publishing = threading.Thread(target=publish)
    publishing.start()
    try:
        subscriber = late(far, topic, PastMessages(), recovery)
        heard = texts(collect(subscriber, 10_200, timeout=60))
    finally:
        stop.set()
        publishing.join()
    heard += texts(collect(subscriber, sent - len(heard)))
    assert sorted(map(int, heard)) == list(range(sent))


def test_a_publisher_that_comes_later_is_asked_for_what_it_sent_before_it_was_heard(
    routers: list[Router], far: Session, topic: str
) -> None:
    asked: list[str] = []
    subscriber = late(far, topic, PastMessages(), Recovery())
    with (
        beside_caches(routers, far, topic, lambda query: asked.append(str(query.parameters))),
        client(routers[0]) as near,
    ):
        publisher = near.declare_publisher(topic, memory=Memory(cache=1000))
        for number in range(300):
            publisher.put(str(number))
        heard = texts(collect(subscriber, 300))
        assert sorted(map(int, heard)) == list(range(300))
        eventually(lambda: any("_max=1" in each for each in asked))
        assert max(map(asked_at_most, asked)) <= PART


@pytest.mark.parametrize("messages", [None, 1, 1500])
def test_a_memory_without_numbers_is_read_by_time(
    routers: list[Router], far: Session, topic: str, messages: int | None
) -> None:
    """A publisher of Zenoh's own, whose messages have time stamps only."""
    stamping = {"timestamping/enabled": True}
    settings = zonal.config("client", connect=routers[0].endpoints, settings=stamping)
    asked: list[str] = []
    with (
        zenoh.open(settings) as near,
        beside_caches(routers, far, topic, lambda query: asked.append(str(query.parameters))),
    ):
        publisher = zenoh.ext.declare_advanced_publisher(
            near, topic, cache=zenoh.ext.CacheConfig(max_samples=3000)
        )
        for number in range(5000):
            publisher.put(str(number))
        eventually(lambda: answers(far, f"{topic}/@adv/pub/{near.zid()}/uhlc/**"))
        subscriber = late(far, topic, PastMessages(messages=messages), None)
        first = 5000 - (messages or 3000)
        heard = texts(collect(subscriber, 5000 - first))
        assert sorted(map(int, heard)) == list(range(first, 5000))
        wait_for_match(near, topic)
        assert_no_more_comes(subscriber, publisher)
        assert max(map(asked_at_most, asked)) <= PART


@RECOVERIES
def test_who_never_ends_an_answer_keeps_nothing_back(
    routers: list[Router], near: Session, far: Session, topic: str, recovery: Any
) -> None:
    unanswered: list[zenoh.Query] = []
    with beside_caches(routers, far, topic, unanswered.append):
        publisher = near.declare_publisher(topic, memory=Memory(cache=200))
        for number in range(200):
            publisher.put(str(number))
        wait_until_sent(far, publisher)
        unanswered.clear()
        subscriber = late(far, topic, PastMessages(), recovery)
        assert texts(collect(subscriber, 200)) == numbers(200)
        assert unanswered
        unanswered.clear()


def test_who_never_ends_an_answer_delays_what_a_forgetful_memory_holds(
    routers: list[Router],
    near: Session,
    far: Session,
    topic: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("zonal.session.asker._ANSWER_WITHIN_S", 0.2)
    unanswered: list[zenoh.Query] = []
    with beside_caches(routers, far, topic, unanswered.append):
        publisher = near.declare_publisher(topic, memory=Memory(cache=1000))
        for number in range(3000):
            publisher.put(str(number))
        subscriber = late(far, topic, PastMessages(), None)
        heard = texts(collect(subscriber, 1000, timeout=60))
        assert sorted(map(int, heard)) == list(range(2000, 3000))
        unanswered.clear()


def test_only_the_one_whose_memory_it_is_tells_the_last_number() -> None:
    """Anybody can put another's number into an answer."""
    source = SimpleNamespace(zid="a1", eid=7)
    sample: Any = SimpleNamespace(
        key_expr="t/x",
        payload=b"four",
        timestamp=None,
        source_info=SimpleNamespace(source_id=source, source_sn=3_000_000_000),
    )
    own: Any = SimpleNamespace(zid="a1", eid=9)
    stranger: Any = SimpleNamespace(zid="b2", eid=9)
    found = Remembered("a1", "t/x/@adv/pub/a1/7/**", 3_000_000_000, 4)
    assert remembered(sample, own) == remembered(sample, None) == found
    assert remembered(sample, stranger) is None
    sample.source_info = None
    assert remembered(sample, own) is None  # neither a number nor a time stamp


@pytest.mark.parametrize("lie", ["refuses", "gives others"])
def test_who_answers_for_another_keeps_nothing_back(
    routers: list[Router], near: Session, far: Session, topic: str, lie: str
) -> None:
    publisher = near.declare_publisher(topic, memory=Memory(cache=1000))
    for number in range(2000):
        publisher.put(str(number))
    wait_until_sent(far, publisher)

    def answer(query: zenoh.Query) -> None:
        if lie == "refuses":
            query.reply_err(b"no")
        else:
            for _ in range(300):
                query.reply(topic, b"fake")

    with beside_caches(routers, far, topic, answer):
        subscriber = late(far, topic, PastMessages(), None)
        heard: list[str] = []
        while len(heard) < 1000:
            sample = subscriber.recv(timeout=20)
            assert sample is not None, len(heard)
            if sample.text != "fake":
                heard.append(sample.text)
        assert heard == numbers(1000, 2000)
