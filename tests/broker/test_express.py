"""The short way through the broker gives, byte for byte, what the ordinary way gives."""

from __future__ import annotations

from typing import NamedTuple

import mqtt5
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_bench import QOS, Bench, Client
from property_examples import examples
from zonal.broker.access import User
from zonal.broker.express import Express
from zonal.broker.version_311 import variable
from zonal.trust import Action, Rule, Rules, Who

TOPICS = [
    "a",
    "$geo/at:45.46,9.19/a/b",
    "$geo/at:1/a",
    "a/b",
    "city/air",
    "$other/t",
    "$SYS/x",
    "größe",
    "x" * 300,
]
FILTERS = ["#", "a/#", "+/air", "a", "$other/#", "größe", "x" * 300]


class Wish(NamedTuple):
    client: int
    pattern: str
    qos: int
    identifier: int | None
    no_local: bool
    share: bool
    area: str | None


class Sent(NamedTuple):
    client: int
    topic: str
    size: int
    qos: int
    times: int
    retain: bool
    content_type: str | None
    location: str | None
    geofence: str | None


PLACES = [
    None, None, "45.46,9.19", "45.47,9.20", "POINT (9.19 45.46)", "52.5,13.4", "Kitchen",
    "95.46,9.19", "moving",
]  # fmt: skip
WAY = ["45.46,9.19", "45.47,9.20", "95.46,9.19", "45,4609.19"]
"""Where one that moves says it is; all are of one length, and not all are places."""
AREAS = [None, None, "CIRCLE (9.19 45.46, 5000)", "POLYGON ((9 45, 10 45, 10 46, 9 46, 9 45))"]

WISHES = st.builds(
    Wish, st.integers(0, 4), st.sampled_from(FILTERS), st.integers(0, 2),
    st.none() | st.none() | st.integers(1, 300), st.integers(0, 5).map(lambda n: n == 0),
    st.integers(0, 5).map(lambda n: n == 0), st.sampled_from(AREAS),
)  # fmt: skip
MESSAGES = st.builds(
    Sent, st.integers(0, 4), st.sampled_from(TOPICS), st.sampled_from([0, 1, 50, 200, 20_000]),
    st.integers(0, 2), st.integers(1, 4), st.integers(0, 5).map(lambda n: n == 0),
    st.sampled_from([None, None, None, "text/plain"]), st.sampled_from(PLACES),
    st.sampled_from(AREAS),
)  # fmt: skip


class OrdinaryWay(Express):
    def take(self, *_: object) -> None:
        """Leaves everything to the ordinary way."""


def benches() -> tuple[Bench, Bench]:
    ordinary = Bench()
    ordinary.broker.express = OrdinaryWay(ordinary.broker)
    return Bench(), ordinary


def clients(bench: Bench) -> list[Client]:
    """An ordinary one, one with aliases, one that takes little, one with a place, an older one."""
    return [
        bench.connected("plain", clean=False, expiry=60),
        bench.connected("aliases", topic_alias_max=2),
        bench.connected("small", max_packet_size=120, receive_max=2),
        bench.connected("placed", user_properties=[("location", "45.46,9.19")]),
        older(bench),
    ]


def older(bench: Bench) -> Client:
    """A client of version 3.1.1, whose packets are those of version 5 without properties."""
    client = bench.client()
    client.send_bytes(b"\x10\x11\x00\x04MQTT\x04\x02\x00\x00\x00\x05older")
    client.inbox = b""
    return client


def frame(first: int, body: bytes) -> bytes:
    return bytes((first,)) + variable(len(body)) + body


def text(value: str) -> bytes:
    return len(value.encode()).to_bytes(2) + value.encode()


def subscribed(client: Client, wish: Wish) -> None:
    pattern = f"$share/g/{wish.pattern}" if wish.share else wish.pattern
    if client.connection.version == 4:
        client.send_bytes(frame(0x82, b"\x00\x01" + text(pattern) + bytes((wish.qos,))))
        client.inbox = b""
        return
    client.subscribe(
        pattern, wish.qos, identifier=wish.identifier, no_local=wish.no_local and not wish.share,
        properties=[("geofence", wish.area)] if wish.area else None,
    )  # fmt: skip


def stream(sent: Sent, number: int) -> bytes:
    return b"".join(packet(sent, number, n) for n in range(sent.times))


def packet(sent: Sent, number: int, n: int) -> bytes:
    payload = bytes((65 + (number + n) % 20,)) * sent.size
    packet_id = 100 * (number + 1) + n
    if sent.client == 4:
        body = text(sent.topic) + (packet_id.to_bytes(2) if sent.qos else b"") + payload
        return frame(0x30 | sent.qos << 1 | sent.retain, body)
    location = WAY[(number + n) % len(WAY)] if sent.location == "moving" else sent.location
    places = [("location", location), ("geofence", sent.geofence)]
    return mqtt5.PublishPacket(
        sent.topic, payload, qos=QOS[sent.qos], packet_id=packet_id if sent.qos else None,
        retain=sent.retain, content_type=sent.content_type,
        user_properties=[(name, value) for name, value in places if value is not None],
    ).write()  # fmt: skip


