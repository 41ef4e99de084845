"""Places in payloads: rules and presets, with the messages that devices document."""

from __future__ import annotations

import contextlib
import json
import struct
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_bench import Bench
from zonal.broker.location_rules import PRESETS, LocationRules, read_location_rules
from zonal.broker.payload_formats import (
    Condition,
    from_geojson,
    from_nmea,
    read_path,
    sparkplug_metrics,
)
from zonal.broker.settings import Settings
from zonal.broker.zones import read_zones
from zonal.errors import ConfigurationError
from zonal.geo import Point

if TYPE_CHECKING:
    from pathlib import Path

MILANO = "CIRCLE (9.19 45.46, 20000)"
PHONE = {"_type": "location", "lat": 45.4642, "lon": 9.19, "tst": 1752600000, "acc": 12,
         "tid": "ph", "batt": 71, "conn": "m", "t": "u"}  # fmt: skip
SENSOR = {"Time": "2026-07-01T10:00:00", "GPS": {"lat": 45.4642, "lon": 9.19, "alt": 122.0}}
CHIRPSTACK = {"deviceInfo": {"devEui": "0102030405060708"}, "fCnt": 10, "object": {
    "temperature": 21.5, "latitude": 45.4642, "longitude": 9.19}}  # fmt: skip
CHIRPSTACK_LOCATION = {"deviceInfo": {}, "location": {
    "latitude": 45.4642, "longitude": 9.19, "altitude": 0.0, "source": "GEO_RESOLVER"}}  # fmt: skip
TTN = {"end_device_ids": {"device_id": "dev1"}, "uplink_message": {"f_port": 1, "locations": {
    "frm-payload": {"latitude": 45.4642, "longitude": 9.19, "source": "SOURCE_GPS"}}}}  # fmt: skip
TTN_DECODED = {"uplink_message": {"decoded_payload": {"latitude": 45.4642, "longitude": 9.19}}}
TTN_SOLVED = {"location_solved": {"location": {"latitude": 45.4642, "longitude": 9.19}}}
GGA = b"$GPGGA,201229.00,4527.85200,N,00911.40000,E,1,08,0.96,66.1,M,18.7,M,,*68"


def rules(folder: Path, text: str) -> LocationRules:
    file = folder / "locations.toml"
    file.write_text(text)
    return read_location_rules(file)


def bench_of(found: LocationRules) -> Bench:
    return Bench(Settings(sys_interval=0, locations=found))


@pytest.mark.parametrize(
    ("preset", "topic", "payload", "moves"),
    [
        ("owntracks", "owntracks/jane/phone", PHONE, True),
        ("tasmota", "tele/tracker/SENSOR", SENSOR, True),
        ("chirpstack", "application/a1/device/01/event/up", CHIRPSTACK, False),
        ("chirpstack", "application/a1/device/01/event/location", CHIRPSTACK_LOCATION, False),
        ("ttn", "v3/app1@ttn/devices/dev1/up", TTN, False),
        ("ttn", "v3/app1@ttn/devices/dev1/up", TTN_DECODED, False),
        ("ttn", "v3/app1@ttn/devices/dev1/location/solved", TTN_SOLVED, False),
    ],
)
def test_presets_place_the_messages_of_devices(
    tmp_path: Path, preset: str, topic: str, payload: dict[str, Any], moves: bool
) -> None:
    bench = bench_of(rules(tmp_path, f'presets = ["{preset}"]'))
    reader = bench.connected("r")
    reader.subscribe("#", properties=[("geofence", MILANO)])
    device = bench.connected("device")
    device.publish(topic, json.dumps(payload).encode())
    (message,) = reader.messages()
    assert (message.topic, json.loads(message.payload)) == (topic, payload)
    assert message.user_properties == [("location", "45.4642,9.19")]
    here = bench.broker.sessions["device"].location
    assert here == (Point(45.4642, 9.19) if moves else None)


