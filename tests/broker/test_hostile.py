"""Malformed and hostile bytes: the right reason code, a closed connection, nobody else touched."""

from __future__ import annotations

import mqtt5
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_bench import Bench
from broker_packets import connect, framed, publish, subscribe, text
from property_examples import examples
from zonal.broker import RemoteEnd, geocontext, topics
from zonal.broker.packet_reader import PacketReader
from zonal.broker.settings import Limits, Settings
from zonal.geo import Point
from zonal.index import filters

BAD_CONNECT = {
    "reserved flag": (connect(3), 0x81),
    "will QoS without will": (connect(2 | 8), 0x81),
    "will retain without will": (connect(2 | 32), 0x81),
    "will QoS 3": (connect(2 | 4 | 24, rest=b"\0" + text(b"w") + text(b"p")), 0x81),
    "user name flag without user name": (connect(0x82), 0x81),
    "password flag without password": (connect(0x42), 0x81),
    "bytes after the last field": (connect(rest=b"x"), 0x81),
    "client identifier not UTF-8": (connect(client_id=b"\xff"), 0x81),
    "client identifier a surrogate": (connect(client_id=b"\xed\xa0\x80"), 0x81),
    "client identifier with U+0000": (connect(client_id=b"a\0b"), 0x81),
    "user name not UTF-8": (connect(0x82, rest=text(b"\xc3")), 0x81),
    "receive maximum 0": (connect(properties=b"\x21\0\0"), 0x82),
    "receive maximum twice": (connect(properties=b"\x21\0\1\x21\0\1"), 0x82),
    "maximum packet size 0": (connect(properties=b"\x27\0\0\0\0"), 0x82),
    "request problem information 2": (connect(properties=b"\x17\2"), 0x82),
    "unknown property": (connect(properties=b"\x7f\0"), 0x81),
    "a PUBLISH property": (connect(properties=b"\x23\0\1"), 0x81),
    "user property not UTF-8": (connect(properties=b"\x26" + text(b"k") + text(b"\xff")), 0x81),
    "property cut short": (connect(properties=b"\x26\0\x10k"), 0x81),
    "authentication data without method": (connect(properties=b"\x16\0\1x"), 0x82),
    "authentication method": (connect(properties=b"\x15\0\1x"), 0x8C),
    "will on the broker's own topic": (
        connect(2 | 4, rest=b"\0" + text(b"$zonal/location") + text(b"45,9")),
        0x90,
    ),
    "will with a control character": (connect(2 | 4, rest=b"\0" + text(b"a\1") + text(b"")), 0x90),
    "version 6": (connect(level=6), 0x84),
    "another protocol": (connect(name=b"HTTP"), 0x84),
}


@pytest.mark.parametrize("case", BAD_CONNECT)
def test_a_bad_connect_is_answered_with_its_reason(case: str) -> None:
    data, code = BAD_CONNECT[case]
    client = Bench().client()
    client.send_bytes(data)
    assert client.is_closed
    answers = client.packets()
    if case == "another protocol" or answers:
        assert [int(a.reason_code) for a in answers] == [code]


def test_a_bad_version_5_connect_always_gets_an_answer() -> None:
    for case, (data, code) in BAD_CONNECT.items():
        client = Bench().client()
        client.send_bytes(data)
        assert client.refused_with() == code, case


