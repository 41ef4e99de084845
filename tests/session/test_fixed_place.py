"""A publisher that stays at its place: the key says it all, the messages carry nothing more."""

from __future__ import annotations

import base64
import struct
from typing import Any, Literal

import pytest
import zenoh
from hypothesis import given
from hypothesis import strategies as st

import zonal
from network import client, collect, eventually, plain_client, texts, wait_until_declared
from zonal.errors import LocationKeyError
from zonal.geo import Box, Circle, Everywhere, Point
from zonal.keys import encode_place
from zonal.keys.compact_point import exact_chunk, read_exact_chunk
from zonal.session import Memory, Router, Session

MILANO = Point(45.4642, 9.19)
AREA = Circle(MILANO, radius_m=2000)
ENCODINGS = ("s2", "mgrs")
_FAR_NORTH = struct.pack("<iiQ", 2_000_000_000, 0, 7)
NORTH_OF_THE_POLE = "=" + base64.urlsafe_b64encode(_FAR_NORTH).decode().rstrip("=")

points = st.builds(
    Point,
    st.floats(-80, 84, allow_nan=False),
    st.floats(-180, 180, exclude_max=True, allow_nan=False),
)
rounded = points.map(lambda p: Point(round(p.lat, 7), round(p.lon, 7)))


@given(points | rounded, st.integers(0, 2**64 - 1), st.sampled_from(ENCODINGS))
def test_the_chunk_gives_point_and_source_back_exactly(
    point: Point, origin: int, encoding: str
) -> None:
    expression = encode_place(point, encoding)[0].expression
    chunk = exact_chunk(point, origin, expression)
    assert read_exact_chunk(chunk, expression) == (point, origin)
    zenoh.KeyExpr(f"{expression}/{chunk}")  # and it is a valid chunk


@pytest.mark.parametrize(
    "chunk",
    [
        "=",
        "=A",
        "=AAAAA",
        "=****",
        "=AAA",
        "=YAiV",
        "=" + "A" * 11,
        "=" + "A" * 40,
        NORTH_OF_THE_POLE,
    ],
)
def test_other_chunks_are_refused(chunk: str) -> None:
    with pytest.raises(LocationKeyError):
        read_exact_chunk(chunk, encode_place(MILANO)[0].expression)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_nothing_but_the_payload_and_a_stamp_travels(
    near: Session, far: Session, routers: list[Router], topic: str, encoding: str
) -> None:
    received: list[zenoh.Sample] = []
    with plain_client(routers[-1]) as plain:
        plain.declare_subscriber(f"{topic}/@{encoding}/**", received.append)
        subscriber = far.declare_subscriber(topic, area=AREA, encoding=encoding)
        publisher = near.declare_publisher(topic, location=MILANO, encoding=encoding)
        wait_until_declared(near, subscriber)
        publisher.put(b"1")
        (sample,) = collect(subscriber, 1)
        eventually(lambda: received)
    assert received[0].attachment is None
    assert sample.location == MILANO
    assert (sample.geofence, sample.attachment, sample.key) == (None, None, topic)
    assert sample.timestamp is not None
    assert sample.source is not None
    assert int(sample.source.id, 16) == int(str(near.zenoh.zid()), 16) & (2**64 - 1)


def test_a_blurred_numbered_or_fenced_message_is_not_said_by_its_key_alone(
    near: Session, far: Session, topic: str
) -> None:
    subscriber = far.declare_subscriber(topic, area=AREA, fenced=True)
    wait_until_declared(near, subscriber)
    for options in (
        {"precision_m": 500.0},
        {"memory": Memory(cache=4)},
        {"geofence": Box(45, 9, 46, 10)},
    ):
        with near.declare_publisher(topic, location=MILANO, **options) as publisher:  # type: ignore[arg-type]
            publisher.put("x")
            (sample,) = collect(subscriber, 1)
        assert "/=" not in str(sample.zenoh.key_expr)
        assert sample.is_blurred == ("precision_m" in options)
        assert (sample.geofence is not None) == ("geofence" in options)


def test_options_of_a_call_and_of_the_publisher_arrive(
    near: Session, far: Session, topic: str
) -> None:
    subscriber = far.declare_subscriber(topic, area=Everywhere())
    wait_until_declared(near, subscriber)
    elsewhere = Point(45.5, 9.25)
    publisher = near.declare_publisher(
        topic, location=MILANO, content_encoding=zenoh.Encoding.APPLICATION_JSON
    )
    publisher.put("1")
    publisher.put("2", attachment=b"mine")
    publisher.put("3", content_encoding="text/plain")
    publisher.put("4", location=elsewhere)
    publisher.delete(attachment=b"gone")
    samples = {s.payload.to_string(): s for s in collect(subscriber, 5)}
    assert str(samples["1"].content_encoding) == "application/json"
    assert samples["2"].attachment == b"mine"
    assert str(samples["2"].content_encoding) == "application/json"
    assert str(samples["3"].content_encoding) == "text/plain"
    assert samples["4"].location == elsewhere
    gone = samples[""]
    assert (gone.kind, gone.location, gone.attachment) == (
        zenoh.SampleKind.DELETE,
        MILANO,
        b"gone",
    )
    assert str(gone.zenoh.key_expr) == str(samples["1"].zenoh.key_expr)


