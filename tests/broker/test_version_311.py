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