BAD_PACKETS = {
    "type 0": (b"\x00\x00", 0x81),
    "CONNACK from a client": (b"\x20\x03\0\0\0", 0x82),
    "SUBACK from a client": (b"\x90\x04\0\1\0\0", 0x82),
    "PINGRESP from a client": (b"\xd0\x00", 0x82),
    "AUTH that nobody asked for": (b"\xf0\x00", 0x82),
    "PINGREQ with flags": (b"\xc1\x00", 0x81),
    "PINGREQ with a body": (b"\xc0\x01\0", 0x81),
    "remaining length of five bytes": (b"\x30\xff\xff\xff\xff\x01", 0x81),
    "remaining length longer than needed": (b"\xc0\x80\x00", 0x81),
    "PUBLISH with QoS 3": (publish(0x36, packet_id=b"\0\1"), 0x81),
    "PUBLISH with packet identifier 0": (publish(0x32, packet_id=b"\0\0"), 0x82),
    "PUBLISH with DUP and QoS 0": (publish(0x38), 0x81),
    "PUBLISH to a/#": (publish(topic=b"a/#"), 0x90),
    "PUBLISH to +": (publish(topic=b"+"), 0x90),
    "PUBLISH to nothing": (publish(topic=b""), 0x82),
    "PUBLISH with an unknown alias": (publish(topic=b"", properties=b"\x23\0\1"), 0x82),
    "PUBLISH with alias 0": (publish(properties=b"\x23\0\0"), 0x94),
    "PUBLISH with too high an alias": (publish(properties=b"\x23\xff\xff"), 0x94),
    "PUBLISH with a control character in the topic": (publish(topic=b"a\x1fb"), 0x90),
    "PUBLISH with a C1 control character": (publish(topic="a\x80b".encode()), 0x90),
    "PUBLISH with a non-character in the topic": (publish(topic="a\uffffb".encode()), 0x90),
    "PUBLISH with U+0000 in the topic": (publish(topic=b"a\0"), 0x81),
    "PUBLISH with a topic that is not UTF-8": (publish(topic=b"\xff\xfe"), 0x81),
    "PUBLISH with a subscription identifier": (publish(properties=b"\x0b\1"), 0x82),
    "PUBLISH with subscription identifier 0": (publish(properties=b"\x0b\0"), 0x82),
    "PUBLISH with payload format 2": (publish(properties=b"\1\2"), 0x81),
    "PUBLISH with payload format twice": (publish(properties=b"\1\1\1\1"), 0x82),
    "PUBLISH with a wildcard response topic": (publish(properties=b"\x08" + text(b"#")), 0x82),
    "PUBLISH with a bad user property": (publish(properties=b"\x26\0\1\xff\0\1b"), 0x81),
    "PUBLISH with U+0000 in a user property": (publish(properties=b"\x26\0\1\0\0\1b"), 0x81),
    "PUBLISH with properties beyond its end": (framed(0x30, text(b"t") + b"\x05"), 0x81),
    "PUBLISH cut short": (framed(0x30, b"\0\x10t"), 0x81),
    "PUBLISH with a receive maximum": (publish(properties=b"\x21\0\1"), 0x81),
    "SUBSCRIBE with flags 0": (subscribe(0x80), 0x81),
    "SUBSCRIBE with packet identifier 0": (subscribe(packet_id=b"\0\0"), 0x82),
    "SUBSCRIBE without a filter": (subscribe(filters=b""), 0x82),
    "SUBSCRIBE with reserved bits": (subscribe(filters=text(b"t") + b"\x40"), 0x81),
    "SUBSCRIBE with QoS 3": (subscribe(filters=text(b"t") + b"\x03"), 0x81),
    "SUBSCRIBE with retain handling 3": (subscribe(filters=text(b"t") + b"\x30"), 0x81),
    "SUBSCRIBE with no-local and $share": (subscribe(filters=text(b"$share/g/t") + b"\4"), 0x82),
    "SUBSCRIBE with identifier 0": (subscribe(properties=b"\x0b\0"), 0x82),
    "SUBSCRIBE with two identifiers": (subscribe(properties=b"\x0b\1\x0b\2"), 0x82),
    "SUBSCRIBE with a filter that is not UTF-8": (subscribe(filters=text(b"\xff") + b"\0"), 0x81),
    "SUBSCRIBE without options": (subscribe(filters=text(b"t")), 0x81),
    "UNSUBSCRIBE without a filter": (framed(0xA2, b"\0\1\0"), 0x82),
    "UNSUBSCRIBE with flags 0": (framed(0xA0, b"\0\1\0" + text(b"t")), 0x81),
    "UNSUBSCRIBE with packet identifier 0": (framed(0xA2, b"\0\0\0" + text(b"t")), 0x82),
    "PUBACK with packet identifier 0": (framed(0x40, b"\0\0"), 0x82),
    "PUBACK with an unknown code": (framed(0x40, b"\0\1\x55"), 0x81),
    "PUBREL with flags 0": (framed(0x60, b"\0\1"), 0x81),
    "PUBREL with packet identifier 0": (framed(0x62, b"\0\0"), 0x82),
    "PUBACK with a bad reason string": (framed(0x40, b"\0\1\0\4\x1f\0\1\xff"), 0x81),
    "DISCONNECT with an unknown code": (framed(0xE0, b"\x55"), 0x81),
    "DISCONNECT with flags": (b"\xe1\x00", 0x81),
    "DISCONNECT with a server's code": (framed(0xE0, b"\x8e"), 0x82),
    "DISCONNECT with a server reference": (framed(0xE0, b"\0\4\x1c\0\1a"), 0x82),
    "CONNECT again": (connect(), 0x82),
}


@pytest.mark.parametrize("case", BAD_PACKETS)
def test_a_bad_packet_closes_its_connection_and_no_other(case: str) -> None:
    data, code = BAD_PACKETS[case]
    bench = Bench()
    other = bench.connected("other")
    other.subscribe("fine")
    client = bench.connected("bad")
    client.send_bytes(data)
    assert client.refused_with() == code
    other.publish("fine", b"still here")
    assert other.payloads() == [b"still here"]


