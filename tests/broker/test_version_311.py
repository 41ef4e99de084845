"""MQTT 3.1.1 clients are served too."""

from __future__ import annotations

import mqtt5
import pytest

from broker_bench import Bench, Client


def text(value: str) -> bytes:
    return len(value.encode()).to_bytes(2, "big") + value.encode()


def connect(client_id: str = "old", flags: int = 2, rest: bytes = b"") -> bytes:
    body = text("MQTT") + bytes((4, flags, 0, 60)) + text(client_id) + rest
    return bytes((0x10, len(body))) + body


def old(bench: Bench, client_id: str = "old", flags: int = 2, rest: bytes = b"") -> Client:
    client = bench.client()
    client.send_bytes(connect(client_id, flags, rest))
    assert client.inbox[:2] == b"\x20\x02", client.inbox
    assert client.inbox[3] == 0
    client.inbox = client.inbox[4:]
    return client


def test_publish_and_subscribe_between_the_versions() -> None:
    bench = Bench()
    client, new = old(bench), bench.connected("new")
    client.send_bytes(b"\x82\x08\0\1" + text("t/#") + b"\1")
    assert client.inbox == b"\x90\x03\0\1\1"
    client.inbox = b""
    new.publish("t/x", b"hi", 1, properties=[("k", "v")], content_type="text")
    assert client.inbox == b"\x32\x09" + text("t/x") + b"\0\1hi"
    client.send_bytes(b"\x40\x02\0\1")
    new.one(mqtt5.PubAckPacket)
    new.subscribe("u", 2)
    client.send_bytes(b"\x34\x06" + text("u") + b"\0\7!")
    assert client.inbox[-4:] == b"\x50\x02\0\7"
    assert new.payloads() == [b"!"]
    client.inbox = b""
    client.send_bytes(b"\x62\x02\0\7")
    assert client.inbox == b"\x70\x02\0\7"


def test_of_overlapping_subscriptions_the_highest_qos_counts() -> None:
    """MQTT-3.3.5-1."""
    bench = Bench()
    client = old(bench)
    client.send_bytes(b"\x82\x0a\0\1" + text("#") + b"\0" + text("t") + b"\1")
    client.inbox = b""
    bench.connected("other").publish("t", b"x", 1)
    assert client.inbox == b"\x32\x06" + text("t") + b"\0\1x"


def test_a_session_continues_without_clean_session() -> None:
    bench = Bench()
    client = old(bench, flags=0)
    client.send_bytes(b"\x82\x06\0\1" + text("t") + b"\1")
    client.hang_up()
    bench.connected("new").publish("t", b"x", 1)
    client = bench.client()
    client.send_bytes(connect(flags=0))
    assert client.inbox[:4] == b"\x20\x02\1\0"
    assert client.inbox[4:] == b"\x32\x06" + text("t") + b"\0\1x"


def test_clean_session_keeps_nothing() -> None:
    bench = Bench()
    old(bench, flags=2).hang_up()
    assert bench.broker.sessions == {}


def test_an_empty_identifier_needs_a_clean_session() -> None:
    client = Bench().client()
    client.send_bytes(connect("", 0))
    assert client.inbox == b"\x20\x02\0\2"
    assert client.is_closed
    assert not old(Bench(), "", 2).is_closed


def test_a_will() -> None:
    bench = Bench()
    watcher = bench.connected("w")
    watcher.subscribe("gone")
    old(bench, "x", 0x06, text("gone") + text("bye")).hang_up()
    assert watcher.payloads() == [b"bye"]


@pytest.mark.parametrize(
    "data",
    [
        b"\x36\x05" + text("t") + b"\0\1",
        b"\x30\x02\0\0",
        b"\x82\x06\0\1" + text("t") + b"\3",
        b"\x82\x02\0\1",
        b"\x82\x07\0\1" + text("a#") + b"\0",
        b"\xf0\x00",
        b"\x30\x03" + text("#"),
        b"\x32\x05" + text("t") + b"\0\0",
        b"\x30\x04" + b"\0\2\xff\xff",
        b"\xc0\x01x",
    ],
)
def test_bad_packets_close_the_connection_without_a_word(data: bytes) -> None:
    client = old(Bench())
    client.send_bytes(data)
    assert client.is_closed
    assert client.inbox == b""


def test_unsubscribing_and_pinging() -> None:
    client = old(Bench())
    client.send_bytes(b"\xa2\x05\0\5" + text("t") + b"\xc0\x00\xe0\x00")
    assert client.inbox == b"\xb0\x02\0\5\xd0\x00"
    assert client.is_closed


