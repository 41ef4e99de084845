"""Places in topics: what clients without user properties say with `$geo/…`."""

from __future__ import annotations

import mqtt5
import pytest

from broker_bench import Bench, Client
from zonal.broker.geotopics import GeoTopics
from zonal.broker.settings import Settings
from zonal.broker.version_311 import variable
from zonal.errors import GeometryError
from zonal.geo import Box, Circle, Point, Polygon

DUOMO, BERLIN = "45.4642,9.19", "52.52,13.405"
ZONES = {"DUOMO": Circle(Point(45.4642, 9.19), radius_m=300), "a/b": Box(0, 0, 1, 1).to_wkt()}


def bench_with_zones() -> Bench:
    return Bench(Settings(sys_interval=0, zones=ZONES))


class Older:
    """A client of version 3.1.1, which has no properties."""

    def __init__(self, bench: Bench, name: str) -> None:
        self.client = bench.client()
        self._frame(0x10, b"\x00\x04MQTT\x04\x02\x00\x00" + text(name))
        self.client.inbox = b""

    def _frame(self, first: int, body: bytes) -> None:
        self.client.send_bytes(bytes((first,)) + variable(len(body)) + body)

    def subscribe(self, pattern: str) -> int:
        self._frame(0x82, b"\x00\x01" + text(pattern) + b"\x00")
        code, self.client.inbox = self.client.inbox[4], b""
        return code

    def publish(self, topic: str, payload: bytes, first: int = 0x30) -> None:
        packet_id = b"\x00\x07" if first & 0x06 else b""
        self._frame(first, text(topic) + packet_id + payload)

    def heard(self) -> list[tuple[str, bytes]]:
        found, data, self.client.inbox = [], self.client.inbox, b""
        while data:
            size, end = int.from_bytes(data[2:4]), 2 + data[1]
            found.append((data[4 : 4 + size].decode(), data[4 + size : end]))
            data = data[end:]
        return found


def text(value: str) -> bytes:
    return len(value.encode()).to_bytes(2) + value.encode()


@pytest.mark.parametrize(
    "place", ["circle:45.46,9.19,2km", "box:45.4,9.1,45.5,9.3", "zone:DUOMO", "around:500m"]
)
def test_an_older_client_hears_only_what_comes_from_a_place(place: str) -> None:
    bench = bench_with_zones()
    phone = Older(bench, "phone")
    phone.publish("$zonal/location", DUOMO.encode())
    assert phone.subscribe(f"$geo/{place}/city/+") == 0
    sensor = Older(bench, "sensor")
    sensor.publish(f"$geo/at:{DUOMO}/city/air", b"21")
    sensor.publish(f"$geo/at:{BERLIN}/city/air", b"12")
    sensor.publish("city/air", b"somewhere")
    assert phone.heard() == [("city/air", b"21")]


@pytest.mark.parametrize("fence", ["circle:45.46,9.19,2km", "zone:DUOMO", "around:1km"])
def test_an_older_client_tells_only_those_inside(fence: str) -> None:
    bench = bench_with_zones()
    inside, outside = Older(bench, "inside"), Older(bench, "outside")
    for client, place in ((inside, DUOMO), (outside, BERLIN)):
        client.publish("$zonal/location", place.encode())
        client.subscribe("alerts")
    siren = Older(bench, "siren")
    siren.publish(f"$geo/at:{DUOMO};fence:{fence}/alerts", b"storm", 0x32)
    assert inside.heard() == [("alerts", b"storm")]
    assert outside.heard() == []
    assert siren.client.inbox == b"\x40\x02\x00\x07"


def test_version_5_receivers_are_told_where_it_came_from() -> None:
    bench = Bench()
    reader = bench.connected("r")
    reader.subscribe("air", 1)
    sensor = Older(bench, "sensor")
    for first in (0x30, 0x32, 0x34):
        sensor.publish(f"$geo/at:{DUOMO}/air", b"21", first)
    for message in reader.messages():
        assert (message.topic, message.user_properties) == ("air", [("location", DUOMO)])