def test_a_phone_hears_what_is_around_it_as_it_moves(tmp_path: Path) -> None:
    bench = bench_of(rules(tmp_path, 'presets = ["owntracks"]'))
    phone, siren = bench.connected("phone"), bench.connected("siren")
    phone.subscribe("$geo/around:500m/alerts")
    for lat, wanted in ((45.4642, [b"here"]), (52.52, [])):
        phone.publish("owntracks/jane/phone", json.dumps({**PHONE, "lat": lat}).encode())
        siren.publish("$geo/at:45.4642,9.19/alerts", b"here")
        assert phone.payloads() == wanted


@pytest.mark.parametrize(
    "payload", [b"no json", b"[" * 100_000, b"{}", b'{"_type": "location", "lat": 95, "lon": 9}',
                b'{"_type": "waypoint", "lat": 45, "lon": 9}', b'"text"', b"",
                b'{"_type": "location", "lat": true, "lon": 9}'],
)  # fmt: skip
def test_a_payload_without_a_place_is_passed_on(tmp_path: Path, payload: bytes) -> None:
    bench = bench_of(rules(tmp_path, 'presets = ["owntracks"]'))
    reader, phone = bench.connected("r"), bench.connected("phone")
    reader.subscribe("#")
    phone.publish("owntracks/jane/phone", payload)
    (message,) = reader.messages()
    assert (message.payload, message.user_properties) == (payload, [])
    assert bench.broker.sessions["phone"].location is None


def test_rules_of_ones_own(tmp_path: Path) -> None:
    found = rules(
        tmp_path,
        """
        [[locations]]
        topic = "cars/+/gps"
        latitude = "$.fixes[-1]['lat']"
        longitude = "$.fixes[-1].lon"
        condition = "$.fixes and $.quality >= 2"

        [[locations]]
        topic = "geo/#"
        format = "geojson"
        geometry = "$.where"

        [[locations]]
        topic = "nmea/+"
        format = "nmea"
        client = false
        """,
    )
    bench = bench_of(found)
    reader, car = bench.connected("r"), bench.connected("car")
    reader.subscribe("#")
    fixes = {"quality": 2, "fixes": [{}, {"lat": "45.5", "lon": 9}]}
    point = {"where": {"type": "Feature", "geometry": {"type": "Point", "coordinates": [9, 45]}}}
    car.publish("cars/1/gps", json.dumps(fixes).encode())
    car.publish("cars/1/gps", json.dumps({**fixes, "quality": 1}).encode())
    car.publish("geo/a/b", json.dumps(point).encode())
    car.publish("nmea/1", GGA)
    places = [dict(message.user_properties).get("location") for message in reader.messages()]
    assert places == ["45.5,9.0", "45.5,9.0", "45.0,9.0", "45.4642,9.19"]
    assert bench.broker.sessions["car"].location == Point(45, 9)


@pytest.mark.parametrize(
    "text",
    ["locations = 3", "[[locations]]\nlatitude = '$.a'", "[[locations]]\ntopic = 'a/#/b'",
     "[[locations]]\ntopic = 't'\nlatitude = '$.a'", "presets = ['nothing']", "preset = []", "= 3",
     "[[locations]]\ntopic = 't'\nlatitude = 'lat'\nlongitude = '$.lon'",
     "[[locations]]\ntopic = 't'\nlatitude = '$.a'\nlongitude = '$.b'\ncondition = 'x'",
     "[[locations]]\ntopic = 't'\nformat = 'xml'",
     "[[locations]]\ntopic = 't'\nformat = 'nmea'\nlat = '$.a'"],
)  # fmt: skip
def test_bad_rules_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigurationError):
        rules(tmp_path, text)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (GGA, Point(45.4642, 9.19)),
        (b"$GNRMC,201230.00,A,4527.852,S,00911.4,W,0.6,,150722,,,A", Point(-45.4642, -9.19)),
        (b"$GPGLL,4527.852,N,00911.4,E,201230.00,A,A", Point(45.4642, 9.19)),
        (GGA[:-2] + b"00", None),
        (GGA.replace(b",1,08", b",0,08")[:-3], None),
        (b"$GNRMC,201230.00,V,4527.852,S,00911.4,W,0.6,,150722,,,A", None),
        (b"$GPGGA,,,,,,0", None),
        (b"noise \xff $GPGGA", None),
    ],
)
def test_nmea_sentences(data: bytes, found: Point | None) -> None:
    assert from_nmea(data) == found


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def metric(name: str | None, alias: int | None, value: float) -> bytes:
    data = b"" if name is None else b"\x0a" + varint(len(name)) + name.encode()
    data += b"" if alias is None else b"\x10" + varint(alias)
    data += b"\x20\x0a\x69" + struct.pack("<d", value)
    return b"\x12" + varint(len(data)) + data


