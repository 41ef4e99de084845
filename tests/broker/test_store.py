"""What a data directory remembers."""

from __future__ import annotations

from pathlib import Path

import mqtt5
import pytest

from broker_bench import Bench
from zonal.broker.recovery import recover
from zonal.broker.settings import Settings
from zonal.broker.store import StoredJournal
from zonal.errors import BrokerError, StoreInUseError


def opened(folder: Path, now: float | None = None) -> tuple[Bench, StoredJournal]:
    """A broker on a store; time may have passed since."""
    store = StoredJournal(folder)
    bench = Bench(Settings(sys_interval=0), journal=store)
    if now is not None:
        bench.now = now
    recover(bench.broker, store, bench.now)
    bench.flush()
    return bench, store


def crash(store: StoredJournal) -> None:
    """The process is gone: nothing is committed on the way out."""
    store._changes.clear()
    store._database.close()


def test_subscriptions_and_queued_messages_survive(tmp_path: Path) -> None:
    bench, store = opened(tmp_path)
    client = bench.connected("sub", expiry=1000)
    client.subscribe("a/#", 2, identifier=7)
    client.hang_up()
    publisher = bench.connected("pub")
    for number in range(3):
        publisher.publish("a/x", bytes([number]), number % 3, content_type="c")
    crash(store)
    bench, store = opened(tmp_path)
    client = bench.client()
    assert client.connect("sub", clean=False, expiry=1000).session_present
    got = [(m.payload, m.subscription_ids, m.content_type) for m in client.messages()]
    assert got == [(b"\1", [7], "c"), (b"\2", [7], "c")]
    bench.connected("pub").publish("a/y", b"new")
    assert client.payloads() == [b"new"]
    store.close()


def test_messages_under_way_keep_their_identifiers_and_states(tmp_path: Path) -> None:
    bench, store = opened(tmp_path)
    client = bench.connected("sub", expiry=1000)
    client.subscribe("a", 2)
    publisher = bench.connected("pub")
    for payload in (b"released", b"sent", b"done"):
        publisher.publish("a", payload, 2)
    first, second, third = client.messages()
    assert first.packet_id is not None
    assert third.packet_id is not None
    client.send(mqtt5.PubRecPacket(first.packet_id), mqtt5.PubRecPacket(third.packet_id))
    client.send(mqtt5.PubCompPacket(third.packet_id))
    crash(store)
    bench, store = opened(tmp_path)
    packets = bench.connected("sub", clean=False, expiry=1000).packets()
    assert isinstance(packets[0], mqtt5.PubRelPacket)
    assert packets[0].packet_id == first.packet_id
    assert isinstance(packets[1], mqtt5.PublishPacket)
    assert (packets[1].packet_id, packets[1].duplicate) == (second.packet_id, True)
    assert len(packets) == 2
    store.close()


def test_a_received_qos_2_message_is_not_delivered_again_after_a_crash(tmp_path: Path) -> None:
    bench, store = opened(tmp_path)
    reader = bench.connected("sub", expiry=1000)
    reader.subscribe("a", 2)
    writer = bench.connected("pub", expiry=1000)
    writer.publish("a", b"x", 2, packet_id=5)
    crash(store)
    bench, store = opened(tmp_path)
    writer = bench.connected("pub", clean=False, expiry=1000)
    writer.publish("a", b"x", 2, packet_id=5, duplicate=True)
    writer.one(mqtt5.PubRecPacket)
    assert len(bench.connected("sub", clean=False, expiry=1000).messages()) == 1
    writer.send(mqtt5.PubRelPacket(5))
    assert int(writer.one(mqtt5.PubCompPacket).reason_code) == 0
    store.close()


def test_retained_messages_survive_and_expire_on_time(tmp_path: Path) -> None:
    bench, store = opened(tmp_path)
    publisher = bench.connected("pub")
    publisher.publish("keep", b"1", 1, retain=True)
    publisher.publish("clear", b"2", retain=True)
    publisher.publish("clear", b"", retain=True)
    publisher.publish("short", b"3", retain=True, message_expiry_interval=10)
    publisher.publish("long", b"4", retain=True, message_expiry_interval=100)
    crash(store)
    bench, store = opened(tmp_path, bench.now + 50)
    client = bench.connected("sub")
    client.subscribe("#", 1)
    got = {(m.topic, m.payload, m.message_expiry_interval) for m in client.messages()}
    assert got == {("keep", b"1", None), ("long", b"4", 50)}
    store.close()


