"""What is lost on a link is asked for, until it is there or cannot be had any more."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest
import zenoh.ext

import zonal
from lossy_link import LossyLink
from network import collect, eventually, texts, wait_until_declared
from zonal.geo import Circle, Point
from zonal.keys import encoding_named, message_keys
from zonal.session import Memory, Overflow, Recovery, Router, Session, recovery
from zonal.session.asker import HEARTBEATS
from zonal.session.missing import MissingMessages
from zonal.session.recovery import Recoverer

DUOMO = Point(45.4642, 9.1900)
AREA = Circle(DUOMO, radius_m=1000)


@pytest.fixture
def router() -> Iterator[Router]:
    with Router(["tcp/127.0.0.1:0", "udp/127.0.0.1:0"]) as router:
        yield router


@pytest.fixture
def link(router: Router) -> Iterator[LossyLink]:
    (endpoint,) = (each for each in router.endpoints if each.startswith("udp/"))
    with LossyLink(endpoint) as link:
        yield link


@pytest.fixture
def sender(router: Router) -> Iterator[Session]:
    with tcp_client(router) as session:
        yield session


@pytest.fixture
def receiver(link: LossyLink) -> Iterator[Session]:
    with zonal.open(zonal.config("client", connect=[link.endpoint])) as session:
        yield session
        link.loss = 0.0


def tcp_client(router: Router) -> Session:
    endpoints = [each for each in router.endpoints if each.startswith("tcp/")]
    return zonal.open(zonal.config("client", connect=endpoints))


def wide(number: int) -> str:
    """A kilobyte, so that a link can tell messages from heartbeats and keep-alives."""
    return f"{number:01000d}"


def lose(link: LossyLink, put: Callable[[str], object], number: int, copies: int = 1) -> None:
    """Send a message while the link loses everything, until it is gone, with all its copies."""
    link.loss, lost = 1.0, link.lost_bytes
    put(wide(number))
    eventually(lambda: link.lost_bytes > lost + copies * len(wide(number)))
    link.loss = 0.0


def numbers(count: int) -> list[str]:
    return [str(number) for number in range(count)]


def test_nothing_is_lost_doubled_or_out_of_order_where_a_tenth_is_lost(
    sender: Session, receiver: Session, link: LossyLink
) -> None:
    subscriber = receiver.declare_subscriber("air", area=AREA, recovery=Recovery())
    publisher = sender.declare_publisher(
        "air", location=DUOMO, memory=Memory(cache=5000, heartbeat_s=0.1)
    )
    wait_until_declared(sender, subscriber)
    publisher.put("0")
    assert texts(collect(subscriber, 1)) == ["0"]
    link.loss = 0.1
    for number in range(1, 2001):
        publisher.put(str(number))
        if number % 10 == 0:  # not all in one datagram
            eventually(lambda least=number - 20: subscriber.counters.received > least)
    assert texts(collect(subscriber, 2000)) == numbers(2001)[1:]
    counters = subscriber.counters
    assert counters.recovered > 5
    assert counters.given_up == counters.duplicates == 0
    assert link.lost > 5


def test_a_position_handler_that_takes_long_delays_neither_recovery_nor_fences(
    sender: Session, receiver: Session, link: LossyLink
) -> None:
    is_slow, asked, let_go = threading.Event(), threading.Event(), threading.Event()

    def where() -> Point:
        if is_slow.is_set():
            asked.set()
            let_go.wait(30)
        return DUOMO

    receiver.declare_position_handler(0.05, where)
    following = receiver.declare_subscriber("around", area=Circle(radius_m=500))
    subscriber = receiver.declare_subscriber("air", area=AREA, recovery=Recovery())
    events: list[str] = []
    on = ("enter", "dwell", "leave")
    fence = receiver.declare_fence(
        "bus/*", AREA, lambda event: events.append(event.kind), on=on, dwell_s=0.3, silence_s=1
    )
    publisher = sender.declare_publisher(
        "air", location=DUOMO, memory=Memory(cache=100, heartbeat_s=0.1)
    )
    wait_until_declared(sender, following, subscriber, fence)
    publisher.put("0")
    assert texts(collect(subscriber, 1)) == ["0"]
    is_slow.set()
    assert asked.wait(20)
    try:
        sender.put("bus/1", "x", location=DUOMO)
        eventually(lambda: events == ["enter", "dwell", "leave"])
        lose(link, publisher.put, 1)
        assert texts(collect(subscriber, 1)) == [wide(1)]
        assert subscriber.counters.recovered == 1
    finally:
        let_go.set()


@dataclass(frozen=True)
class Numbered:
    """As much of a publisher's message as recovery looks at."""

    key_expr: str
    payload: Any = b""
    source_info: Any = None
    attachment: Any = None
    parameters: str = ""