def test_a_group_is_shared_whatever_place_its_members_listen_to() -> None:
    bench = Bench()
    members = [Older(bench, "a"), Older(bench, "b")]
    for member in members:
        assert member.subscribe("$share/g/$geo/circle:45.46,9.19,2km/t") == 0
    elsewhere = Older(bench, "c")
    assert elsewhere.subscribe("$share/g/$geo/circle:52.5,13.4,9km/t") == 0
    sensor = Older(bench, "sensor")
    for number in range(4):
        sensor.publish(f"$geo/at:{DUOMO}/t", bytes((65 + number,)))
    assert [len(member.heard()) for member in members] == [2, 2]
    assert elsewhere.heard() == []
    sensor.publish(f"$geo/at:{BERLIN}/t", b"x")
    assert elsewhere.heard() == [("t", b"x")]


def test_a_retained_message_keeps_the_place_of_its_topic() -> None:
    bench = Bench()
    Older(bench, "sensor").publish(f"$geo/at:{DUOMO}/air", b"21", 0x31)
    near, far = bench.connected("near"), bench.connected("far")
    near.subscribe("$geo/circle:45.46,9.19,2km/#")
    far.subscribe("$geo/circle:52.5,13.4,2km/#")
    assert near.payloads() == [b"21"]
    assert far.payloads() == []


def test_the_place_of_a_client_is_given_through_the_same_door() -> None:
    bench = Bench()
    phone = Older(bench, "phone")
    phone.publish(f"$geo/at:{DUOMO}/$zonal/location", b"")
    assert bench.broker.sessions["phone"].location == Point(45.4642, 9.19)


@pytest.mark.parametrize(
    ("topic", "reason"),
    [
        ("$geo/at:95,9/t", "latitude 95"),
        ("$geo/at:45,9", "topic must follow"),
        ("$geo/at:45,9;at:45,9/t", "each once"),
        ("$geo/fence:around:1km/t", "yours is not known"),
        ("$geo/fence:zone:NOWHERE/t", "known here: DUOMO, a/b"),
        ("$geo/fence:circle:45,9/t", "is no area"),
        ("$geo/nonsense/t", "a publication is"),
        ("$geo/at:45,9/$SYS/x", "the broker's own"),
        ("$geo/at:45,9/$geo/at:45,9/x", "the broker's own"),
    ],
)
def test_what_is_no_place_to_publish_from_is_answered(topic: str, reason: str) -> None:
    bench = bench_with_zones()
    reader = bench.connected("r")
    reader.subscribe("#")
    client = bench.connected("c")
    client.publish(topic, b"x", 1)
    answer = client.one(mqtt5.PubAckPacket)
    assert int(answer.reason_code) in {0x87, 0x90}
    assert reason in str(answer.reason_str)
    assert reader.messages() == []
    assert not client.is_closed


@pytest.mark.parametrize(
    "pattern",
    ["$geo/circle:45,9/t", "$geo/around:500/t", "$geo/zone:NOWHERE/t", "$geo/at:45,9/t",
     "$geo/circle:45,9,1km", "$geo/circle:45,9,1km/", "$geo/+/t", "$geo//t", "$geo/#"],
)  # fmt: skip
def test_what_is_no_place_to_listen_to_is_refused(pattern: str) -> None:
    client = bench_with_zones().connected("c")
    assert [int(code) for code in client.subscribe(pattern).reason_codes] == [0x8F]


def test_topic_and_properties_do_not_both_say_a_place() -> None:
    bench = bench_with_zones()
    client: Client = bench.connected("c")
    answer = client.subscribe("$geo/zone:DUOMO/t", properties=[("around", "5m")])
    assert [int(code) for code in answer.reason_codes] == [0x83]
    client.publish(f"$geo/at:{DUOMO}/t", b"x", 1, properties=[("location", DUOMO)])
    assert int(client.one(mqtt5.PubAckPacket).reason_code) == 0x83


def test_unsubscribing_names_the_same_filter() -> None:
    bench = bench_with_zones()
    client = bench.connected("c")
    client.subscribe("$geo/zone:DUOMO/t")
    assert [int(code) for code in client.unsubscribe("$geo/zone:DUOMO/t").reason_codes] == [0]
    bench.connected("p").publish(f"$geo/at:{DUOMO}/t", b"x")
    assert client.messages() == []


def test_names_of_zones_may_have_any_signs() -> None:
    assert GeoTopics(ZONES).area("zone:a%2Fb") == Polygon(Box(0, 0, 1, 1).ring)
    with pytest.raises(GeometryError):
        GeoTopics(ZONES).area("zone:a%2fc")
