"""What clients may use, in bytes and a second: beyond it they are refused, slowed or dropped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mqtt5
import pytest

from broker_bench import Bench
from broker_packets import connect, publish
from zonal.broker.access import RemoteEnd, User
from zonal.broker.rates import Allowance, Use
from zonal.broker.recovery import recover
from zonal.broker.settings import Limits, Rates, Settings, read_limits
from zonal.broker.store import StoredJournal
from zonal.errors import ConfigurationError

KIB = 1024


def bench_with(**limits: Any) -> Bench:
    return Bench(Settings(limits=Limits(**limits), sys_interval=0))


def absent(bench: Bench, name: str, pattern: str = "q") -> None:
    client = bench.connected(name, expiry=1000)
    client.subscribe(pattern, 1)
    client.hang_up()


def back(bench: Bench, name: str) -> list[bytes]:
    client = bench.client()
    client.connect(name, clean=False, expiry=1000)
    return client.payloads()


def test_retained_messages_are_bounded_in_bytes() -> None:
    bench = bench_with(retained_bytes=100 * KIB)
    client = bench.connected("c")
    codes = []
    for number in range(15):
        client.publish(f"r/{number}", b"x" * 10 * KIB, 1, retain=True)
        codes.append(int(client.one(mqtt5.PubAckPacket).reason_code))
    assert codes.count(0x97) == 6
    assert bench.broker.retained.size <= 100 * KIB
    client.publish("r/0", b"", 1, retain=True)
    client.publish("r/14", b"x" * 10 * KIB, 1, retain=True)
    assert [int(p.reason_code) < 0x80 for p in client.packets()] == [True, True]
    for number in range(15):
        client.publish(f"r/{number}", b"", 0, retain=True)
    assert bench.broker.retained.size == 0


def test_a_will_without_room_is_delivered_but_not_retained() -> None:
    bench = bench_with(retained_bytes=10)
    heard = bench.connected("l")
    heard.subscribe("gone", retain_as_published=True)
    bench.connected("c", will=mqtt5.Will("gone", payload=b"bye", retain=True)).hang_up()
    assert [(m.payload, m.retain) for m in heard.messages()] == [(b"bye", False)]
    assert bench.broker.counters.unretained == 1


def test_a_session_is_bounded_in_bytes() -> None:
    bench = bench_with(session_bytes=100 * KIB)
    absent(bench, "s")
    writer = bench.connected("w")
    for number in range(20):
        writer.publish("q", bytes([number]) * 10 * KIB, 1)
    assert bench.broker.counters.dropped == 11
    assert [data[0] for data in back(bench, "s")] == list(range(9))


def test_messages_under_way_count_as_well() -> None:
    bench = bench_with(session_bytes=100 * KIB)
    reader = bench.connected("r")
    reader.subscribe("q", 1)
    writer = bench.connected("w")
    for _ in range(20):
        writer.publish("q", b"x" * 10 * KIB, 1)
    got = reader.messages()
    assert len(got) == 9
    for message in got:
        assert message.packet_id is not None
        reader.send(mqtt5.PubAckPacket(message.packet_id))
    writer.publish("q", b"y", 1)
    assert reader.payloads() == [b"y"]


def test_a_full_queue_may_lose_its_oldest_instead() -> None:
    settings = Settings(limits=Limits(maximum_queued=3), drop_oldest=True, sys_interval=0)
    bench = Bench(settings)
    absent(bench, "s")
    writer = bench.connected("w")
    for number in range(5):
        writer.publish("q", bytes([number]), 1)
    assert bench.broker.counters.dropped == 2
    assert back(bench, "s") == [b"\2", b"\3", b"\4"]


def test_all_queues_together_are_bounded_and_a_shared_message_counts_once() -> None:
    bench = bench_with(queued_bytes=100 * KIB)
    for number in range(10):
        absent(bench, f"s{number}")
    writer = bench.connected("w")
    for _ in range(20):
        writer.publish("q", b"x" * 10 * KIB, 1)
    assert [len(back(bench, f"s{number}")) for number in range(10)] == [9] * 10
    for number in range(10):
        bench.connected(f"s{number}")
    assert bench.broker.ledger.messages == 0


def test_subscriptions_are_bounded_in_bytes() -> None:
    bench = bench_with(subscription_bytes=20_000)
    client = bench.connected("c")
    fence = [("geofence", "CIRCLE (9 45, 1000)")]
    codes = [int(client.subscribe(f"t/{n}", properties=fence).reason_codes[0]) for n in range(30)]
    assert 0 < codes.count(0) < 20
    assert set(codes) == {0, 0x97}
    client.unsubscribe("t/0")
    assert int(client.subscribe("t/0", properties=fence).reason_codes[0]) == 0
    client.hang_up()
    assert bench.broker.ledger.subscriptions == 0


def test_a_geofence_is_bounded_in_vertices() -> None:
    ring = ", ".join(f"{9 + n / 2000} 45" for n in range(1200))
    fence = [("geofence", f"POLYGON (({ring}, 10 46, 9 46, 9 45))")]
    client = Bench().connected("c")
    assert int(client.subscribe("t", properties=fence).reason_codes[0]) == 0x83


def test_a_full_store_keeps_nothing_more_and_the_broker_goes_on(tmp_path: Path) -> None:
    store = StoredJournal(tmp_path)
    limits = Limits(store_bytes=store.size() + 200 * KIB)
    bench = Bench(Settings(limits=limits, sys_interval=0), journal=store)
    recover(bench.broker, store, bench.now)
    absent(bench, "s")
    writer = bench.connected("w")
    for _ in range(50):
        writer.publish("q", b"x" * 10 * KIB, 1)
        bench.wait(1.1)
    assert store.size() < 300 * KIB
    assert 15 < len(bench.broker.sessions["s"].queue) < 25
    writer.packets()
    writer.publish("r", b"x", 1, retain=True)
    assert int(writer.one(mqtt5.PubAckPacket).reason_code) == 0x97
    refused = bench.client()
    refused.send(mqtt5.ConnectPacket("new", session_expiry_interval=10))
    assert refused.refused_with() == 0x97
    kept = back(bench, "s")
    bench.connected("s")  # starts clean: the queue is gone
    bench.wait(1.1)
    writer.publish("r", b"x", 1, retain=True)
    assert int(writer.one(mqtt5.PubAckPacket).reason_code) < 0x80
    assert len(kept) > 15
    store.close()


def test_a_client_has_a_bounded_number_of_messages_under_way() -> None:
    bench = bench_with(maximum_inflight=5)
    absent(bench, "s")
    writer = bench.connected("w")
    for number in range(12):
        writer.publish("q", bytes([number]), 1)
    client = bench.connected("s", clean=False, expiry=1000)
    first = client.messages()
    assert len(first) == 5
    assert first[0].packet_id is not None
    client.send(mqtt5.PubAckPacket(first[0].packet_id))
    assert client.payloads() == [b"\5"]


# Rates


@pytest.mark.parametrize(
    ("rates", "data", "wait"),
    [
        (Rates(messages=10), publish() * 30, 2.0),
        (Rates(messages=10), publish(0x32, packet_id=b"\0\1") * 30, 2.0),
        (Rates(bytes=100), publish(payload=b"x" * 20) * 12, 2.0),
        (Rates(subscriptions=5), mqtt5.SubscribePacket(1, [mqtt5.TopicFilter(f"t{n}")
         for n in range(15)]).write(), 2.0),
        (Rates(locations=1), publish(topic=b"$zonal/location", payload=b"45,9") * 3, 2.0),
        (Rates(messages=100), publish() * 30, None),
    ],
)  # fmt: skip
def test_who_is_faster_than_allowed_rests(rates: Rates, data: bytes, wait: float | None) -> None:
    bench = bench_with(client_rates=rates)
    client = bench.connected("c")
    bench.now += 10
    rest = bench.broker.receive(client.connection, data, bench.now)
    assert rest == (wait if wait is None else pytest.approx(wait, abs=1.5))
    assert bench.broker.counters.slowed == int(wait is not None)


def test_resting_does_not_count_as_silence() -> None:
    bench = bench_with(client_rates=Rates(messages=1))
    client = bench.connected("c", keep_alive=2)
    client.send_bytes(publish() * 11)
    bench.wait(9)
    assert not client.is_closed
    bench.wait(5)
    assert client.is_closed


def test_clients_of_a_user_share_its_rate() -> None:
    class OneUser:
        rules = None

        def recall(self, *_: object) -> User:
            return User("u")

        check = user = recall

    settings = Settings(limits=Limits(user_rates=Rates(messages=10)), sys_interval=0)
    bench = Bench(settings, access=OneUser())
    one, two = bench.connected("one"), bench.connected("two")
    assert bench.broker.receive(one.connection, publish() * 10, bench.now) is None
    assert bench.broker.receive(two.connection, publish() * 10, bench.now) == 1.0


def test_an_allowance_comes_back_with_time_and_never_exceeds_a_second() -> None:
    allowance = Allowance(Rates(messages=4), 0.0)
    assert allowance.spend(Use(), Use(messages=4), 0.0) == 0
    assert allowance.spend(Use(), Use(messages=4), 0.5) == 0.5
    assert allowance.spend(Use(), Use(), 100.0) == 0
    assert allowance.spend(Use(), Use(messages=8), 100.0) == 1.0


def test_a_turn_ends_when_its_time_is_spent_and_goes_on_where_it_stopped() -> None:
    bench = Bench()
    client = bench.client(RemoteEnd())
    turns = iter([False, False, True, False, True, False, False, False])
    data = connect() + b"\xc0\0" * 6
    assert bench.broker.receive(client.connection, data, bench.now, lambda: next(turns)) == 0.0
    assert client.connection.reader.buffered == 8
    assert bench.broker.receive(client.connection, b"", bench.now, lambda: next(turns)) == 0.0
    assert bench.broker.receive(client.connection, b"", bench.now, lambda: next(turns)) is None
    bench.flush()
    assert len(client.packets()) == 7


def test_limits_are_written_as_text() -> None:
    found = read_limits(
        ["maximum_packet_size=1MiB", "retain-available=no", "client_rates.messages=2.5",
         "client_rates.bytes=10KiB", "connect_timeout=2.5"]
    )  # fmt: skip
    assert found == Limits(
        maximum_packet_size=1024 * KIB, retain_available=False, connect_timeout=2.5,
        client_rates=Rates(messages=2.5, bytes=10 * KIB),
    )  # fmt: skip


@pytest.mark.parametrize(
    "text", ["", "x", "speed=1", "maximum_qos", "maximum_qos=two", "client_rates=1", "backlog.x=1",
             "retain_available=1", "client_rates.x=1"],
)  # fmt: skip
def test_what_sets_no_limit_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError):
        read_limits([text])