def test_a_takeover_closes_a_311_connection_silently() -> None:
    bench = Bench()
    client = old(bench)
    bench.connected("old")
    assert client.is_closed
    assert client.inbox == b""


def test_a_qos_publication_to_a_forbidden_topic_is_acknowledged_and_goes_nowhere() -> None:
    """MQTT-3.3.5-2."""
    bench = Bench()
    watcher = bench.connected("w")
    watcher.subscribe("$SYS/#")
    client = old(bench)
    client.send_bytes(b"\x32\x0b" + text("$SYS/x") + b"\0\1!")
    assert client.inbox == b"\x40\x02\0\1"
    assert watcher.payloads() == []


def test_packets_of_version_5_are_unchanged_by_the_presence_of_older_clients() -> None:
    bench = Bench()
    client, new = old(bench), bench.connected("new")
    client.send_bytes(b"\x82\x06\0\1" + text("t") + b"\0")
    new.subscribe("t", identifier=3)
    new.publish("t", b"x", content_type="c")
    message = new.one(mqtt5.PublishPacket)
    assert (message.content_type, message.subscription_ids) == ("c", [3])


@pytest.mark.parametrize(
    "data",
    [
        connect(flags=3),  # the reserved flag
        connect(flags=2 | 4 | 24, rest=text("w") + text("p")),  # will QoS 3
        connect(flags=2 | 8),  # will QoS without a will
        connect(flags=2 | 64, rest=text("secret")),  # a password without a user name
        connect(flags=2 | 128),  # a user name that is not there
        connect(rest=b"x"),
        connect(flags=2 | 4, rest=text("a/#") + text("p")),
        connect("a\0b"),
    ],
)
def test_a_bad_connect_is_closed_without_an_answer(data: bytes) -> None:
    """3.1.1, 3.1.4: a CONNECT that breaks the protocol gets no CONNACK."""
    client = Bench().client()
    client.send_bytes(data)
    assert client.is_closed
    assert client.inbox == b""


@pytest.mark.parametrize("pattern", ["", "a#", "a/#/b", "a+", "a\x01b"])
@pytest.mark.parametrize("first", [0x82, 0xA2])
def test_a_filter_that_is_none_closes_the_connection(pattern: str, first: int) -> None:
    """3.1.1, MQTT-4.7.1-2 and MQTT-4.8.0-1."""
    client = old(Bench())
    body = b"\0\1" + text(pattern) + (b"\0" if first == 0x82 else b"")
    client.send_bytes(bytes((first, len(body))) + body)
    assert client.is_closed
    assert client.inbox == b""


def test_any_number_of_qos_2_messages_may_be_open() -> None:
    client = old(Bench())
    for number in range(1, 400):
        client.send_bytes(b"\x34\x05" + text("u") + number.to_bytes(2))
    assert not client.is_closed
    assert len(client.inbox) == 4 * 399


# Version 3.1


def connect_31(client_id: str = "older", flags: int = 2, level: int = 3) -> bytes:
    body = text("MQIsdp") + bytes((level, flags, 0, 60)) + text(client_id)
    return bytes((0x10, len(body))) + body


def test_version_31_is_served() -> None:
    bench = Bench()
    client = bench.client()
    client.send_bytes(connect_31(flags=0))
    assert client.inbox == b"\x20\x02\0\0"
    client.inbox = b""
    client.send_bytes(b"\x82\x06\0\1" + text("t") + b"\1")
    assert client.inbox == b"\x90\x03\0\1\1"
    client.hang_up()
    bench.connected("new").publish("t", b"x", 1)
    client = bench.client()
    client.send_bytes(connect_31(flags=0))
    assert client.inbox[:4] == b"\x20\x02\0\0"  # the byte is reserved, though there is a session
    assert client.inbox[4:] == b"\x32\x06" + text("t") + b"\0\1x"


def test_a_31_client_may_announce_a_user_name_and_leave_it_out() -> None:
    client = Bench().client()
    client.send_bytes(connect_31(flags=0xC2))
    assert client.inbox == b"\x20\x02\0\0"


def test_a_31_client_needs_an_identifier() -> None:
    client = Bench().client()
    client.send_bytes(connect_31(""))
    assert client.inbox == b"\x20\x02\0\2"
    assert client.is_closed


@pytest.mark.parametrize(
    "data", [connect_31(level=4), connect().replace(b"MQTT\4", b"MQTT\3"), connect_31(level=0x83)]
)
def test_other_old_versions_are_refused_so_that_they_can_read_it(data: bytes) -> None:
    client = Bench().client()
    client.send_bytes(data)
    assert client.inbox == b"\x20\x02\0\1"
    assert client.is_closed
