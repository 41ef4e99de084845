"""Normative statements of MQTT 5 about servers, by their numbers, where no other test has them."""

from __future__ import annotations

import mqtt5
import pytest

from broker_bench import QOS, Bench, Client
from broker_packets import connect, framed, publish, subscribe, text

REASON = mqtt5.DisconnectReasonCode


def will(topic: str = "gone", **options: object) -> mqtt5.Will:
    return mqtt5.Will(topic, payload=b"bye", **options)  # type: ignore[arg-type]


def listener(bench: Bench, pattern: str = "#", qos: int = 0, **options: object) -> Client:
    client = bench.connected("listener")
    client.subscribe(pattern, qos, **options)  # type: ignore[arg-type]
    return client


# Data representation


def test_a_byte_order_mark_is_part_of_the_text() -> None:
    """MQTT-1.5.4-3."""
    bench = Bench()
    with_mark = listener(bench, "\ufeffa")
    bench.connected("p").send_bytes(publish(topic="\ufeffa".encode(), payload=b"x"))
    (message,) = with_mark.messages()
    assert message.topic == "\ufeffa"
    bench.connected("q").publish("a", b"y")
    assert with_mark.messages() == []


def test_user_properties_keep_their_order_and_their_doubles() -> None:
    """MQTT-3.3.2-18, MQTT-3.1.3-10."""
    pairs = [("b", "1"), ("a", "2"), ("b", "1"), ("", "")]
    bench = Bench()
    heard = listener(bench)
    bench.connected("p").publish("t", b"", properties=pairs)
    bench.connected("q", will=will(user_properties=pairs)).hang_up()
    assert [m.user_properties for m in heard.messages()] == [pairs, pairs]


# CONNECT and CONNACK


def test_a_password_needs_no_user_name() -> None:
    """3.1.2.9: version 5 allows it, 3.1.1 did not."""
    client = Bench().client()
    client.send_bytes(connect(0x42, rest=text(b"secret")))
    assert int(client.one(mqtt5.ConnAckPacket).reason_code) == 0


@pytest.mark.parametrize("name", ["a", "0123456789abcdefghijklm", "Z" * 300, "größe/+#$ 1"])
def test_any_client_identifier_is_taken(name: str) -> None:
    """MQTT-3.1.3-5."""
    assert Bench().connected(name).connection.client_id == name


def test_a_refusal_never_says_that_a_session_is_present() -> None:
    """MQTT-3.2.2-6."""
    bench = Bench()
    bench.connected("c", expiry=60).hang_up()
    client = bench.client()
    client.send_bytes(connect(0, client_id=b"c", properties=b"\x15\0\1x"))
    answer = client.one(mqtt5.ConnAckPacket)
    assert (int(answer.reason_code), answer.session_present) == (0x8C, False)


def test_packets_right_behind_connect_are_processed() -> None:
    """3.1.4: clients may send before CONNACK."""
    client = Bench().client()
    client.send_bytes(connect() + subscribe() + publish(payload=b"x") + b"\xc0\0")
    kinds = [type(p) for p in client.packets()]
    assert kinds == [
        mqtt5.ConnAckPacket, mqtt5.SubAckPacket, mqtt5.PublishPacket, mqtt5.PingRespPacket,
    ]  # fmt: skip


@pytest.mark.parametrize(("qos", "retain"), [(0, False), (1, True), (2, False)])
def test_a_will_is_published_with_its_qos_and_retain_flag(qos: int, retain: bool) -> None:
    """MQTT-3.1.2-14, MQTT-3.1.2-15."""
    bench = Bench()
    heard = listener(bench, "gone", 2, retain_as_published=True)
    bench.connected("c", will=will(qos=QOS[qos], retain=retain)).hang_up()
    assert [(int(m.qos), m.retain) for m in heard.messages()] == [(qos, retain)]
    later = bench.connected("later")
    later.subscribe("gone")
    assert len(later.messages()) == int(retain)


def test_starting_clean_ends_the_session_and_so_sends_its_delayed_will() -> None:
    """MQTT-3.1.3-9 with 3.1.2.5: the will is due when the session ends."""
    bench = Bench()
    heard = listener(bench)
    bench.connected("c", expiry=60, will=will(will_delay_interval=30)).hang_up()
    assert heard.payloads() == []
    bench.connected("c", clean=True)
    assert heard.payloads() == [b"bye"]


# What a client can take