def test_sparkplug_devices_report_what_changes(tmp_path: Path) -> None:
    bench = bench_of(rules(tmp_path, 'presets = ["sparkplug"]'))
    reader, node = bench.connected("r"), bench.connected("node")
    reader.subscribe("#")
    stamp = b"\x08" + varint(1_752_600_000_000)
    birth = stamp + metric("Latitude", 7, 45.0) + metric("Longitude", 300, 9.0) + b"\x18\x00"
    node.publish("spBv1.0/plant/DBIRTH/node/truck", birth)
    node.publish("spBv1.0/plant/DDATA/node/truck", stamp + metric(None, 300, 9.5))
    node.publish("spBv1.0/plant/DDATA/node/truck", stamp + metric("Speed", None, 3.0))
    node.publish("spBv1.0/plant/DDATA/node/other", stamp + metric(None, 7, 1.0))
    node.publish("spBv1.0/plant/DDATA/node/truck", b"\xff")
    places = [dict(message.user_properties).get("location") for message in reader.messages()]
    assert places[:2] == ["45.0,9.0", "45.0,9.5"]
    assert bench.broker.sessions["node"].location == Point(45.0, 9.5)
    assert bench.broker.counters.unread_locations == 1


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    from_nmea(data)
    with contextlib.suppress(ValueError):
        sparkplug_metrics(data)


@given(st.recursive(st.none() | st.floats() | st.text(), lambda inner: st.lists(inner)
                    | st.dictionaries(st.sampled_from(["type", "geometry", "coordinates", "a"]),
                                      inner | st.sampled_from(["Point", "Feature"]))))  # fmt: skip
def test_any_json_is_read_or_refused(value: Any) -> None:
    for condition in ("$.a", "$.a == 'x'", "$.a['type'][0] <= 3", "$.a != null"):
        Condition(condition).holds(value)
    with contextlib.suppress(ValueError):
        from_geojson(value)


def test_every_preset_is_a_rule(tmp_path: Path) -> None:
    found = rules(tmp_path, f"presets = {list(PRESETS)}")
    assert len(found.apply_to("owntracks/a/b")) == 1
    assert found.apply_to("other") == ()
    assert read_path("$.a['b c'][-1]") == ("a", "b c", -1)


def test_zones_come_from_geojson(tmp_path: Path) -> None:
    file = tmp_path / "zones.geojson"
    ring = [[9, 45], [10, 45], [10, 46], [9, 46], [9, 45]]
    feature = {"type": "Feature", "properties": {"name": "MILANO"},
               "geometry": {"type": "Polygon", "coordinates": [ring]}}  # fmt: skip
    file.write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
    (zone,) = read_zones(file).values()
    assert zone.contains(Point(45.5, 9.5))
    for bad in ("{}", "[]", '{"features": [{}]}', "nonsense",
                json.dumps({"features": [feature, feature]})):  # fmt: skip
        file.write_text(bad)
        with pytest.raises(ConfigurationError):
            read_zones(file)