def test_a_client_leaves_stamps_to_its_router_and_keeps_its_name(
    near: Session, far: Session, routers: list[Router], topic: str
) -> None:
    subscriber = far.declare_subscriber(topic, area=AREA)
    publisher = near.declare_publisher(topic, location=MILANO)
    wait_until_declared(near, subscriber)
    for number in range(3):
        publisher.put(str(number))
    samples = collect(subscriber, 3)
    assert {str(sample.timestamp).partition("/")[2] for sample in samples} == {
        str(routers[0].zenoh.zid())
    }
    sources = [sample.source for sample in samples if sample.source is not None]
    assert {source.id for source in sources} == {str(near.zenoh.zid())}
    sequences = [source.sequence for source in sources]
    assert sequences == sorted(set(sequences))
    assert len(sequences) == 3


@pytest.mark.parametrize("first", ["publisher", "subscriber"])
def test_a_client_that_hears_itself_knows_its_messages(
    near: Session, topic: str, first: str
) -> None:
    """No router stamps what does not leave the session."""
    if first == "publisher":
        publisher = near.declare_publisher(topic, location=MILANO)
        subscriber = near.declare_subscriber(topic, area=AREA)
    else:
        subscriber = near.declare_subscriber(topic, area=AREA)
        publisher = near.declare_publisher(topic, location=MILANO)
    publisher.put("1")
    publisher.delete()
    samples = collect(subscriber, 2)
    for sample in samples:
        assert sample.timestamp is not None
        assert sample.source is not None
        assert sample.source.id == str(near.zenoh.zid())
    assert len({sample.source for sample in samples}) == 2


@pytest.mark.parametrize("mode", ["peer", "router"])
def test_others_than_clients_have_a_clock_of_their_own(
    routers: list[Router], far: Session, topic: str, mode: Literal["peer", "router"]
) -> None:
    config = zonal.config(mode, connect=routers[0].endpoints, listen=["tcp/127.0.0.1:0"])
    with zonal.open(config) as session:
        subscriber = far.declare_subscriber(topic, area=AREA)
        wait_until_declared(session, subscriber)
        session.declare_publisher(topic, location=MILANO).put("1")
        (sample,) = collect(subscriber, 1)
        assert str(sample.timestamp).partition("/")[2] == str(session.zenoh.zid())


def test_a_session_without_stamps_numbers_its_messages(
    routers: list[Router], far: Session, topic: str
) -> None:
    config = zonal.config(
        "client", connect=routers[0].endpoints, settings={"timestamping/enabled": False}
    )
    with zonal.open(config) as session:
        subscriber = far.declare_subscriber(topic, area=AREA)
        wait_until_declared(session, subscriber)
        publisher = session.declare_publisher(topic, location=MILANO)
        publisher.put("x")
        (sample,) = collect(subscriber, 1)
    assert sample.location == MILANO
    assert sample.source is not None
    assert sample.source.sequence < 2**32


def test_a_key_with_a_broken_chunk_is_counted_as_malformed(
    routers: list[Router], far: Session, topic: str
) -> None:
    subscriber = far.declare_subscriber(topic, area=AREA)
    expression = encode_place(MILANO)[0].expression
    with client(routers[0]) as session:
        wait_until_declared(session, subscriber)
        session.zenoh.put(f"{topic}/{expression}/=nonsense!", b"x")
        session.put(topic, "good", location=MILANO)
        assert texts(collect(subscriber, 1)) == ["good"]
    assert subscriber.counters.malformed == 1


@pytest.mark.parametrize("reading", ["iterating", "callback"])
def test_a_burst_arrives_whole_and_in_order_however_it_is_read(
    near: Session, far: Session, topic: str, reading: str
) -> None:
    """So many that they get a lane, whose first messages come by the queue as well."""
    from zonal.session import Overflow

    count = 20_000
    got: list[int] = []

    def take(sample: Any) -> None:
        got.append(int(sample.payload.to_bytes()))

    handler = take if reading == "callback" else None
    subscriber = far.declare_subscriber(topic, handler, area=AREA, overflow=Overflow.BLOCK)
    wait_until_declared(near, subscriber)
    publisher = near.declare_publisher(
        topic, location=MILANO, congestion_control=zenoh.CongestionControl.BLOCK
    )
    for number in range(count):
        publisher.put(str(number).encode())
    if reading == "iterating":
        for sample in subscriber:
            take(sample)
            if len(got) == count:
                break
    eventually(lambda: len(got) == count)
    assert got == list(range(count))
    counters = subscriber.counters
    assert (counters.received - counters.duplicates, counters.delivered) == (count, count)
    assert counters.overflowed == counters.filtered_at_edge == 0
