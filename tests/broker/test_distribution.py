"""Who receives a message is found once, kept by value, and forgotten when it may have changed."""

from __future__ import annotations

from broker_bench import Bench

FENCE = "POLYGON ((9 45, 10 45, 10 46, 9 46, 9 45))"


def test_a_change_forgets_what_it_concerns_and_no_more() -> None:
    bench = Bench()
    reader = bench.connected("reader")
    reader.subscribe("a")
    reader.subscribe("b", properties=[("geofence", FENCE)])
    writer = bench.connected("writer")
    kept = bench.broker.distributor

    def publish() -> None:
        writer.publish("a", b"1")
        writer.publish("b", b"2", properties=[("location", "45.5,9.5")])
        assert reader.payloads() == [b"1", b"2"]

    publish()
    assert set(kept.by_topic) == {"a", "b"}
    stamp = kept.stamp
    reader.publish("$zonal/location", b"45.5,9.5")
    assert (set(kept.by_topic), kept.stamp) == ({"a", "b"}, stamp + 1)
    publish()
    reader.subscribe("other")
    assert (set(kept.by_topic), kept.stamp) == ({"a", "b"}, stamp + 2)
    reader.subscribe("a", 1)
    assert set(kept.by_topic) == {"b"}
    publish()
    reader.subscribe("+/x")
    assert not kept.by_topic


def test_the_brokers_own_topics_are_not_kept() -> None:
    bench = Bench()
    reader = bench.connected("reader")
    reader.subscribe("$SYS/#")
    assert bench.broker.distributor.on_topic("$SYS/broker/uptime") is None
    assert bench.broker.distributor.on_topic("a/+") is None
    assert not bench.broker.distributor.by_topic