@pytest.mark.parametrize("size", range(1, 50))
@pytest.mark.parametrize("name", [b"", b"named"])
def test_no_packet_is_larger_than_the_client_takes(size: int, name: bytes) -> None:
    """MQTT-3.1.2-24: whatever is due, and however it could be shortened.

    MQTT-3.4.2-2, MQTT-3.4.2-3, MQTT-3.5.2-2, MQTT-3.5.2-3, MQTT-3.6.2-2, MQTT-3.6.2-3,
    MQTT-3.7.2-2, MQTT-3.7.2-3, MQTT-3.9.2-1, MQTT-3.9.2-2, MQTT-3.11.2-1, MQTT-3.11.2-2,
    MQTT-3.14.2-3, MQTT-3.14.2-4.
    """
    bench = Bench()
    limit = b"\x27" + size.to_bytes(4)
    client = bench.client()
    client.send_bytes(connect(properties=limit, client_id=name))
    many = b"".join(text(b"f%d" % n) + b"\0" for n in range(15))
    for data in (
        subscribe(filters=many),
        publish(0x32, topic=b"nobody", packet_id=b"\0\1"),
        framed(0xA2, b"\0\3\0" + b"".join(text(b"f%d" % n) for n in range(15))),
        subscribe(filters=text(b"f0") + b"\0"),
        publish(topic=b"f0", payload=b"p" * 20),
        b"\x00\x00",
    ):
        if not client.is_closed:
            client.send_bytes(data)
    assert client.is_closed
    position, sizes = 0, []
    while position < len(client.inbox):
        sizes.append(2 + client.inbox[position + 1])
        position += sizes[-1]
    assert max(sizes, default=0) <= size
    assert sizes or size < (45 if not name else 16)


def test_a_refusal_is_shortened_to_what_the_client_takes() -> None:
    """MQTT-3.1.2-24, MQTT-3.2.2-19, MQTT-3.2.2-20."""
    for size, sent in ((4, 0), (5, 5), (20, 5)):
        client = Bench().client()
        client.send_bytes(connect(properties=b"\x27" + size.to_bytes(4) + b"\x15\0\1x"))
        assert client.is_closed
        assert len(client.inbox) == sent


def test_aliases_are_sent_only_to_who_asked_for_them() -> None:
    """MQTT-3.1.2-26, MQTT-3.1.2-27."""
    bench = Bench()
    heard = listener(bench)
    writer = bench.connected("p")
    writer.publish("t", b"1", topic_alias=1)
    writer.publish("", b"2", topic_alias=1)
    assert [(m.topic, m.topic_alias) for m in heard.messages()] == [("t", None), ("t", None)]


def test_an_alias_can_be_given_another_topic_and_ends_with_its_connection() -> None:
    """3.3.2.3.4, MQTT-3.3.2-7."""
    bench = Bench()
    heard = listener(bench)
    writer = bench.connected("p", expiry=60)
    writer.publish("one", b"1", topic_alias=5)
    writer.publish("two", b"2", topic_alias=5)
    writer.publish("", b"3", topic_alias=5)
    assert [m.topic for m in heard.messages()] == ["one", "two", "two"]
    writer.hang_up()
    again = bench.connected("p", clean=False, expiry=60)
    again.publish("", b"4", topic_alias=5)
    assert again.refused_with() == 0x82


# PUBLISH


def test_a_repeated_publish_is_not_repeated_to_others() -> None:
    """MQTT-3.3.1-3: DUP is each connection's own affair."""
    bench = Bench()
    heard = listener(bench, "t", 1)
    bench.connected("p").send_bytes(publish(0x3A, packet_id=b"\0\7", payload=b"x"))
    assert [m.duplicate for m in heard.messages()] == [False]


def test_a_packet_identifier_is_free_again_after_pubcomp() -> None:
    """MQTT-4.3.3-12."""
    bench = Bench()
    heard = listener(bench, "t")
    writer = bench.connected("p")
    for payload in (b"one", b"two"):
        writer.publish("t", payload, 2, packet_id=9)
        writer.send(mqtt5.PubRelPacket(9))
        assert [type(p) for p in writer.packets()] == [mqtt5.PubRecPacket, mqtt5.PubCompPacket]
    assert heard.payloads() == [b"one", b"two"]


def test_pubrel_of_an_unknown_identifier() -> None:
    """3.6.2.1: PUBCOMP with 0x92."""
    client = Bench().connected("p")
    client.send(mqtt5.PubRelPacket(77))
    assert int(client.one(mqtt5.PubCompPacket).reason_code) == 0x92


def test_the_receivers_identifiers_are_not_the_senders() -> None:
    """MQTT-2.2.1-4: each side numbers its own packets."""
    bench = Bench()
    heard = listener(bench, "t", 2)
    writer = bench.connected("p")
    for number in (500, 501):
        writer.publish("t", b"", 2, packet_id=number)
    assert [m.packet_id for m in heard.messages()] == [1, 2]


def test_order_holds_per_topic_and_qos_also_over_a_reconnection() -> None:
    """MQTT-4.6.0-1 to 4.6.0-6."""
    bench = Bench()
    reader = bench.connected("r", expiry=60, receive_max=4)
    reader.subscribe("t", 2)
    writer = bench.connected("p")
    for number in range(10):
        writer.publish("t", b"%d" % number, 1 + number % 2)
        if number % 2:
            writer.send(mqtt5.PubRelPacket(number + 1))
    first = reader.messages()
    assert [m.payload for m in first] == [b"0", b"1", b"2", b"3"]
    reader.hang_up()
    reader = bench.connected("r", clean=False, expiry=60)
    again = reader.messages()
    assert [m.payload for m in again] == [b"%d" % n for n in range(10)]
    assert [m.duplicate for m in again] == [True] * 4 + [False] * 6
    assert [m.packet_id for m in again[:4]] == [m.packet_id for m in first]