class NeverAsks:
    """In place of the thread that asks."""

    def add(self, one: object) -> None:
        """Nothing is asked."""

    def put(self, one: object, event: object) -> None:
        """Nothing is asked."""


def numbered(number: int, publisher: int = 1, payload: bytes = b"") -> Any:
    """What one publisher sends."""
    entity = SimpleNamespace(zid="a1", eid=publisher)
    return Numbered("t/x", payload, SimpleNamespace(source_id=entity, source_sn=number))


def test_a_history_that_comes_after_the_heartbeat_is_delivered_whole() -> None:
    """A long one takes its time: the publisher's heartbeats and new messages overtake it."""
    delivered: list[Any] = []
    recoverer = Recoverer(cast("Any", NeverAsks()), Recovery(), delivered.extend)

    last = zenoh.ext.z_serialize(zenoh.ext.UInt32(9))
    recoverer.take([cast("Any", Numbered(f"t/x{HEARTBEATS}a1/1", last))])
    recoverer.hear([numbered(10)])
    recoverer.hear([numbered(number) for number in range(6)])
    recoverer.hear([numbered(11)])
    recoverer.hear([numbered(number) for number in range(6, 10)])
    heard = [sample.source_info.source_sn for sample in delivered]
    assert sorted(heard) == list(range(12))
    assert [number for number in heard if number < 10] == list(range(10))


def test_of_ten_thousand_publishers_each_gap_is_noticed() -> None:
    """As many as a recorder of a whole city hears, one after another."""
    delivered: list[Any] = []
    recoverer = Recoverer(cast("Any", NeverAsks()), Recovery(), delivered.extend)
    for number in (0, 2, 1):
        recoverer.hear([numbered(number, publisher) for publisher in range(10_000)])
        heard = [sample.source_info.source_sn for sample in delivered]
        assert len(heard) == (30_000 if number == 1 else 10_000), "2 waits for 1"
    of_last = [s.source_info.source_sn for s in delivered if s.source_info.source_id.eid == 9_999]
    assert of_last == [0, 1, 2]


