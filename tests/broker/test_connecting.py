from __future__ import annotations

import mqtt5
import pytest

from broker_bench import Bench
from zonal.broker.settings import Limits, Settings


def will(topic: str = "gone", **options: object) -> mqtt5.Will:
    return mqtt5.Will(topic, payload=b"bye", **options)  # type: ignore[arg-type]


def test_a_client_without_an_identifier_is_assigned_one() -> None:
    bench = Bench()
    first = bench.client().connect("")
    second = bench.client().connect("")
    assert first.assigned_client_id
    assert first.assigned_client_id != second.assigned_client_id


def test_a_named_client_is_not_assigned_an_identifier() -> None:
    assert Bench().client().connect("car").assigned_client_id is None


def test_connack_names_the_servers_limits() -> None:
    limits = Limits(receive_maximum=7, topic_alias_maximum=3, maximum_packet_size=5000)
    answer = Bench(Settings(limits=limits)).client().connect("car")
    assert (answer.receive_max, answer.topic_alias_max, answer.max_packet_size) == (7, 3, 5000)


def test_a_second_connect_is_a_protocol_error() -> None:
    client = Bench().connected("car")
    client.send(mqtt5.ConnectPacket("car"))
    assert client.refused_with() == 0x82


def test_anything_before_connect_closes_the_connection_without_a_word() -> None:
    client = Bench().client()
    client.send(mqtt5.PingReqPacket())
    assert client.is_closed
    assert client.packets() == []


def test_a_silent_connection_is_closed_after_the_connect_timeout() -> None:
    bench = Bench()
    client = bench.client()
    bench.wait(9.5)
    assert not client.is_closed
    bench.wait(1)
    assert client.is_closed


def test_taking_a_session_over_tells_the_older_connection() -> None:
    bench = Bench()
    older = bench.connected("car")
    newer = bench.connected("car")
    assert older.refused_with() == 0x8E
    assert not newer.is_closed


def test_a_session_is_present_only_while_it_has_not_expired() -> None:
    bench = Bench()
    client = bench.client()
    assert not client.connect("car", clean=False, expiry=10).session_present
    client.hang_up()
    bench.wait(9)
    client = bench.client()
    assert client.connect("car", clean=False, expiry=10).session_present
    client.hang_up()
    bench.wait(11)
    assert not bench.client().connect("car", clean=False, expiry=10).session_present


def test_clean_start_ends_an_older_session() -> None:
    bench = Bench()
    client = bench.connected("car", expiry=100)
    client.subscribe("a")
    client.hang_up()
    client = bench.client()
    assert not client.connect("car", clean=True, expiry=100).session_present
    bench.connected("b").publish("a", b"x")
    assert client.packets() == []


def test_without_expiry_a_session_ends_with_its_connection() -> None:
    bench = Bench()
    bench.connected("car").hang_up()
    assert not bench.client().connect("car", clean=False).session_present


def test_the_longest_session_expiry_is_the_servers() -> None:
    bench = Bench(Settings(session_expiry=60, sys_interval=0))
    assert bench.client().connect("car", expiry=3600).session_expiry_interval == 60
    assert bench.client().connect("bus", expiry=30).session_expiry_interval is None


def test_disconnect_may_shorten_the_session() -> None:
    bench = Bench()
    client = bench.connected("car", expiry=100)
    client.send(mqtt5.DisconnectPacket(session_expiry_interval=0))
    assert client.is_closed
    assert not bench.client().connect("car", clean=False).session_present


def test_disconnect_cannot_extend_a_session_that_ends_with_its_connection() -> None:
    client = Bench().connected("car", expiry=0)
    client.send(mqtt5.DisconnectPacket(session_expiry_interval=10))
    assert client.refused_with() == 0x82


def test_keep_alive_ends_after_one_and_a_half_intervals() -> None:
    bench = Bench()
    client = bench.connected("car", keep_alive=10)
    bench.wait(14.5)
    client.send(mqtt5.PingReqPacket())
    client.one(mqtt5.PingRespPacket)
    bench.wait(14.5)
    assert not client.is_closed
    bench.wait(1)
    assert client.refused_with() == 0x8D


def test_a_partial_packet_does_not_keep_a_connection_alive() -> None:
    bench = Bench()
    client = bench.connected("car", keep_alive=10)
    client.send_bytes(b"\x30")
    for _ in range(20):
        client.send_bytes(b"") if not client.is_closed else None
        bench.wait(1)
    assert client.refused_with() == 0x8D


def test_without_keep_alive_nothing_times_out() -> None:
    bench = Bench()
    client = bench.connected("car", keep_alive=0)
    bench.wait(200)
    assert not client.is_closed


@pytest.mark.parametrize("asked", [0, 600])
def test_the_server_sets_a_shorter_keep_alive(asked: int) -> None:
    bench = Bench(Settings(keep_alive=20, sys_interval=0))
    client = bench.client()
    assert client.connect("car", keep_alive=asked).server_keep_alive == 20
    bench.wait(31)
    assert client.refused_with() == 0x8D


def test_a_will_is_sent_when_the_connection_is_lost() -> None:
    bench = Bench()
    watcher = bench.connected("w")
    watcher.subscribe("gone")
    bench.connected("car", will=will()).hang_up()
    assert watcher.payloads() == [b"bye"]


def test_a_will_is_not_sent_after_a_normal_disconnect() -> None:
    bench = Bench()
    watcher = bench.connected("w")
    watcher.subscribe("gone")
    bench.connected("car", will=will()).send(mqtt5.DisconnectPacket())
    assert watcher.payloads() == []