def test_a_session_expires_while_the_broker_is_down(tmp_path: Path) -> None:
    bench, store = opened(tmp_path)
    bench.connected("gone", expiry=10).hang_up()
    bench.connected("stays", expiry=100).hang_up()
    crash(store)
    bench, store = opened(tmp_path, bench.now + 50)
    bench.wait(0.2)
    assert set(bench.broker.sessions) == {"stays"}
    store.close()
    bench, store = opened(tmp_path, bench.now)
    assert set(bench.broker.sessions) == {"stays"}
    store.close()


def test_a_crash_counts_as_a_lost_connection_for_the_will(tmp_path: Path) -> None:
    bench, store = opened(tmp_path)
    watcher = bench.connected("w", expiry=1000)
    watcher.subscribe("gone", 1)
    will = mqtt5.Will("gone", payload=b"bye", qos=mqtt5.QoS.AT_LEAST_ONCE, will_delay_interval=5)
    bench.connected("car", expiry=1000, will=will)
    crash(store)
    bench, store = opened(tmp_path, bench.now)
    watcher = bench.connected("w", clean=False, expiry=1000)
    bench.wait(4)
    assert watcher.payloads() == []
    bench.wait(2)
    assert watcher.payloads() == [b"bye"]
    store.close()


def test_ended_sessions_leave_nothing_behind(tmp_path: Path) -> None:
    bench, store = opened(tmp_path)
    client = bench.connected("a", expiry=1000)
    client.subscribe("t", 2)
    client.hang_up()
    bench.connected("b", expiry=5).publish("t", b"x", 2)
    bench.connected("a", clean=True).hang_up()
    bench.connected("b", clean=True)
    bench.flush()
    for table in ("session", "subscription", "message", "outgoing", "incoming"):
        assert store.rows(table) == [], table
    store.close()


def test_a_message_for_many_is_stored_once(tmp_path: Path) -> None:
    bench, store = opened(tmp_path)
    for number in range(5):
        client = bench.connected(f"c{number}", expiry=1000)
        client.subscribe("t", 1)
        client.hang_up()
    bench.connected("p").publish("t", b"x", 1)
    assert len(store.rows("message")) == 1
    assert len(store.rows("outgoing")) == 5
    for number in range(5):
        client = bench.connected(f"c{number}", clean=False, expiry=1000)
        (message,) = client.messages()
        assert message.packet_id is not None
        client.send(mqtt5.PubAckPacket(message.packet_id))
    assert store.rows("message") == []
    assert store.rows("outgoing") == []
    store.close()


def test_places_survive(tmp_path: Path) -> None:
    bench, store = opened(tmp_path)
    client = bench.connected("sub", expiry=1000, user_properties=[("location", "45.46,9.19")])
    client.subscribe("near", 1, properties=[("around", "1km")])
    box = "POLYGON ((9 45, 10 45, 10 46, 9 46, 9 45))"
    client.subscribe("box", 1, properties=[("geofence", box)])
    client.hang_up()
    publisher = bench.connected("pub")
    publisher.publish("box", b"kept", 1, retain=True, properties=[("location", "45.5,9.5")])
    crash(store)
    bench, store = opened(tmp_path)
    publisher = bench.connected("pub")
    for topic in ("near", "box"):
        publisher.publish(topic, b"in", 1, properties=[("location", "45.461,9.191")])
        publisher.publish(topic, b"out", 1, properties=[("location", "48,11")])
    client = bench.connected("sub", clean=False, expiry=1000)
    assert [(m.topic, m.payload) for m in client.messages()] == [
        ("box", b"kept"), ("near", b"in"), ("box", b"in"),
    ]  # fmt: skip
    far = "POLYGON ((20 20, 21 20, 21 21, 20 21, 20 20))"
    client.subscribe("box", 1, properties=[("geofence", far)])
    assert client.payloads() == []
    store.close()


def test_two_brokers_cannot_share_a_directory(tmp_path: Path) -> None:
    store = StoredJournal(tmp_path)
    with pytest.raises(StoreInUseError, match="in use by another broker"):
        StoredJournal(tmp_path)
    store.close()
    StoredJournal(tmp_path).close()


def test_a_file_that_is_no_store_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "broker.sqlite").write_bytes(b"something else entirely" * 100)
    with pytest.raises(BrokerError):
        StoredJournal(tmp_path)
    assert (tmp_path / "broker.sqlite").read_bytes().startswith(b"something else")


def test_a_store_of_another_format_is_refused(tmp_path: Path) -> None:
    store = StoredJournal(tmp_path)
    store._database.execute("PRAGMA user_version = 99")
    store.close()
    with pytest.raises(BrokerError, match="format 99"):
        StoredJournal(tmp_path)