def test_what_waits_for_earlier_messages_is_bounded_in_bytes_and_comes_when_there_is_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of strangers, too, who claim numbers that follow nothing, under many names."""
    monkeypatch.setattr(recovery, "HELD_BYTES", 20_000)
    delivered: list[Any] = []
    recoverer = Recoverer(cast("Any", NeverAsks()), Recovery(), delivered.extend)
    large = b"x" * 4_000
    recoverer.hear([numbered(0, publisher, large) for publisher in range(50)])
    recoverer.hear(
        [numbered(number, publisher, large) for publisher in range(50) for number in (2, 3)]
    )
    assert len(delivered) == 50
    recoverer.hear([numbered(1, publisher, large) for publisher in range(50)])
    held = [sample for sample in delivered if sample.source_info.source_sn > 1]
    assert 0 < len(held) * len(large) <= 20_000 + len(large)

    def answer() -> bool:
        """As the publishers do, which remember all."""
        for question in recoverer.due():
            publisher = int(question.publisher.cache.split("/")[-2])
            asked = range(question.first, question.last + 1)
            recoverer.take([numbered(number, publisher, large) for number in asked])
        return len(delivered) == 200

    eventually(answer)
    heard: dict[int, list[int]] = {publisher: [] for publisher in range(50)}
    for sample in delivered:
        heard[sample.source_info.source_id.eid].append(sample.source_info.source_sn)
    assert all(each == [0, 1, 2, 3] for each in heard.values())
    assert recoverer.given_up == 0


def test_nothing_is_lost_where_hardly_anything_may_wait(
    sender: Session, receiver: Session, link: LossyLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "HELD_BYTES", 10_000)
    subscriber = receiver.declare_subscriber("air", area=AREA, recovery=Recovery())
    publisher = sender.declare_publisher(
        "air", location=DUOMO, memory=Memory(cache=500, heartbeat_s=0.1)
    )
    wait_until_declared(sender, subscriber)
    publisher.put("0")
    assert texts(collect(subscriber, 1)) == ["0"]
    lose(link, publisher.put, 1)
    for number in range(2, 201):
        publisher.put(str(number))
    assert [int(text) for text in texts(collect(subscriber, 200))] == list(range(1, 201))
    assert subscriber.counters.given_up == subscriber.counters.duplicates == 0


def test_the_last_message_is_missed_by_the_heartbeat(
    sender: Session, receiver: Session, link: LossyLink
) -> None:
    subscriber = receiver.declare_subscriber("air", recovery=Recovery())
    publisher = sender.declare_publisher(
        "air", location=DUOMO, memory=Memory(cache=10, heartbeat_s=0.1)
    )
    wait_until_declared(sender, subscriber)
    publisher.put("0")
    assert texts(collect(subscriber, 1)) == ["0"]
    lose(link, publisher.put, 1)
    assert texts(collect(subscriber, 1)) == [wide(1)]
    assert subscriber.counters.recovered == 1


def test_what_the_publisher_has_forgotten_is_given_up_and_the_rest_goes_on(
    sender: Session, receiver: Session, link: LossyLink
) -> None:
    subscriber = receiver.declare_subscriber("air", recovery=Recovery(patience_s=60))
    publisher = sender.declare_publisher("air", location=DUOMO, memory=Memory(cache=20))
    wait_until_declared(sender, subscriber)
    publisher.put(wide(0))
    assert texts(collect(subscriber, 1)) == [wide(0)]
    link.loss, lost = 1.0, link.lost_bytes
    for number in range(1, 101):
        publisher.put(wide(number))
    eventually(lambda: link.lost_bytes > lost + 100 * len(wide(0)))
    link.loss = 0.0
    publisher.put(wide(101))
    # The last 20 are remembered.
    assert texts(collect(subscriber, 20)) == [wide(number) for number in range(82, 102)]
    counters = subscriber.counters
    assert counters.given_up == 81
    assert 1 <= counters.recovered <= 19  # the last ones may have come by themselves


def test_a_publisher_that_cannot_be_asked_is_waited_for_no_longer_than_patience(
    sender: Session, receiver: Session, link: LossyLink
) -> None:
    """It numbers its messages and keeps none, so nobody ever answers."""
    patience_s = 0.5
    subscriber = receiver.declare_subscriber("air", recovery=Recovery(patience_s=patience_s))
    publisher = zenoh.ext.declare_advanced_publisher(
        sender.zenoh, "air", sample_miss_detection=zenoh.ext.MissDetectionConfig()
    )
    wait_until_declared(sender, subscriber)
    publisher.put("0")
    assert texts(collect(subscriber, 1)) == ["0"]
    lose(link, publisher.put, 1)
    before = time.monotonic()
    publisher.put("2")
    assert texts(collect(subscriber, 1)) == ["2"]
    assert time.monotonic() - before > patience_s
    assert (subscriber.counters.given_up, subscriber.counters.recovered) == (1, 0)


def test_a_publisher_that_answers_slowly_is_waited_for_while_anything_comes() -> None:
    """A long backlog takes longer than patience, and more so on a busy machine."""
    patience_s = 10.0
    missing = MissingMessages("air", "a1", 1, 0)
    missing.sequence.tell(99)
    now = missing.heard_at + 1.0
    missing.look(now)
    assert missing.questions(now) == [(0, 63)]
    for number in range(50, 99):
        missing.wait(patience_s - 1)
        assert not missing.hopeless(patience_s), "its answers still come"
        missing.sequence.hear(number, cast("Any", None))
        missing.came(now)
        missing.look(now)
    missing.wait(patience_s + 1)
    assert missing.hopeless(patience_s) == 50


def test_time_in_which_nobody_looked_is_not_the_publishers_silence() -> None:
    """Held up by a slow user, or by the machine: answers could not come in, either."""
    recoverer = Recoverer(cast("Any", NeverAsks()), Recovery(patience_s=10.0), lambda _: None)
    recoverer.hear([numbered(0)])
    recoverer.hear([numbered(2)])
    assert [(each.first, each.last) for each in recoverer.due()] == [(1, 1)]
    recoverer._looked_at -= 3600.0
    recoverer.due()
    assert recoverer.given_up == 0


def test_what_waited_for_a_lost_message_may_be_more_than_a_mailbox_holds(
    sender: Session, receiver: Session, link: LossyLink
) -> None:
    taken: list[int] = []
    subscriber = receiver.declare_subscriber(
        "air", lambda sample: taken.append(int(sample.text)), recovery=Recovery(),
        overflow=Overflow.BLOCK, capacity=1,
    )  # fmt: skip
    publisher = sender.declare_publisher("air", memory=Memory(cache=100, heartbeat_s=0.1))
    wait_until_declared(sender, subscriber)
    publisher.put("0")
    eventually(lambda: taken == [0])
    lose(link, publisher.put, 1)
    for number in range(2, 9):
        publisher.put(str(number))
    eventually(lambda: len(taken) == 9)
    assert taken == list(range(9))
    assert subscriber.counters.given_up == 0


def test_fenced_messages_are_recovered_too(sender: Session, link: LossyLink) -> None:
    connect = zonal.config("client", connect=[link.endpoint])
    with zonal.open(connect, position=DUOMO) as receiver:
        subscriber = receiver.declare_subscriber("air", area=AREA, recovery=Recovery())
        fence = Circle(DUOMO, radius_m=300)
        publisher = sender.declare_publisher(
            "air", location=DUOMO, geofence=fence, memory=Memory(cache=100, heartbeat_s=0.1)
        )
        wait_until_declared(sender, subscriber)
        heard = [zenoh.KeyExpr(key) for key in subscriber.declared_keys]
        keys = message_keys("air", DUOMO, fence, encoding_named("s2"))
        copies = sum(any(own.intersects(zenoh.KeyExpr(key)) for own in heard) for key in keys)
        publisher.put("0")
        assert texts(collect(subscriber, 1)) == ["0"]
        lose(link, publisher.put, 1, copies)
        assert texts(collect(subscriber, 1)) == [wide(1)]
        assert subscriber.counters.recovered > 0
        publisher.put("2")
        assert texts(collect(subscriber, 1)) == ["2"]


def test_a_full_mailbox_that_holds_the_network_up_can_be_closed(
    sender: Session, receiver: Session
) -> None:
    subscriber = receiver.declare_subscriber(
        "air", recovery=Recovery(), capacity=5, overflow=Overflow.BLOCK
    )
    publisher = sender.declare_publisher("air", location=DUOMO, memory=Memory(cache=100))
    wait_until_declared(sender, subscriber)
    for number in range(20):
        publisher.put(str(number))
    eventually(lambda: subscriber.counters.waiting == 5)
    subscriber.undeclare()
    assert texts(list(subscriber))[:5] == numbers(5)


def test_a_moving_subscriber_does_not_ask_for_what_was_sent_while_it_was_away(
    sender: Session, link: LossyLink
) -> None:
    place = [DUOMO]
    connect = zonal.config("client", connect=[link.endpoint])
    with zonal.open(connect, position=lambda: place[0], lifetime=0.0) as receiver:
        subscriber = receiver.declare_subscriber(
            "air", area=Circle(radius_m=500), recovery=Recovery()
        )
        publisher = sender.declare_publisher("air", location=DUOMO, memory=Memory(cache=100))
        wait_until_declared(sender, subscriber)
        publisher.put("near")
        assert texts(collect(subscriber, 1)) == ["near"]
        here = set(subscriber.declared_keys)
        place[0] = Point(45.5845, 9.2744)
        eventually(lambda: here.isdisjoint(subscriber.declared_keys))
        for _ in range(10):
            publisher.put("away")
        place[0] = DUOMO
        eventually(lambda: here == set(subscriber.declared_keys))
        wait_until_declared(sender, subscriber)
        publisher.put("near again")
        assert texts(collect(subscriber, 1)) == ["near again"]
        assert subscriber.counters.recovered == subscriber.counters.given_up == 0


def test_zenohs_own_configuration_is_refused(sender: Session) -> None:
    theirs: Any = zenoh.ext.RecoveryConfig(heartbeat=True, periodic_queries=None)
    with pytest.raises(TypeError, match=r"zonal\.Recovery"):
        sender.declare_subscriber("air", recovery=theirs)


def test_patience_is_a_time_and_a_memory_keeps_something() -> None:
    with pytest.raises(ValueError, match="more than 0"):
        Recovery(patience_s=0)
    with pytest.raises(ValueError, match="at least one"):
        Memory(cache=0)
    assert Memory().cache > 0


def test_what_was_sent_while_a_router_was_down_is_had_when_it_is_back(router: Router) -> None:
    upstream = [each for each in router.endpoints if each.startswith("tcp/")]
    between = Router(["tcp/127.0.0.1:0"], connect=upstream)
    endpoints = between.endpoints
    with (
        tcp_client(router) as sender,
        zonal.open(zonal.config("client", connect=endpoints)) as receiver,
    ):
        subscriber = receiver.declare_subscriber("air", area=AREA, recovery=Recovery())
        publisher = sender.declare_publisher("air", location=DUOMO, memory=Memory(cache=100))
        wait_until_declared(sender, subscriber)
        publisher.put("0")
        assert texts(collect(subscriber, 1)) == ["0"]
        between.close()
        for number in range(1, 11):
            publisher.put(str(number))
        with Router(endpoints, connect=upstream):
            assert texts(collect(subscriber, 10, timeout=60)) == numbers(11)[1:]
        assert subscriber.counters.recovered == 10
        assert subscriber.counters.given_up == 0
