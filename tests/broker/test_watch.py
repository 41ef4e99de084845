"""`detect` on SUBSCRIBE: a client is told who comes and goes, on a bench where time is ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker_bench import Bench, Client
from zonal.broker.recovery import recover
from zonal.broker.store import StoredJournal
from zonal.geo import Point, destination

DUOMO = Point(45.4642, 9.19)
CIRCLE = ("geofence", "CIRCLE (9.19 45.4642, 1000)")


def at(metres: float) -> tuple[str, str]:
    place = destination(DUOMO, 90, metres)
    return "location", f"{place.lat!r},{place.lon!r}"


def told(client: Client) -> list[tuple[str, str, str | None]]:
    """Event, thing and zone of what has come."""
    found = []
    for packet in client.messages():
        properties = dict(packet.user_properties)
        found.append((properties.get("event", ""), properties["thing"], properties.get("zone")))
    return found


def watching(bench: Bench, detect: str, *more: tuple[str, str], **options: object) -> Client:
    client = bench.connected("watcher", **options)
    answer = client.subscribe("bus/+", 1, properties=[CIRCLE, ("detect", detect), *more])
    assert [int(code) for code in answer.reason_codes] == [1]
    return client


def test_events_arrive_as_messages_with_user_properties() -> None:
    bench = Bench()
    watcher = watching(bench, "enter,leave,cross,hysteresis:25m", ("zone", "Duomo"))
    bus = bench.connected("bus")
    for metres in (1300, 500, 1010, 1200, -1200):
        bus.publish("bus/7", str(metres).encode(), properties=[at(metres)])
        bench.now += 1
    packets = watcher.messages()
    assert [packet.payload for packet in packets] == [b"500", b"1200", b"-1200"]
    first, second, third = (dict(packet.user_properties) for packet in packets)
    assert first == {"event": "enter", "thing": "bus/7", "zone": "Duomo", "location": at(500)[1]}
    assert (second["event"], second["reason"], third["event"]) == ("leave", "moved", "cross")
    assert packets[0].topic == "bus/7"


def test_time_brings_dwell_and_silence() -> None:
    bench = Bench()
    watcher = watching(bench, "enter,leave,dwell:60s,silence:120s")
    bench.connected("bus").publish("bus/7", b"x", properties=[at(0)])
    bench.wait(59)
    assert told(watcher) == [("enter", "bus/7", None)]
    bench.wait(2)
    assert told(watcher) == [("dwell", "bus/7", None)]
    bench.wait(60)
    (packet,) = watcher.messages()
    assert dict(packet.user_properties)["reason"] == "silent"
    assert packet.payload == b""


def test_who_does_not_detect_gets_messages_beside_it() -> None:
    bench = Bench()
    watcher, plain = watching(bench, "enter"), bench.connected("plain")
    plain.subscribe("bus/+", properties=[CIRCLE])
    bus = bench.connected("bus")
    for metres in (0, 10, 1200):
        bus.publish("bus/7", str(metres).encode(), properties=[at(metres)])
    assert told(watcher) == [("enter", "bus/7", None)]
    assert [packet.payload for packet in plain.messages()] == [b"0", b"10"]
    watcher.subscribe("bus/+", properties=[CIRCLE, ("detect", "leave")])
    bus.publish("bus/8", b"x", properties=[at(0)])
    assert told(watcher) == []  # another watch took its place


def test_what_is_retained_inside_was_there_before() -> None:
    bench = Bench()
    bus = bench.connected("bus")
    bus.publish("bus/7", b"x", properties=[at(0)], retain=True)
    watcher = watching(bench, "enter,leave")
    bench.now += 1
    bus.publish("bus/7", b"x", properties=[at(10)])
    assert told(watcher) == []
    bus.publish("bus/7", b"x", properties=[at(1100)])
    assert told(watcher) == [("leave", "bus/7", None)]


def test_a_border_follows_its_client() -> None:
    bench = Bench()
    walker = bench.connected("walker", user_properties=[at(0)])
    walker.subscribe("bus/+", properties=[("around", "200m"), ("detect", "enter,leave")])
    bus = bench.connected("bus")
    bus.publish("bus/7", b"x", properties=[at(400)])
    assert told(walker) == []
    walker.publish("$zonal/location", at(300)[1].encode())
    assert told(walker) == [("enter", "bus/7", None)]
    walker.publish("$zonal/location", at(0)[1].encode())
    assert told(walker) == [("leave", "bus/7", None)]


def test_a_durable_watch_survives_the_broker(tmp_path: Path) -> None:
    store = StoredJournal(tmp_path)
    bench = Bench(journal=store)
    watching(bench, "enter", ("zone", "Duomo"), expiry=1000).hang_up()
    store.close()
    store = StoredJournal(tmp_path)
    again = Bench(journal=store)
    recover(again.broker, store, again.now)
    again.connected("bus").publish("bus/7", b"x", properties=[at(0)])
    back = again.connected("watcher", expiry=1000, clean=False)
    assert told(back) == [("enter", "bus/7", "Duomo")]
    store.close()


@pytest.mark.parametrize(
    ("properties", "wrong"),
    [
        ([("detect", "enter")], "geofence or around"),
        ([CIRCLE, ("detect", "arrive")], "arrive"),
        ([CIRCLE, ("detect", "dwell")], "belong together"),
        ([CIRCLE, ("detect", "enter"), ("detect", "leave")], "more than once"),
    ],
)
def test_what_cannot_be_detected_is_refused(properties: list[tuple[str, str]], wrong: str) -> None:
    answer = Bench().connected("c").subscribe("bus/+", properties=properties)
    assert [int(code) for code in answer.reason_codes] == [0x83]
    assert wrong in (answer.reason_str or "")
