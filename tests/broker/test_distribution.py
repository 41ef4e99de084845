"""Who receives a message is found once, kept by value, and forgotten when it may have changed."""

from __future__ import annotations

from broker_bench import Bench

FENCE = "POLYGON ((9 45, 10 45, 10 46, 9 46, 9 45))"


def test_equal_places_in_other_words_share_what_is_kept() -> None:
    bench = Bench()
    reader = bench.connected("reader", user_properties=[("location", "45.5,9.5")])
    reader.subscribe("t", properties=[("geofence", FENCE)])
    writer = bench.connected("writer")
    for place in ("45.46,9.19", "45.460,9.190", "POINT (9.19 45.46)"):
        writer.publish("t", place.encode(), properties=[("location", place), ("geofence", FENCE)])
    assert len(reader.payloads()) == 3
    assert len(bench.broker.distributor._by_place) == 1


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
    assert (set(kept.by_topic), len(kept._by_place)) == ({"a"}, 1)
    reader.publish("$zonal/location", b"45.5,9.5")
    assert (set(kept.by_topic), len(kept._by_place)) == ({"a"}, 0)
    publish()
    reader.subscribe("other")
    assert (set(kept.by_topic), len(kept._by_place)) == ({"a"}, 0)
    reader.subscribe("a", 1)
    assert not kept.by_topic
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
