from __future__ import annotations

import mqtt5
import pytest

from broker_bench import Bench, Client
from zonal.broker.settings import Limits, Settings


def pair(**options: object) -> tuple[Bench, Client, Client]:
    bench = Bench()
    return bench, bench.connected("sub", **options), bench.connected("pub")


@pytest.mark.parametrize("published", [0, 1, 2])
@pytest.mark.parametrize("subscribed", [0, 1, 2])
def test_a_message_arrives_with_the_lower_qos(published: int, subscribed: int) -> None:
    _, subscriber, publisher = pair()
    subscriber.subscribe("a/b", subscribed)
    publisher.publish("a/b", b"x", published)
    (message,) = subscriber.messages()
    assert (int(message.qos), message.payload) == (min(published, subscribed), b"x")


def test_qos_1_is_acknowledged() -> None:
    _, subscriber, publisher = pair()
    subscriber.subscribe("a", 1)
    publisher.publish("a", b"x", 1, packet_id=9)
    acknowledgement = publisher.one(mqtt5.PubAckPacket)
    assert (acknowledgement.packet_id, int(acknowledgement.reason_code)) == (9, 0)


def test_qos_1_without_receivers_says_so() -> None:
    publisher = Bench().connected("pub")
    publisher.publish("a", b"x", 1)
    assert int(publisher.one(mqtt5.PubAckPacket).reason_code) == 0x10


def test_qos_2_is_delivered_once_however_often_it_is_sent() -> None:
    _, subscriber, publisher = pair()
    subscriber.subscribe("a", 2)
    for again in (False, True, True):
        publisher.publish("a", b"x", 2, packet_id=5, duplicate=again)
        assert publisher.one(mqtt5.PubRecPacket).packet_id == 5
    assert len(subscriber.messages()) == 1
    publisher.send(mqtt5.PubRelPacket(5))
    assert int(publisher.one(mqtt5.PubCompPacket).reason_code) == 0
    publisher.send(mqtt5.PubRelPacket(5))
    assert int(publisher.one(mqtt5.PubCompPacket).reason_code) == 0x92
    publisher.publish("a", b"y", 2, packet_id=5)
    assert subscriber.payloads() == [b"y"]


def test_the_receiving_side_of_qos_2() -> None:
    _, subscriber, publisher = pair()
    subscriber.subscribe("a", 2)
    publisher.publish("a", b"x", 2)
    packet_id = subscriber.one(mqtt5.PublishPacket).packet_id
    assert packet_id is not None
    subscriber.send(mqtt5.PubRecPacket(packet_id))
    assert subscriber.one(mqtt5.PubRelPacket).packet_id == packet_id
    subscriber.send(mqtt5.PubCompPacket(packet_id))
    assert subscriber.packets() == []


def test_pubrec_for_an_unknown_identifier() -> None:
    client = Bench().connected("a")
    client.send(mqtt5.PubRecPacket(77))
    assert int(client.one(mqtt5.PubRelPacket).reason_code) == 0x92


def test_a_refused_qos_2_delivery_is_over() -> None:
    _, subscriber, publisher = pair(receive_max=1)
    subscriber.subscribe("a", 2)
    publisher.publish("a", b"1", 2)
    publisher.publish("a", b"2", 2)
    first = subscriber.one(mqtt5.PublishPacket)
    assert first.packet_id is not None
    code = mqtt5.PubRecReasonCode.QUOTA_EXCEEDED
    subscriber.send(mqtt5.PubRecPacket(first.packet_id, reason_code=code))
    assert subscriber.one(mqtt5.PublishPacket).payload == b"2"


def test_an_acknowledgement_of_the_wrong_kind_is_a_protocol_error() -> None:
    _, subscriber, publisher = pair()
    subscriber.subscribe("a", 2)
    publisher.publish("a", b"x", 2)
    packet_id = subscriber.one(mqtt5.PublishPacket).packet_id
    assert packet_id is not None
    subscriber.send(mqtt5.PubAckPacket(packet_id))
    assert subscriber.refused_with() == 0x82


def test_the_clients_receive_maximum_is_kept() -> None:
    _, subscriber, publisher = pair(receive_max=2)
    subscriber.subscribe("a", 1)
    for number in range(5):
        publisher.publish("a", bytes([number]), 1)
    publisher.publish("a", b"zero", 0)
    got = subscriber.messages()
    assert [m.payload for m in got] == [b"\0", b"\1", b"zero"]
    assert got[0].packet_id is not None
    subscriber.send(mqtt5.PubAckPacket(got[0].packet_id))
    assert subscriber.payloads() == [b"\2"]