@pytest.mark.parametrize("case", BAD_PACKETS)
def test_a_bad_packet_is_refused_however_it_is_cut(case: str) -> None:
    data, code = BAD_PACKETS[case]
    client = Bench().connected("bad")
    for position in range(len(data)):
        client.send_bytes(data[position : position + 1])
    assert client.refused_with() == code


def test_a_packet_too_large_is_refused_by_its_header_alone() -> None:
    bench = Bench(Settings(limits=Limits(maximum_packet_size=1000), sys_interval=0))
    client = bench.connected("bad")
    client.send_bytes(b"\x30\xff\xff\xff\x7f")
    assert client.refused_with() == 0x95


def test_a_stranger_can_only_have_the_connect_limit_buffered() -> None:
    bench = Bench(Settings(limits=Limits(connect_packet_size=500), sys_interval=0))
    stranger = bench.client()
    stranger.send_bytes(b"\x10\xff\xff\x03" + b"x" * 100)
    assert stranger.is_closed
    fits = bench.client()
    fits.send_bytes(b"\x10\xf0\x03" + b"x" * 100)
    assert not fits.is_closed


def test_whatever_arrives_the_broker_and_its_other_clients_live_on() -> None:
    @examples(400)
    @given(st.binary(max_size=60), st.booleans(), st.sampled_from([0x10, 0x30, 0x32, 0x82, 0xA2]))
    def storm(noise: bytes, known: bool, first: int) -> None:
        bench = Bench()
        witness = bench.connected("witness")
        witness.subscribe("w")
        client = bench.connected("bad") if known else bench.client(RemoteEnd("noise"))
        client.send_bytes(framed(first, noise) + noise)
        witness.publish("w", b"alive")
        assert witness.payloads() == [b"alive"]

    storm()


@examples(150)
@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 2)), max_size=6), st.data())
def test_packets_come_out_as_they_went_in_however_the_stream_is_cut(
    shapes: list[tuple[int, int]], data: st.DataObject
) -> None:
    levels = (mqtt5.QoS.AT_MOST_ONCE, mqtt5.QoS.AT_LEAST_ONCE, mqtt5.QoS.EXACTLY_ONCE)
    packets = [
        mqtt5.PublishPacket("t", b"x" * size, qos=levels[qos], packet_id=3 if qos else None)
        for size, qos in shapes
    ]
    stream = connect() + b"".join(packet.write() for packet in packets)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    reader = PacketReader(10_000)
    seen = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        reader.feed(stream[start:end])
        while (packet := reader.next()) is not None:
            seen.append(packet)
    assert [p.write() for p in seen[1:]] == [p.write() for p in packets]


def test_long_filters_and_locations_are_not_remembered() -> None:
    client = Bench().connected("a")
    client.subscribe("short")
    filters_, locations = (
        filters._read_mqtt_filter.cache_info(),
        geocontext._read_location.cache_info(),
    )
    for number in range(20):
        client.subscribe(f"{number}/" + "x" * 5000)
        client.publish("$zonal/location", f"45.5{' ' * 200},9.{number}".encode())
    assert client.bench.broker.sessions["a"].location == Point(45.5, 9.19)
    assert filters._read_mqtt_filter.cache_info().currsize == filters_.currsize
    assert geocontext._read_location.cache_info().currsize == locations.currsize


def test_an_idle_connection_holds_no_buffer() -> None:
    client = Bench().connected("a")
    client.publish("t", b"x" * 5000)
    assert client.connection.reader.data == b""


def test_long_topics_and_geofences_are_not_remembered() -> None:
    bench = Bench(Settings(limits=Limits(maximum_vertices=5_000), sys_interval=0))
    reader = bench.connected("reader", user_properties=[("location", "45.5,9.5")])
    reader.subscribe("#")
    writer = bench.connected("writer")
    ring = ", ".join(f"{9 + n / 2000} 45" for n in range(2000))
    fence = f"POLYGON (({ring}, 10 46, 9 46, 9 45))"
    before = topics._valid_topic.cache_info().currsize, geocontext._read_geofence.cache_info()
    for number in range(20):
        writer.publish(f"{number}/" + "x" * 5000, b"1")
        writer.publish("t", b"2", properties=[("geofence", fence), ("n", str(number))])
    assert len(reader.payloads()) == 40
    assert topics._valid_topic.cache_info().currsize - before[0] <= 1
    assert geocontext._read_geofence.cache_info().currsize == before[1].currsize
    assert len(bench.broker.distributor.by_topic) <= 1
