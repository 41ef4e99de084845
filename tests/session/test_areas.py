"""Messages reach the areas they come from, through three unmodified routers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest
import zenoh

import zonal
from network import collect, eventually, plain_client, texts, wait_for_match, wait_until_declared
from zonal.errors import ClosedError, ContentEncodingError, TopicError
from zonal.geo import Area, Box, Circle, Everywhere, Grid, MultiPolygon, Point, Polygon, destination
from zonal.keys import BloomDomain, BloomEncoding, encode_place
from zonal.session import Overflow, Recovery, Router, Sample, SampleColumns, Session

DUOMO = Point(45.4642, 9.1900)
NAVIGLI = destination(DUOMO, 200, 1500)
MONZA = Point(45.5845, 9.2744)
MILANO = BloomEncoding(
    BloomDomain("milano-test", Grid(Box(45.3, 9.0, 45.7, 9.4), 10, 10), probability=0.01)
)
zonal.register_encoding(MILANO)
ENCODINGS = ["s2", "mgrs", "bloom:milano-test", "json"]

square = Polygon(((45.45, 9.17), (45.45, 9.21), (45.48, 9.21), (45.48, 9.17), (45.45, 9.17)))


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    "area",
    [
        Circle(DUOMO, radius_m=2000),
        Box(45.45, 9.17, 45.48, 9.21),
        square,
        MultiPolygon((square, Polygon(((45.3, 9.3), (45.3, 9.31), (45.31, 9.3), (45.3, 9.3))))),
    ],
    ids=["circle", "box", "polygon", "multipolygon"],
)
def test_only_messages_from_the_area_arrive(
    near: Session, far: Session, topic: str, area: Area, encoding: str
) -> None:
    with far.declare_subscriber(topic, area=area, encoding=encoding) as subscriber:
        wait_until_declared(near, subscriber)
        near.put(topic, "outside", location=MONZA, encoding=encoding)
        near.put(topic, "inside", location=DUOMO, encoding=encoding)
        near.put(topic, "outside again", location=MONZA, encoding=encoding)
        near.put(topic, "also inside", location=Point(45.465, 9.19), encoding=encoding)
        samples = {s.payload.to_string(): s for s in collect(subscriber, 2)}
        assert samples.keys() == {"inside", "also inside"}
        assert samples["inside"].location == DUOMO
        assert samples["also inside"].location == Point(45.465, 9.19)
        assert samples["inside"].key == topic
        assert subscriber.counters.received == 2  # the network filtered, not the edge
        assert subscriber.counters.filtered_at_edge == 0


def test_the_edge_filters_what_cells_cannot(near: Session, far: Session, topic: str) -> None:
    with far.declare_subscriber(topic, area=Circle(DUOMO, radius_m=300)) as subscriber:
        wait_until_declared(near, subscriber)
        ring = [
            destination(DUOMO, bearing, metres)
            for bearing in range(0, 360, 15)
            for metres in (299.9, 300.1, 350)
        ]
        for point in ring:
            near.put(topic, f"{point.distance_m(DUOMO):.1f}", location=point)
        near.put(topic, "end", location=DUOMO)
        samples = collect(subscriber, 25)
        assert sorted(texts(samples)) == ["299.9"] * 24 + ["end"]
        assert subscriber.counters.filtered_at_edge > 0


def test_the_whole_network_hears_every_encoding_and_plain_messages(
    near: Session, far: Session, topic: str
) -> None:
    with far.declare_subscriber(topic) as subscriber:
        wait_until_declared(near, subscriber)
        for encoding in ENCODINGS:
            near.put(topic, encoding, location=DUOMO, encoding=encoding)
        near.put(topic, "plain")
        samples = collect(subscriber, len(ENCODINGS) + 1)
        assert set(texts(samples)) == {*ENCODINGS, "plain"}
        assert {sample.location for sample in samples} == {DUOMO, None}


def test_an_area_does_not_hear_messages_without_a_location(
    near: Session, far: Session, topic: str
) -> None:
    with far.declare_subscriber(topic, area=Everywhere()) as subscriber:
        wait_until_declared(near, subscriber)
        near.put(topic, "nowhere")
        near.put(topic, "somewhere", location=MONZA)
        assert texts(collect(subscriber, 1)) == ["somewhere"]


def test_several_encodings_side_by_side(near: Session, far: Session, topic: str) -> None:
    area = Circle(DUOMO, radius_m=2000)
    with (
        far.declare_subscriber(topic, area=area, encoding=["s2", "mgrs"]) as both,
        far.declare_subscriber(topic, area=area, encoding="mgrs") as mgrs_only,
    ):
        wait_until_declared(near, both)
        near.put(topic, "s2", location=DUOMO)
        near.put(topic, "mgrs", location=DUOMO, encoding="mgrs")
        assert set(texts(collect(both, 2))) == {"s2", "mgrs"}
        assert texts(collect(mgrs_only, 1)) == ["mgrs"]


def test_wildcards_in_the_topic_work_with_areas(near: Session, far: Session, topic: str) -> None:
    with far.declare_subscriber(f"{topic}/*/air", area=Circle(DUOMO, radius_m=2000)) as subscriber:
        wait_for_match(near.zenoh, f"{topic}/x/air/{encode_place(DUOMO)[0]}")
        near.put(f"{topic}/a/water", "no", location=DUOMO)
        near.put(f"{topic}/a/air", "a", location=DUOMO)
        near.put(f"{topic}/b/air", "b", location=NAVIGLI)
        samples = collect(subscriber, 2)
        assert {(s.key, s.payload.to_string()) for s in samples} == {
            (f"{topic}/a/air", "a"),
            (f"{topic}/b/air", "b"),
        }


def test_a_callback_runs_in_a_thread_of_the_sessions_own(
    near: Session, far: Session, topic: str
) -> None:
    heard: list[tuple[str, str]] = []

    def remember(sample: zonal.Sample) -> None:
        if sample.payload.to_string() == "bad":
            raise ValueError("the user's own mistake")
        heard.append((sample.payload.to_string(), threading.current_thread().name))

    subscriber = far.declare_subscriber(topic, remember, area=Circle(DUOMO, radius_m=2000))
    wait_until_declared(near, subscriber)
    for text in ("bad", "good"):
        near.put(topic, text, location=DUOMO)
    eventually(lambda: heard)
    ((text, thread),) = heard
    assert text == "good"
    assert thread in {"zonal-callback", "zonal-reader"}  # never one of Zenoh's
    assert subscriber.counters.callback_errors == 1


async def test_async_iteration(near: Session, far: Session, topic: str) -> None:
    subscriber = far.declare_subscriber(topic, area=Circle(DUOMO, radius_m=2000))
    wait_until_declared(near, subscriber)
    heard: list[str] = []

    async def listen() -> None:
        async for sample in subscriber:
            heard.append(sample.payload.to_string())
            if len(heard) == 3:
                return

    task = asyncio.create_task(listen())
    for number in range(3):
        near.put(topic, str(number), location=DUOMO)
    await asyncio.wait_for(task, 20)
    assert heard == ["0", "1", "2"]


async def test_async_iteration_ends_when_the_subscriber_is_closed(far: Session, topic: str) -> None:
    subscriber = far.declare_subscriber(topic, area=Everywhere())

    async def listen() -> list[object]:
        return [sample async for sample in subscriber]

    task = asyncio.create_task(listen())
    await asyncio.sleep(0)
    await asyncio.to_thread(subscriber.undeclare)
    assert await asyncio.wait_for(task, 20) == []


def test_a_pull_subscriber_keeps_the_latest(near: Session, far: Session, topic: str) -> None:
    with far.declare_pull_subscriber(topic, area=Everywhere(), capacity=2) as subscriber:
        wait_until_declared(near, subscriber)
        assert subscriber.pull() is None
        for number in range(5):
            near.put(topic, str(number), location=DUOMO)
        eventually(lambda: subscriber.counters.received == 5)
        eventually(lambda: subscriber.counters.overflowed == 3)
        assert texts(subscriber.pull_all()) == ["3", "4"]
        assert subscriber.pull_all() == []


@pytest.mark.parametrize(
    ("overflow", "kept"),
    [(Overflow.DROP_OLDEST, ["7", "8", "9"]), (Overflow.DROP_NEWEST, ["0", "1", "2"])],
)
def test_a_full_mailbox_drops_and_counts(
    near: Session, far: Session, topic: str, overflow: Overflow, kept: list[str]
) -> None:
    with far.declare_subscriber(
        topic, area=Everywhere(), capacity=3, overflow=overflow
    ) as subscriber:
        wait_until_declared(near, subscriber)
        for number in range(10):
            near.put(topic, str(number), location=DUOMO)
        eventually(lambda: subscriber.counters.overflowed == 7)
        assert texts(collect(subscriber, 3)) == kept
        assert subscriber.counters.received == 10
        assert subscriber.counters.delivered == 3


def test_a_blocking_mailbox_loses_nothing(near: Session, far: Session, topic: str) -> None:
    with far.declare_subscriber(
        topic, area=Everywhere(), capacity=3, overflow=Overflow.BLOCK
    ) as subscriber:
        wait_until_declared(near, subscriber)
        publisher = near.declare_publisher(
            topic, location=DUOMO, congestion_control=zenoh.CongestionControl.BLOCK
        )
        for number in range(500):
            publisher.put(str(number))
        assert texts(collect(subscriber, 500)) == [str(number) for number in range(500)]
        assert subscriber.counters.overflowed == 0


def test_leaving_a_loop_early_keeps_the_rest(near: Session, far: Session, topic: str) -> None:
    with far.declare_subscriber(topic, area=Everywhere()) as subscriber:
        wait_until_declared(near, subscriber)
        for number in range(4):
            near.put(topic, str(number), location=DUOMO)
        eventually(lambda: subscriber.counters.received == 4)
        for sample in subscriber:
            assert sample.payload.to_string() == "0"
            break
        assert texts(collect(subscriber, 3)) == ["1", "2", "3"]


def test_a_delete_arrives_where_the_area_is(near: Session, far: Session, topic: str) -> None:
    with far.declare_subscriber(topic, area=Circle(DUOMO, radius_m=2000)) as subscriber:
        wait_until_declared(near, subscriber)
        near.delete(topic, location=MONZA)
        near.delete(topic, location=DUOMO)
        (sample,) = collect(subscriber, 1)
        assert sample.kind == zenoh.SampleKind.DELETE
        assert sample.location == DUOMO


def test_a_sample_carries_everything(near: Session, far: Session, topic: str) -> None:
    with far.declare_subscriber(topic, area=Everywhere()) as subscriber:
        wait_until_declared(near, subscriber)
        near.put(
            topic,
            b"{}",
            location=DUOMO,
            content_encoding="application/json",
            attachment=b"mine",
            timestamp=near.zenoh.new_timestamp(),
        )
        near.put(topic, b"2", location=DUOMO)
        first, second = collect(subscriber, 2)
        assert first.attachment == b"mine"
        assert str(first.content_encoding) == "application/json"
        assert first.timestamp is not None
        assert first.source is not None
        assert second.source is not None
        assert first.source.id == second.source.id
        assert second.source.sequence == first.source.sequence + 1
        assert second.attachment is None
        assert "Sample(" in repr(first)


def test_a_plain_client_is_untouched_and_can_opt_in(
    near: Session, routers: list[Router], topic: str
) -> None:
    with plain_client(routers[-1]) as plain:
        everything = plain.declare_subscriber(f"{topic}/**")
        opted_in = plain.declare_subscriber(f"{topic}/@s2/**")
        wait_for_match(near.zenoh, f"{topic}/x")
        wait_for_match(near.zenoh, f"{topic}/@s2/1")
        near.put(topic, "located", location=DUOMO)
        near.zenoh.put(f"{topic}/plain", "plain")
        assert everything.recv().payload.to_string() == "plain"
        assert opted_in.recv().payload.to_string() == "located"


def test_a_plain_message_is_heard_by_the_whole_network(
    far: Session, routers: list[Router], topic: str
) -> None:
    with plain_client(routers[0]) as plain, far.declare_subscriber(topic) as subscriber:
        wait_for_match(plain, topic)
        plain.put(topic, "plain", attachment=b"something of its own")
        (sample,) = collect(subscriber, 1)
        assert sample.location is None
        assert sample.attachment == b"something of its own"


def test_forged_geo_contexts_are_dropped_and_counted(
    far: Session, routers: list[Router], topic: str
) -> None:
    with (
        plain_client(routers[0]) as plain,
        far.declare_subscriber(topic, area=Everywhere()) as subscriber,
    ):
        key = f"{topic}/{encode_place(DUOMO)[0]}"
        wait_for_match(plain, key)
        for attachment in (b"", b"\x01", b"\x02" * 40, b"\x01\x01" + b"\xff" * 28, None):
            plain.put(key, "forged", attachment=attachment)
        eventually(lambda: subscriber.counters.received == 5)
        eventually(lambda: subscriber.counters.malformed == 5)
        assert subscriber.try_recv() is None


@pytest.mark.parametrize("bad", ["", "a/@b/c", "@x", "a/@s2/1"])
def test_topics_with_verbatim_chunks_are_refused(near: Session, bad: str) -> None:
    for operation in (
        lambda: near.put(bad, b"", location=DUOMO),
        lambda: near.declare_subscriber(bad),
        lambda: near.declare_publisher(bad),
        lambda: near.get(bad),
        lambda: near.declare_queryable(bad),
    ):
        with pytest.raises((TopicError, zenoh.ZError)):
            operation()


def test_a_moving_publisher_is_heard_only_while_inside(
    near: Session, far: Session, topic: str
) -> None:
    with (
        far.declare_subscriber(topic, area=Circle(DUOMO, radius_m=1000)) as subscriber,
        near.declare_publisher(topic) as publisher,
    ):
        wait_until_declared(near, subscriber)
        steps = [destination(DUOMO, 90, metres) for metres in range(-2950, 3000, 100)]
        for step in steps:
            publisher.put("here", location=step)
        inside = [step for step in steps if step.distance_m(DUOMO) <= 1000]
        assert {s.location for s in collect(subscriber, len(inside))} == set(inside)
        assert subscriber.try_recv() is None


def test_closing_twice_and_using_a_closed_session(routers: list[Router], topic: str) -> None:
    from network import client

    session = client(routers[0])
    subscriber = session.declare_subscriber(topic, area=Everywhere())
    publisher = session.declare_publisher(topic, location=DUOMO)
    session.close()
    session.close()
    assert session.is_closed
    assert list(subscriber) == []
    for operation in (
        lambda: session.put(topic, b""),
        lambda: publisher.put(b""),
        subscriber.recv,
        lambda: session.declare_subscriber(topic),
    ):
        with pytest.raises(ClosedError):
            operation()


def test_a_session_closes_after_an_error_in_its_block(routers: list[Router], topic: str) -> None:
    from network import client

    def fail(session: Session) -> None:
        with session:
            session.declare_subscriber(topic, lambda _: None, area=Everywhere())
            raise RuntimeError("in the block")

    session = client(routers[0])
    with pytest.raises(RuntimeError, match="in the block"):
        fail(session)
    assert session.is_closed
    assert session.zenoh.is_closed()


def test_what_would_kill_zenoh_is_refused_and_the_session_lives_on(
    near: Session, far: Session, topic: str
) -> None:
    """Zenoh 1.x panics at an encoding over 255 bytes or a key over 65,535."""
    subscriber = far.declare_subscriber(topic, area=Circle(DUOMO, radius_m=2000))
    wait_until_declared(near, subscriber)
    publisher = near.declare_publisher(topic, location=DUOMO)
    long = "application/" + "x" * 300
    with pytest.raises(ContentEncodingError, match="at most 255 bytes, not 312"):
        near.put(topic, "x", location=DUOMO, content_encoding=long)
    with pytest.raises(ContentEncodingError):
        publisher.put("x", content_encoding=zenoh.Encoding(long))
    with pytest.raises(ContentEncodingError):
        near.declare_publisher(topic, content_encoding=long)
    with pytest.raises(TopicError, match="at most 60,000 bytes"):
        near.put("a/" * 35_000 + "b", "x", location=DUOMO)
    near.put(topic, "fine", location=DUOMO, content_encoding="x" * 255)
    assert texts(collect(subscriber, 1)) == ["fine"]


def test_sources_of_many_are_those_of_each(near: Session, far: Session, topic: str) -> None:
    """Whatever they come with: a place in the key or beside it, a fence, a blur, or nothing."""
    with far.declare_subscriber(topic, fenced=True) as subscriber:
        wait_until_declared(near, subscriber)
        fixed = near.declare_publisher(topic, location=DUOMO)
        for _ in range(3):
            fixed.put("fixed")
            near.put(topic, "anywhere", location=MONZA)
            near.put(topic, "fenced", location=DUOMO, geofence=Circle(DUOMO, radius_m=500))
            near.put(topic, "blurred", location=DUOMO, precision_m=1000)
            near.put(topic, "nowhere")
        samples = collect(subscriber, 15)
    for few in (samples, samples[1:2], [one for one in samples if one.text == "anywhere"]):
        names, numbers = SampleColumns.of(few).sources()
        expected = [sample.source or (None, None) for sample in few]
        assert list(zip(names, numbers, strict=True)) == expected
    assert sum(name is not None for name in SampleColumns.of(samples).sources()[0]) >= 12


def test_samples_that_come_together_are_what_each_is_alone(
    near: Session, far: Session, topic: str
) -> None:
    """Read in columns, and from whichever of them: from one place and from two, and in parts."""
    with far.declare_subscriber(topic, recovery=Recovery()) as subscriber:
        wait_until_declared(near, subscriber)
        places = [DUOMO, MONZA, *((DUOMO, MONZA)[number % 200 > 150] for number in range(600))]
        sent = [(str(number), place) for number, place in enumerate(places)]
        for text, place in sent[:2]:  # from then on both places are known
            near.put(topic, text, location=place)
        eventually(lambda: subscriber.counters.waiting == 2)
        arrivals, held, all_are_there = (
            far._receiving.arrivals,
            threading.Event(),
            threading.Event(),
        )

        def hold(_: list[object]) -> None:
            held.set()
            assert all_are_there.wait(60)

        arrivals.door(hold)("the reader waits here")
        assert held.wait(20)
        for text, place in sent[2:]:
            near.put(topic, text, location=place)
        eventually(lambda: arrivals._queue.qsize() == len(sent) - 2)
        all_are_there.set()
        batches: list[Sequence[Sample]] = []
        for batch in subscriber.batches():
            batches.append(batch)
            if sum(map(len, batches)) == len(sent):
                break
    got = [sample for batch in batches for sample in batch]
    assert [(sample.text, sample.location) for sample in got] == sent
    for batch in batches:
        columns = SampleColumns.of(batch)
        assert columns.payloads == [sample.payload.to_bytes() for sample in batch]
        assert columns[1:].places == [sample.place for sample in batch[1:]]
        assert list(zip(*columns.sources(), strict=True)) == [one.source for one in batch]
        assert [str(stamp) for stamp in columns.stamps] == [
            f"{time}/{clock}" for time, clock in zip(columns.times, columns.clocks, strict=True)
        ]
    assert any(isinstance(batch, SampleColumns) for batch in batches)