def test_the_servers_receive_maximum_is_enforced() -> None:
    bench = Bench(Settings(limits=Limits(receive_maximum=3), sys_interval=0))
    client = bench.connected("a")
    for _ in range(3):
        client.publish("t", b"", 2)
    assert not client.is_closed
    client.publish("t", b"", 2)
    assert client.refused_with() == 0x93


def test_unacknowledged_messages_are_sent_again_in_order_on_reconnection() -> None:
    bench = Bench()
    subscriber = bench.connected("sub", expiry=100)
    subscriber.subscribe("a", 2)
    publisher = bench.connected("pub")
    for number in range(4):
        publisher.publish("a", bytes([number]), 1 + number % 2)
    first = subscriber.messages()
    assert first[1].packet_id is not None
    subscriber.send(mqtt5.PubRecPacket(first[1].packet_id))
    subscriber.hang_up()
    publisher.publish("a", b"later", 1)
    subscriber = bench.connected("sub", clean=False, expiry=100)
    again = subscriber.packets()
    ids = [packet.packet_id for packet in again]
    assert ids[:4] == [message.packet_id for message in first]
    assert [type(packet).__name__ for packet in again] == [
        "PublishPacket", "PubRelPacket", "PublishPacket", "PublishPacket", "PublishPacket",
    ]  # fmt: skip
    assert [p.duplicate for p in again if isinstance(p, mqtt5.PublishPacket)] == [
        True, True, True, False,
    ]  # fmt: skip
    assert again[4].payload == b"later"


def test_messages_are_sent_again_no_further_than_the_receive_maximum() -> None:
    bench = Bench()
    subscriber = bench.connected("sub", expiry=100)
    subscriber.subscribe("a", 1)
    publisher = bench.connected("pub")
    for number in range(5):
        publisher.publish("a", bytes([number]), 1)
    subscriber.hang_up()
    subscriber = bench.connected("sub", clean=False, expiry=100, receive_max=2)
    seen = []
    while batch := subscriber.messages():
        assert len(batch) <= 2
        for message in batch:
            seen.append(message.payload)
            assert message.packet_id is not None
            subscriber.send(mqtt5.PubAckPacket(message.packet_id))
    assert seen == [bytes([n]) for n in range(5)]


def test_messages_wait_for_an_absent_client_but_qos_0_does_not() -> None:
    bench = Bench()
    subscriber = bench.connected("sub", expiry=100)
    subscriber.subscribe("a", 1)
    subscriber.hang_up()
    publisher = bench.connected("pub")
    publisher.publish("a", b"0", 0)
    publisher.publish("a", b"1", 1)
    assert bench.connected("sub", clean=False, expiry=100).payloads() == [b"1"]


def test_a_full_queue_drops_and_counts() -> None:
    bench = Bench(Settings(limits=Limits(maximum_queued=2), sys_interval=0))
    subscriber = bench.connected("sub", expiry=100)
    subscriber.subscribe("a", 1)
    subscriber.hang_up()
    publisher = bench.connected("pub")
    for number in range(3):
        publisher.publish("a", bytes([number]), 1)
    assert bench.broker.counters.dropped == 1
    assert bench.connected("sub", clean=False, expiry=100).payloads() == [b"\0", b"\1"]


def test_a_message_expires_while_it_waits_and_shows_what_is_left() -> None:
    bench = Bench()
    subscriber = bench.connected("sub", expiry=100)
    subscriber.subscribe("a", 1)
    subscriber.hang_up()
    publisher = bench.connected("pub")
    publisher.publish("a", b"short", 1, message_expiry_interval=5)
    publisher.publish("a", b"long", 1, message_expiry_interval=60)
    bench.wait(10)
    (message,) = bench.connected("sub", clean=False, expiry=100).messages()
    assert (message.payload, message.message_expiry_interval) == (b"long", 50)


def test_all_properties_arrive_unchanged() -> None:
    _, subscriber, publisher = pair()
    subscriber.subscribe("a", 1)
    properties = [("k", "v"), ("k", "w"), ("ä", "ü")]
    publisher.publish(
        "a", "ß".encode(), 1, payload_format_indicator=1, content_type="text/plain",
        response_topic="reply/to", correlation_data=b"\0\xff", message_expiry_interval=30,
        properties=properties,
    )  # fmt: skip
    message = subscriber.one(mqtt5.PublishPacket)
    assert message.payload_format_indicator == 1
    assert message.content_type == "text/plain"
    assert message.response_topic == "reply/to"
    assert message.correlation_data == b"\0\xff"
    assert message.message_expiry_interval == 30
    assert message.user_properties == properties
    assert not message.duplicate
    assert not message.retain