@examples(200)
@given(st.lists(WISHES, max_size=5), st.lists(MESSAGES, max_size=6), st.data())
def test_both_ways_send_the_same_bytes(
    wishes: list[Wish], messages: list[Sent], data: st.DataObject
) -> None:
    ways = [(bench, clients(bench)) for bench in benches()]
    for wish in wishes:
        for _, group in ways:
            subscribed(group[wish.client], wish)
    for number, sent in enumerate(messages):
        whole = stream(sent, number)
        cut = data.draw(st.integers(0, len(whole)))
        for _, group in ways:
            for part in (whole[:cut], whole[cut:]):
                if not group[sent.client].is_closed:
                    group[sent.client].send_bytes(part)
    (short, ours), (ordinary, theirs) = ways
    assert [client.inbox for client in ours] == [client.inbox for client in theirs]
    assert [client.is_closed for client in ours] == [client.is_closed for client in theirs]
    for figure in ("received", "sent", "dropped", "unread_locations"):
        assert getattr(short.broker.counters, figure) == getattr(ordinary.broker.counters, figure)


@pytest.mark.parametrize("bench", benches(), ids=["short", "ordinary"])
def test_acknowledgements_in_a_row_free_the_receive_maximum(bench: Bench) -> None:
    reader = bench.connected("reader", receive_max=3)
    reader.subscribe("t", 1)
    writer = bench.connected("writer")
    for number in range(6):
        writer.publish("t", str(number).encode(), 1)
    first = reader.messages()
    assert [m.payload for m in first] == [b"0", b"1", b"2"]
    reader.send_bytes(b"".join(b"\x40\x02" + int(m.packet_id or 0).to_bytes(2) for m in first))
    assert reader.payloads() == [b"3", b"4", b"5"]


def test_a_new_subscription_counts_at_once() -> None:
    bench = Bench()
    writer = bench.connected("writer")
    writer.publish("a/b", b"nobody listens")
    reader = bench.connected("reader")
    reader.subscribe("a/#")
    writer.publish("a/b", b"now")
    assert reader.payloads() == [b"now"]
    reader.unsubscribe("a/#")
    writer.publish("a/b", b"too late")
    assert reader.payloads() == []


def test_a_rule_holds_for_plain_messages_too() -> None:
    bench = Bench()
    reader = bench.connected("reader")
    reader.subscribe("#")
    writer = bench.connected("writer")
    may = Rule(name="", who=Who(everyone=True), allows=True, actions=frozenset(Action),
               topics=("allowed/#",))  # fmt: skip
    user = User("writer", Rules((may,)))
    writer.connection.user = bench.broker.sessions["writer"].user = user
    writer.publish("forbidden/topic", b"1")
    writer.publish("allowed/topic", b"2")
    assert reader.payloads() == [b"2"]


def test_a_reader_that_does_not_read_loses_whole_messages_and_they_are_counted() -> None:
    bench = Bench()
    reader = bench.connected("reader")
    reader.subscribe("t")
    reader.connection.writable = False
    writer = bench.connected("writer")
    writer.send_bytes(mqtt5.PublishPacket("t", b"x" * 50).write() * 5)
    assert bench.broker.counters.dropped == 5
    assert reader.inbox == b""


def test_messages_that_differ_in_their_place_alone_are_handed_on_with_their_own() -> None:
    bench = Bench()
    readers = [bench.connected("plain"), bench.connected("aliases", topic_alias_max=1)]
    for reader in readers:
        reader.subscribe("t")
    places = ["45.46,9.19", "45.47,9.20", "45.46,9.19", "45.48,9.21"]
    packets = [
        mqtt5.PublishPacket("t", b"x" * 50, user_properties=[("location", place)]).write()
        for place in places
    ]
    bench.connected("writer").send_bytes(b"".join(packets))
    for reader in readers:
        assert [message.user_properties for message in reader.messages()] == [
            [("location", place)] for place in places
        ]


def test_messages_that_come_together_reach_each_geofence_once_and_in_order() -> None:
    short, ordinary = benches()
    inboxes = []
    for bench in (short, ordinary):
        near = bench.connected("near")
        near.subscribe("t", properties=[("geofence", "CIRCLE (9.19 45.46, 500)")])
        twice = bench.connected("twice")
        twice.subscribe("+", properties=[("geofence", "CIRCLE (9.19 45.46, 900)")])
        twice.subscribe("t", properties=[("geofence", "CIRCLE (9.19 45.47, 900)")])
        everything = bench.connected("everything")
        everything.subscribe("#")
        everything.subscribe("t", properties=[("geofence", "CIRCLE (9.19 45.46, 500)")])
        small = bench.connected("small", max_packet_size=20)
        small.subscribe("t", properties=[("geofence", "CIRCLE (9.19 45.46, 500)")])
        packets = [
            mqtt5.PublishPacket(
                "t", b"%03d" % number, user_properties=[("location", f"45.4{number % 10},9.19")]
            ).write()
            for number in range(200)
        ]
        writer = bench.connected("writer")
        for _ in range(3):
            writer.send_bytes(b"".join(packets))
        readers = (near, twice, everything, small)
        inboxes.append([reader.inbox for reader in readers])
        assert near.payloads() == [b"%03d" % number for number in range(6, 200, 10)] * 3
        assert bench.broker.counters.received == 600
    assert inboxes[0] == inboxes[1]
    assert short.broker.counters.sent == ordinary.broker.counters.sent
    assert short.broker.counters.dropped == ordinary.broker.counters.dropped == 60


def test_a_location_that_is_not_on_the_globe_is_counted_at_qos_0_too() -> None:
    bench = Bench()
    bench.connected("reader").subscribe("t")
    writer = bench.connected("writer")
    for place in ("90.0,180", "-90,-180.0", "90.1,9", "45,180.01", "91,9", "-45,-190"):
        writer.publish("t", b"x", properties=[("location", place)])
    assert bench.broker.counters.unread_locations == 4