def test_disconnect_with_will_sends_it() -> None:
    bench = Bench()
    watcher = bench.connected("w")
    watcher.subscribe("gone")
    code = mqtt5.DisconnectReasonCode.DISCONNECT_WITH_WILL_MESSAGE
    bench.connected("car", will=will()).send(mqtt5.DisconnectPacket(reason_code=code))
    assert watcher.payloads() == [b"bye"]


def test_a_protocol_error_sends_the_will() -> None:
    bench = Bench()
    watcher = bench.connected("w")
    watcher.subscribe("gone")
    bench.connected("car", will=will()).send_bytes(b"\x00\x00")
    assert watcher.payloads() == [b"bye"]


def test_a_delayed_will_waits_and_is_dropped_when_the_client_returns() -> None:
    bench = Bench()
    watcher = bench.connected("w")
    watcher.subscribe("gone")
    for back_after, expected in ((3, []), (6, [b"bye"])):
        client = bench.connected("car", clean=False, expiry=60, will=will(will_delay_interval=5))
        client.hang_up()
        bench.wait(back_after)
        bench.connected("car", clean=False, expiry=60).send(mqtt5.DisconnectPacket())
        assert watcher.payloads() == expected


def test_a_delayed_will_is_sent_at_the_latest_when_the_session_ends() -> None:
    bench = Bench()
    watcher = bench.connected("w")
    watcher.subscribe("gone")
    bench.connected("car", expiry=2, will=will(will_delay_interval=50)).hang_up()
    bench.wait(1.5)
    assert watcher.payloads() == []
    bench.wait(1)
    assert watcher.payloads() == [b"bye"]


def test_a_taken_over_connections_will_depends_on_its_delay() -> None:
    bench = Bench()
    watcher = bench.connected("w")
    watcher.subscribe("gone")
    bench.connected("car", expiry=60, will=will())
    bench.connected("car", clean=False, expiry=60, will=will(will_delay_interval=9))
    assert watcher.payloads() == [b"bye"]
    bench.connected("car", clean=False, expiry=60)
    assert watcher.payloads() == []


def test_a_wills_lifetime_begins_when_it_is_sent() -> None:
    bench = Bench()
    watcher = bench.connected("w")
    watcher.subscribe("gone")
    delayed = will(will_delay_interval=5, message_expiry_interval=8)
    bench.connected("car", expiry=60, will=delayed).hang_up()
    bench.wait(5.2)
    assert [m.message_expiry_interval for m in watcher.messages()] == [8]


@pytest.mark.parametrize("topic", ["a/#", "+", "$SYS/broker/version"])
def test_a_will_needs_a_topic_it_can_be_published_to(topic: str) -> None:
    client = Bench().client()
    # The codec does not write such a topic, so a valid one is written and then changed.
    data = mqtt5.ConnectPacket("car", will=will("x" * len(topic))).write()
    client.send_bytes(data.replace(b"x" * len(topic), topic.encode()))
    assert client.refused_with() == 0x90


def test_enhanced_authentication_is_refused() -> None:
    client = Bench().client()
    client.send(mqtt5.ConnectPacket("car", authentication_method="SCRAM-SHA-1"))
    assert client.refused_with() == 0x8C


def test_too_many_connections_are_refused_and_the_others_stay() -> None:
    bench = Bench(Settings(limits=Limits(maximum_connections=2), sys_interval=0))
    first, second, third = bench.connected("a"), bench.connected("b"), bench.client()
    third.send(mqtt5.ConnectPacket("c"))
    assert third.refused_with() == 0x89
    assert not first.is_closed
    assert not second.is_closed


def test_shutting_down_tells_the_clients() -> None:
    bench = Bench()
    client = bench.connected("car")
    bench.broker.shut_down(bench.now)
    bench.flush()
    assert client.refused_with() == 0x8B


# What is offered


def test_maximum_qos_and_retain_are_announced_and_kept_to() -> None:
    """MQTT-3.2.2-9, MQTT-3.2.2-10, MQTT-3.2.2-11, MQTT-3.2.2-12, MQTT-3.2.2-13, MQTT-3.2.2-14."""
    limits = Limits(maximum_qos=1, retain_available=False)
    bench = Bench(Settings(limits=limits, sys_interval=0))
    client = bench.client()
    answer = client.connect("c")
    assert (int(answer.max_qos), answer.retain_available) == (1, False)
    assert [int(code) for code in client.subscribe("t", 2).reason_codes] == [1]
    client.publish("t", b"x", 2)
    assert client.refused_with() == 0x9B
    client = bench.connected("c")
    client.publish("t", b"x", 1, retain=True)
    assert client.refused_with() == 0x9A
    for will, code in (
        (mqtt5.Will("w", qos=mqtt5.QoS.EXACTLY_ONCE), 0x9B), (mqtt5.Will("w", retain=True), 0x9A),
    ):  # fmt: skip
        client = bench.client()
        client.send(mqtt5.ConnectPacket("w", will=will))
        assert client.refused_with() == code


def test_qos_0_may_wait_for_absent_clients() -> None:
    bench = Bench(Settings(queue_qos_0=True, sys_interval=0))
    client = bench.connected("c", expiry=100)
    client.subscribe("t", 2)
    client.hang_up()
    writer = bench.connected("w")
    for number in range(4):
        writer.publish("t", bytes([number]), number % 2, properties=[("k", "v")] * (number > 1))
    back = bench.connected("c", clean=False, expiry=100)
    assert [(m.payload, int(m.qos)) for m in back.messages()] == [
        (b"\0", 0), (b"\1", 1), (b"\2", 0), (b"\3", 1),
    ]  # fmt: skip
    assert not bench.broker.sessions["c"].queue
