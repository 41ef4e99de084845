"""Every format, from files of it that are written here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import gpxpy.gpx
import pynmea2
import pytest
from google.transit import gtfs_realtime_pb2
from hypothesis import given
from hypothesis import strategies as st

from network import eventually
from zonal.errors import FeedError, PositionError, ZonalError
from zonal.feeds import KINDS, Observation, ReceiverPosition, read_gpsd, read_nmea, read_routes
from zonal.feeds.gtfs import read_vehicles
from zonal.feeds.kinds import read_whole
from zonal.feeds.owntracks import read_owntracks
from zonal.geo import Point
from zonal.keys import check_topic

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
MILANO = Point(45.5, 9.25)


def gtfs(*, route: str = "R/1") -> bytes:
    feed = gtfs_realtime_pb2.FeedMessage()
    feed.header.gtfs_realtime_version = "2.0"
    feed.header.timestamp = int(NOON.timestamp())
    entity = feed.entity.add(id="e1")
    entity.vehicle.vehicle.id = "bus 7"
    entity.vehicle.trip.route_id = route
    entity.vehicle.trip.trip_id = "t9"
    entity.vehicle.position.latitude, entity.vehicle.position.longitude = 45.5, 9.25
    entity.vehicle.position.bearing = 90.0
    feed.entity.add(id="e2").vehicle.vehicle.id = "nowhere"
    feed.entity.add(id="e3").trip_update.trip.trip_id = "t1"
    return bytes(feed.SerializeToString())


def test_vehicles_of_an_agency_are_published_by_route(tmp_path: Path) -> None:
    (bus,) = read_vehicles(gtfs())
    assert (bus.name, bus.place, bus.moment) == ("R_1/bus_7", MILANO, NOON)
    assert bus.value["heading"] == 90.0
    assert bus.value["trip"] == "t9"
    file = tmp_path / "routes.txt"
    file.write_text("route_id,route_short_name,route_long_name\nR/1,90,Circle line\n")
    (named,) = read_vehicles(gtfs(), read_routes(file))
    assert named.name == "90/bus_7"
    with pytest.raises(FeedError, match="no routes in"):
        read_routes(tmp_path / "none.zip")


def sentences() -> list[str]:
    rmc = pynmea2.RMC(
        "GP", "RMC",
        ("120000", "A", "4530.0", "N", "00915.0", "E", "10.0", "180.0", "161126", "", ""),
    )  # fmt: skip
    void = pynmea2.RMC("GP", "RMC", ("120001", "V", "", "", "", "", "", "", "161126", "", ""))
    gga = pynmea2.GGA(
        "GP", "GGA",
        ("120002", "4530.0", "N", "00915.0", "E", "1", "07", "1.0", "120.0", "M", "", "M", "", ""),
    )  # fmt: skip
    return [str(rmc), str(void), "noise", str(rmc)[:-2] + "00", str(gga)]


def test_sentences_with_a_fix_say_where_the_receiver_is() -> None:
    moving, standing = read_nmea(sentences())
    assert moving.place == standing.place == MILANO
    assert moving.value == {"kind": "receiver", "speed_m_s": 5.14, "heading": 180.0}
    assert moving.moment == NOON
    assert standing.value["altitude_m"] == 120.0


def test_a_receiver_is_the_position_of_a_session() -> None:
    with pytest.raises(PositionError, match="no fix yet"):
        ReceiverPosition([]).wait(10)
    position = ReceiverPosition(read_nmea(sentences()))
    assert position.wait(10) == position() == MILANO


def test_the_last_fix_of_a_receiver_that_is_gone_stays(caplog: pytest.LogCaptureFixture) -> None:
    def cut_off() -> Iterator[Observation]:
        yield from read_nmea(sentences())
        raise FeedError("connection reset by peer")

    position = ReceiverPosition(cut_off())
    assert position.wait(10) == MILANO
    eventually(lambda: "the receiver is gone" in caplog.text)
    assert position() == MILANO


def test_reports_of_gpsd() -> None:
    lines = [
        '{"class":"VERSION"}',
        '{"class":"TPV","mode":1}',
        "{",
        '{"class":"TPV","mode":3,"time":"2026-11-16T12:00:00.000Z","lat":45.5,"lon":9.25,"speed":2}',
    ]
    (fix,) = read_gpsd(lines)
    assert (fix.place, fix.moment, fix.value["speed_m_s"]) == (MILANO, NOON, 2)


def test_phones_of_owntracks() -> None:
    said = {
        "_type": "location", "lat": 45.5, "lon": 9.25, "tst": NOON.timestamp(),
        "acc": 12, "vel": 36, "batt": 80, "tid": "an",
    }  # fmt: skip
    seen = read_owntracks("owntracks/anna/phone", json.dumps(said).encode())
    assert seen is not None
    assert (seen.name, seen.place, seen.moment) == ("anna/phone", MILANO, NOON)
    assert seen.value["speed_m_s"] == 10
    for other in (b'{"_type":"lwt"}', b"no json", b"[1]", b'{"_type":"location","lat":"x"}'):
        assert read_owntracks("owntracks/anna/phone", other) is None


def one(kind: str, text: str | bytes) -> Observation:
    (seen,) = KINDS[kind].read(text.encode() if isinstance(text, str) else text)
    return seen


def test_stations_of_sensor_community() -> None:
    reading = {
        "timestamp": "2026-11-16 12:00:00",
        "location": {"latitude": "45.5", "longitude": "9.25", "country": "IT"},
        "sensor": {"id": 42, "sensor_type": {"name": "SDS011"}},
        "sensordatavalues": [
            {"value_type": "P1", "value": "21.5"}, {"value_type": "temperature", "value": "8"},
        ],
    }  # fmt: skip
    seen = one("sensor-community", json.dumps([reading, {"location": None}]))
    assert (seen.name, seen.place, seen.moment) == ("it/42", MILANO, NOON)
    assert (seen.value["pm10"], seen.value["temperature"]) == (21.5, 8)


def test_stations_of_openaq() -> None:
    result = {
        "datetime": {"utc": "2026-11-16T12:00:00Z"}, "value": 21.5, "sensorsId": 7,
        "locationsId": 3, "coordinates": {"latitude": 45.5, "longitude": 9.25},
    }  # fmt: skip
    seen = one("openaq", json.dumps({"results": [result]}))
    assert (seen.name, seen.place, seen.moment) == ("3/7", MILANO, NOON)
    assert seen.value["value"] == 21.5


def test_aircraft_of_opensky_and_readsb() -> None:
    state = ["4b1800", "SWR1 ", "CH", 1794830400, 0, 9.25, 45.5, 900.0, False, 80.0, 270.0, 0]
    opensky = one("aircraft", json.dumps({"time": 0, "states": [state, state[:3]]}))
    assert (opensky.name, opensky.place, opensky.moment) == ("4b1800", MILANO, NOON)
    assert opensky.value["callsign"] == "SWR1"
    own = {"hex": "4b1800", "lat": 45.5, "lon": 9.25, "alt_baro": 1000, "gs": 100, "seen_pos": 5}
    readsb = one("aircraft", json.dumps({"now": NOON.timestamp() + 5, "aircraft": [own]}))
    assert (readsb.place, readsb.moment, readsb.value["altitude_m"]) == (MILANO, NOON, 305)


@pytest.mark.parametrize(
    "text",
    [
        '{"mmsi": 211, "lat": 45.5, "lon": 9.25, "speed": 10}\n{"mmsi": 212}\n',
        '{"features": [{"geometry": {"coordinates": [9.25, 45.5]}, "properties": {"mmsi": 211, "sog": 10}}]}',  # noqa: E501
        '{"MetaData": {"MMSI": 211, "latitude": 45.5, "longitude": 9.25}, "Message": {"PositionReport": {"Sog": 10}}}',  # noqa: E501
    ],
)
def test_ships_as_receivers_write_them(text: str) -> None:
    seen = one("ships", text)
    assert (seen.name, seen.place, seen.value["speed_m_s"]) == ("211", MILANO, 5.14)


def test_points_and_lines_of_geojson() -> None:
    features = [
        {"type": "Feature", "id": "a", "properties": {"time": "2026-11-16T12:00:00Z", "pm10": 3},
         "geometry": {"type": "Point", "coordinates": [9.25, 45.5]}},
        {"type": "Feature", "properties": {"name": "walk", "coordTimes": ["2026-11-16T12:00:00Z"]},
         "geometry": {"type": "LineString", "coordinates": [[9.25, 45.5], [9.3, 45.6, 100]]}},
        {"type": "Feature", "properties": None, "geometry": None},
    ]  # fmt: skip
    point, first, second = KINDS["geojson"].read(json.dumps({"features": features}).encode())
    assert (point.name, point.place, point.moment) == ("a", MILANO, NOON)
    assert point.value == {"id": "a", "pm10": 3}
    assert (first.name, first.moment, second.moment) == ("walk", NOON, None)
    assert second.place == Point(45.6, 9.3)


def test_rows_of_csv() -> None:
    seen = one("csv", "Id,Latitude,Longitude,Timestamp,pm10\nx,45.5,9.25,1794830400,3.5\n")
    assert (seen.name, seen.place, seen.moment) == ("x", MILANO, NOON)
    assert seen.value == {"id": "x", "pm10": 3.5}
    with pytest.raises(FeedError, match="hold no place"):
        one("csv", "a,b\n1,2\n")


def test_tracks_of_gpx() -> None:
    gpx = gpxpy.gpx.GPX()
    track = gpxpy.gpx.GPXTrack(name="ride 1")
    point = gpxpy.gpx.GPXTrackPoint(45.5, 9.25, elevation=120, time=NOON)
    track.segments.append(gpxpy.gpx.GPXTrackSegment([point]))
    gpx.tracks.append(track)
    seen = one("gpx", gpx.to_xml())
    assert (seen.name, seen.place, seen.moment) == ("ride_1", MILANO, NOON)
    assert seen.value["elevation_m"] == 120


NAMES = st.sampled_from(
    ["features", "states", "aircraft", "results", "properties", "geometry", "coordinates", "type",
     "location", "sensor", "mmsi", "lat", "lon", "now", "Point", "LineString", "coordTimes"]
)  # fmt: skip
ODD_JSON = st.recursive(
    st.none() | st.integers() | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=8,
)


@pytest.mark.parametrize("kind", sorted(KINDS))
@given(data=st.binary(max_size=60) | ODD_JSON.map(lambda value: json.dumps(value).encode()))
def test_what_is_not_of_the_format_is_a_feed_error(kind: str, data: bytes) -> None:
    try:
        seen = read_whole(KINDS[kind], data)
    except ZonalError:
        return
    for each in seen:
        check_topic(each.name)


@given(route=st.text(max_size=20))
def test_whatever_an_agency_calls_a_route_is_fit_for_a_key(route: str) -> None:
    try:
        data = gtfs(route=route)
    except (ValueError, UnicodeEncodeError):
        return
    for each in read_vehicles(data):
        check_topic(f"bus/{each.name}")