# SUBSCRIBE


def test_a_retained_message_carries_its_subscriptions_identifier() -> None:
    """MQTT-3.3.4-3."""
    bench = Bench()
    bench.connected("p").publish("t", b"kept", retain=True)
    heard = listener(bench, "t", identifier=268_435_455)
    assert [m.subscription_ids for m in heard.messages()] == [[268_435_455]]


def test_a_shared_subscription_carries_its_identifier_and_can_be_given_up() -> None:
    """MQTT-3.3.4-3, MQTT-3.10.4-4."""
    bench = Bench()
    heard = listener(bench, "$share/g/t", identifier=7)
    writer = bench.connected("p")
    writer.publish("t", b"1")
    assert [m.subscription_ids for m in heard.messages()] == [[7]]
    assert [int(c) for c in heard.unsubscribe("t").reason_codes] == [0x11]
    assert [int(c) for c in heard.unsubscribe("$share/g/t").reason_codes] == [0]
    writer.publish("t", b"2")
    assert heard.messages() == []


@pytest.mark.parametrize(
    "pattern", ["$share/g", "$share/g/", "$share//t", "$share/a+b/t", "$share/#/t", "$share/+/t"]
)
def test_a_share_needs_a_name_without_wildcards_and_a_filter(pattern: str) -> None:
    """MQTT-4.8.2-1, MQTT-4.8.2-2."""
    assert [int(c) for c in Bench().connected("c").subscribe(pattern).reason_codes] == [0x8F]


@pytest.mark.parametrize("pattern", ["#", "+/t", "+/#"])
def test_wildcards_at_the_start_do_not_match_dollar_topics(pattern: str) -> None:
    """MQTT-4.7.2-1."""
    bench = Bench()
    heard = listener(bench, pattern)
    exact = bench.connected("exact")
    exact.subscribe("$mine/t")
    bench.connected("p").publish("$mine/t", b"x")
    assert heard.payloads() == []
    assert exact.payloads() == [b"x"]


def reader_with_one_to_acknowledge() -> Client:
    """Of two messages, the second waits for the acknowledgement of the first."""
    bench = Bench()
    reader = bench.connected("r", receive_max=1)
    reader.subscribe("t", 1)
    writer = bench.connected("p")
    writer.publish("t", b"1", 1)
    writer.publish("t", b"2", 1)
    reader.packets()
    return reader


def test_deliveries_under_way_go_on_after_unsubscribing() -> None:
    """MQTT-3.10.4-3."""
    reader = reader_with_one_to_acknowledge()
    reader.unsubscribe("t")
    reader.send(mqtt5.PubAckPacket(1))
    assert reader.payloads() == [b"2"]


# The short forms of acknowledgements and DISCONNECT


@pytest.mark.parametrize("body", [b"\0\1", b"\0\1\0", b"\0\1\0\0", b"\0\1\x10", b"\0\1\x87\0"])
def test_an_acknowledgement_may_leave_out_what_is_zero(body: bytes) -> None:
    """3.4.2.1, 3.4.2.2.1."""
    reader = reader_with_one_to_acknowledge()
    reader.send_bytes(framed(0x40, body))
    assert reader.payloads() == [b"2"]


@pytest.mark.parametrize(("body", "sent"), [(b"", 0), (b"\0", 0), (b"\0\0", 0), (b"\4\0", 1)])
def test_a_disconnect_may_leave_out_what_is_zero(body: bytes, sent: int) -> None:
    """3.14.2.1, 3.14.2.2.1, MQTT-3.14.4-3."""
    bench = Bench()
    heard = listener(bench)
    client = bench.connected("c", will=will())
    client.send_bytes(framed(0xE0, body))
    assert client.is_closed
    assert len(heard.messages()) == sent


def test_nothing_is_processed_or_sent_after_disconnect() -> None:
    """MQTT-3.14.4-1, MQTT-3.14.4-2."""
    bench = Bench()
    heard = listener(bench)
    client = bench.connected("c")
    client.subscribe("#")
    client.send_bytes(b"\xe0\0" + publish(payload=b"too late") + b"\xc0\0")
    assert client.packets() == []
    assert heard.payloads() == []


def test_disconnect_may_keep_a_session_longer_than_connect_asked_for() -> None:
    """3.14.2.2.2: only a session that was to end with its connection stays so."""
    bench = Bench()
    bench.connected("c", expiry=5).send(mqtt5.DisconnectPacket(session_expiry_interval=100))
    bench.wait(50)
    assert bench.client().connect("c", clean=False, expiry=5).session_present


def test_any_packet_keeps_a_connection_alive() -> None:
    """MQTT-3.1.2-22: the server counts from the last packet, whichever it was."""
    bench = Bench()
    client = bench.connected("c", keep_alive=2)
    for _ in range(4):
        bench.wait(2.5)
        client.publish("t", b"plain")
    bench.wait(2.5)
    assert not client.is_closed
    bench.wait(1)
    assert client.refused_with() == int(REASON.KEEP_ALIVE_TIMEOUT)