def test_a_payload_that_breaks_its_format_is_refused() -> None:
    _, subscriber, publisher = pair()
    subscriber.subscribe("a", 1)
    publisher.publish("a", b"\xff", 1, payload_format_indicator=1)
    assert int(publisher.one(mqtt5.PubAckPacket).reason_code) == 0x99
    assert subscriber.packets() == []


def test_a_message_larger_than_the_client_takes_is_not_sent() -> None:
    _, subscriber, publisher = pair(max_packet_size=100)
    subscriber.subscribe("a", 1)
    publisher.publish("a", b"x" * 200, 1)
    publisher.publish("a", b"x" * 200, 0)
    publisher.publish("a", b"small", 1)
    assert subscriber.payloads() == [b"small"]


def test_topic_aliases_from_the_client() -> None:
    _, subscriber, publisher = pair()
    subscriber.subscribe("#")
    publisher.publish("a/b", b"1", topic_alias=3)
    publisher.publish("", b"2", topic_alias=3)
    publisher.publish("c", b"3", topic_alias=3)
    publisher.publish("", b"4", topic_alias=3)
    got = [(m.topic, m.payload, m.topic_alias) for m in subscriber.messages()]
    assert got == [
        ("a/b", b"1", None), ("a/b", b"2", None), ("c", b"3", None), ("c", b"4", None),
    ]  # fmt: skip


def test_topic_aliases_to_the_client() -> None:
    _, subscriber, publisher = pair(topic_alias_max=1)
    subscriber.subscribe("#", 1)
    for topic in ("a", "b", "a", "a"):
        publisher.publish(topic, b"", 1)
    got = [(m.topic, m.topic_alias) for m in subscriber.messages()]
    assert got == [("a", 1), ("b", None), ("", 1), ("", 1)]


@pytest.mark.parametrize(("alias", "code"), [(33, 0x94), (32, 0x82)])
def test_bad_topic_aliases(alias: int, code: int) -> None:
    client = Bench().connected("a")
    client.publish("", b"", topic_alias=alias)
    assert client.refused_with() == code


def test_topic_alias_0_is_invalid() -> None:
    client = Bench().connected("a")
    client.send_bytes(b"\x30\x07\x00\x01t\x03\x23\x00\x00")
    assert client.refused_with() == 0x94


def test_request_and_response() -> None:
    bench = Bench()
    asking, answering = bench.connected("asking"), bench.connected("answering")
    asking.subscribe("answers/asking")
    answering.subscribe("questions")
    asking.publish("questions", b"?", response_topic="answers/asking", correlation_data=b"1")
    question = answering.one(mqtt5.PublishPacket)
    assert question.response_topic is not None
    answering.publish(question.response_topic, b"!", correlation_data=question.correlation_data)
    answer = asking.one(mqtt5.PublishPacket)
    assert (answer.payload, answer.correlation_data) == (b"!", b"1")


def test_a_slow_reader_loses_qos_0_and_keeps_qos_1() -> None:
    bench, subscriber, publisher = pair()
    subscriber.subscribe("a", 1)
    subscriber.connection.writable = False
    publisher.publish("a", b"0", 0)
    publisher.publish("a", b"1", 1)
    assert subscriber.packets() == []
    bench.broker.writable(subscriber.connection, bench.now)
    bench.flush()
    assert subscriber.payloads() == [b"1"]
    assert bench.broker.counters.dropped == 1


def test_clients_cannot_publish_the_brokers_figures() -> None:
    publisher = Bench().connected("pub")
    publisher.publish("$SYS/broker/version", b"mine", 1)
    assert int(publisher.one(mqtt5.PubAckPacket).reason_code) == 0x87


def test_the_broker_shows_its_figures() -> None:
    bench = Bench(Settings(sys_interval=5))
    client = bench.connected("a")
    client.subscribe("$SYS/broker/clients/connected")
    client.subscribe("#")
    client.packets()
    bench.wait(6)
    got = {m.topic: m.payload for m in client.messages()}
    assert got == {"$SYS/broker/clients/connected": b"1"}


def test_a_message_too_large_for_the_new_connection_gives_its_slot_back() -> None:
    """MQTT-3.1.2-25: it is as if it had been delivered."""
    bench = Bench()
    client = bench.connected("s", expiry=100)
    client.subscribe("a", 1)
    writer = bench.connected("w")
    writer.publish("a", b"x" * 200, 1)
    client.hang_up()
    writer.publish("a", b"small", 1)
    client = bench.connected("s", clean=False, expiry=100, max_packet_size=100, receive_max=1)
    assert client.payloads() == [b"small"]
    assert bench.broker.counters.dropped == 1
    assert bench.broker.sessions["s"].held < 2000
