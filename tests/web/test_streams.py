from __future__ import annotations

import socket
import time
from urllib.parse import quote

import pytest

import zonal
from events import Event, EventReader
from network import client, eventually, wait_for_match
from served import Web, WebWith
from zonal import Point
from zonal.web import WebLimits
from zonal.web.connections import HttpConnection

INSIDE, OUTSIDE = Point(45.4642, 9.19), Point(45.60, 9.40)
AREA = "lat=45.4642&long=9.19&shape=circle&r=500"


def wait_for(web: Web, opened: Event) -> None:
    """Until the publisher's side knows the keys that the stream declared."""
    for key in opened.data["declared"]:
        wait_for_match(web.sensor.zenoh, key)


def test_a_stream_gets_what_is_inside_its_area(web: Web) -> None:
    with EventReader(f"{web.url}/city/air?{AREA}") as reader:
        assert reader.response.headers["content-type"] == "text/event-stream"
        opened = reader.next()
        assert opened.name == "ready"
        assert opened.data["area"]["radius_m"] == 500
        wait_for(web, opened)
        web.sensor.put("city/air", "far", location=OUTSIDE)
        web.sensor.put(
            "city/air", '{"pm10": 21}', location=INSIDE, content_encoding="application/json"
        )
        web.sensor.delete("city/air", location=INSIDE)
        put, delete = reader.next(), reader.next()
    assert put.name == "PUT"
    assert put.data["value"] == {"pm10": 21}
    assert put.data["location"] == {"lat": 45.4642, "long": 9.19}
    assert delete.name == "DELETE"


def test_a_stream_in_a_bloom_domain(web: Web) -> None:
    domain = "bloom:45.3,9.0,45.7,9.5,20x20,0.25"
    with EventReader(f"{web.url}/city/air?{AREA}&encoding={domain}") as reader:
        wait_for(web, reader.next())
        web.sensor.put("city/air", "far", location=OUTSIDE, encoding=domain)
        web.sensor.put("city/air", "near", location=INSIDE, encoding=domain)
        assert reader.next().data["location"] == {"lat": 45.4642, "long": 9.19}


@pytest.mark.parametrize(
    "shape",
    [
        "shape=box&min_lat=45.46&min_long=9.18&max_lat=45.47&max_long=9.2",
        "shape=polygon&wkt="
        + quote("POLYGON ((9.18 45.46, 9.2 45.46, 9.2 45.47, 9.18 45.47, 9.18 45.46))"),
        "lat=45.4642&long=9.19&shape=circle&r=10&encoding=mgrs,s2",
    ],
)
def test_all_shapes_and_encodings(web: Web, shape: str) -> None:
    with EventReader(f"{web.url}/city/air?{shape}") as reader:
        wait_for(web, reader.next())
        web.sensor.put("city/air", "far", location=OUTSIDE)
        web.sensor.put("city/air", "near", location=INSIDE)
        assert reader.next().data["location"]["lat"] == 45.4642
        if "mgrs" in shape:
            web.sensor.put("city/air", "near", location=INSIDE, encoding="mgrs")
            assert reader.next().data["location"]["lat"] == 45.4642


def test_a_stream_without_an_area_gets_everything(web: Web) -> None:
    with EventReader(f"{web.url}/city/**") as reader:
        wait_for(web, reader.next())
        web.sensor.put("city/air", "plain", content_encoding="text/plain")
        web.sensor.put("city/air", "placed", location=INSIDE, encoding="bloom")
        first, second = reader.next(), reader.next()
    assert {first.data["value"], second.data["value"]} == {"plain", "cGxhY2Vk"}
    assert "location" not in (first.data if first.data["value"] == "plain" else second.data)


def test_fences_are_heard_by_those_inside(web: Web) -> None:
    at = "lat={}&long={}"
    with (
        EventReader(f"{web.url}/city/alert?{at.format(*INSIDE)}") as inside,
        EventReader(f"{web.url}/city/alert?{at.format(*OUTSIDE)}") as outside,
        EventReader(f"{web.url}/city/alert") as nowhere,
        EventReader(f"{web.url}/city/alert?fenced=true") as overseer,
    ):
        for reader in (inside, outside, nowhere, overseer):
            wait_for(web, reader.next())
        fence = zonal.Circle(INSIDE, radius_m=700)
        web.sensor.put("city/alert", "1", geofence=fence, content_encoding="text/plain")
        web.sensor.put("city/alert", "2", content_encoding="text/plain")
        # The two travel under different keys, so either may come first.
        for reader in (inside, overseer):
            values = {event.data["value"]: event for event in (reader.next(), reader.next())}
            assert values.keys() == {"1", "2"}
            assert values["1"].data["geofence"]["radius_m"] == 700
        assert outside.next().data["value"] == "2"
        assert nowhere.next().data["value"] == "2"


def test_streams_with_the_same_selection_share_a_subscriber(web: Web) -> None:
    with (
        EventReader(f"{web.url}/city/air?{AREA}") as one,
        EventReader(f"{web.url}/city/air?{AREA}") as two,
        EventReader(f"{web.url}/city/air") as other,
    ):
        for reader in (one, two, other):
            wait_for(web, reader.next())
        assert web.metric("zonal_streams") == 3
        assert web.metric("zonal_feeds") == 2
        web.sensor.put("city/air", "x", location=INSIDE)
        assert one.next() == two.next()
        other.next()
    eventually(lambda: web.metric("zonal_streams") == 0)
    eventually(lambda: web.metric("zonal_feeds") == 0)
    eventually(lambda: not len(web.session._followers))


def test_counters_tell_what_the_network_spared(web: Web) -> None:
    with EventReader(f"{web.url}/city/air?{AREA}&counters=1") as reader:
        wait_for(web, reader.next())
        for _ in range(20):
            web.sensor.put("city/air", "far", location=OUTSIDE)
        web.sensor.put("city/air", "near", location=INSIDE)
        counters = reader.next_named("counters")
        while not counters.data["matched"]:
            counters = reader.next_named("counters")
    # The far messages share no cell with the area, so the router kept them: not even received.
    assert counters.data["received"] == counters.data["matched"] == 1
    assert counters.data["filtered_at_edge"] == 0


def test_metrics_count_messages_matches_and_edge_filtering(web: Web) -> None:
    with EventReader(f"{web.url}/city/air?{AREA}") as reader:
        wait_for(web, reader.next())
        beside = Point(45.4642, 9.19 + 0.0066)  # about 515 m east: in the cover, not in the area
        web.sensor.put("city/air", "beside", location=beside)
        web.sensor.put("city/air", "near", location=INSIDE)
        assert reader.next().data["location"]["long"] == 9.19
        labels = '{topic="city/air",encoding="s2"}'
        assert web.metric(f"zonal_messages_total{labels}") == 2
        assert web.metric(f"zonal_matches_total{labels}") == 1
        assert web.metric(f"zonal_edge_filtered_total{labels}") == 1
        assert web.metric("zonal_stream_events_total") == 2  # ready, and the message


def test_the_number_of_streams_and_selections_is_limited(web_with: WebWith) -> None:
    web = web_with(limits=WebLimits(streams=2, feeds=1))
    with EventReader(f"{web.url}/a") as first:
        first.next()
        with EventReader(f"{web.url}/b") as refused:
            assert refused.response.status == 503
        with EventReader(f"{web.url}/a") as second:
            second.next()
            third = web.http.get("/a", headers={"accept": "text/event-stream"})
            assert third.status_code == 503
            assert third.headers["retry-after"] == "10"
            assert "all 2 event streams" in third.json()["detail"]


def test_a_stream_ends_after_its_longest_life(web_with: WebWith) -> None:
    web = web_with(limits=WebLimits(stream_seconds=0.5))
    with EventReader(f"{web.url}/a") as reader:
        assert reader.ended()


def test_stopping_the_server_ends_streams_cleanly(web: Web) -> None:
    with EventReader(f"{web.url}/a") as reader:
        reader.next()
        started = time.monotonic()
        web.server.stop()
        assert reader.ended()
        assert time.monotonic() - started < 3


def _stalled_reader(web: Web, path: str) -> socket.socket:
    """A client that asks for a stream and then never reads."""
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.connect(("127.0.0.1", web.server.port))
    request = f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: text/event-stream\r\n\r\n"
    raw.sendall(request.encode())
    return raw


def test_a_slow_reader_loses_events_with_a_count_and_nobody_else_does(web_with: WebWith) -> None:
    web = web_with(limits=WebLimits(stream_events=50, stalled_seconds=2.0))
    with (
        _stalled_reader(web, "/flood") as stalled,
        EventReader(f"{web.url}/flood") as healthy,
        client(web.router) as listener,
        listener.declare_subscriber("flood") as beside,
    ):
        wait_for(web, healthy.next())
        eventually(lambda: web.metric("zonal_streams") == 2)
        payload = "x" * 40_000
        for number in range(300):
            web.sensor.put("flood", f"{number} {payload}", content_encoding="text/plain")
            # As fast as the healthy one reads: only the stalled one falls behind.
            assert healthy.next().data["value"].startswith(f"{number} ")
            assert beside.recv(timeout=10) is not None
        assert web.metric("zonal_stream_dropped_total") > 100
        eventually(lambda: web.metric("zonal_streams_stalled_total") == 1)
        eventually(lambda: web.metric("zonal_streams") == 1)
        web.sensor.put("flood", "still here", content_encoding="text/plain")
        assert healthy.next().data["value"] == "still here"
        stalled.close()


def test_a_reader_that_catches_up_is_told_how_much_it_lost(web_with: WebWith) -> None:
    web = web_with(limits=WebLimits(stream_events=20, stalled_seconds=60.0))
    with _stalled_reader(web, "/flood") as slow, EventReader(f"{web.url}/flood") as healthy:
        wait_for(web, healthy.next())
        eventually(lambda: web.metric("zonal_streams") == 2)
        for number in range(300):
            web.sensor.put("flood", f"{number}" + "x" * 40_000, content_encoding="text/plain")
            healthy.next()
        dropped = int(web.metric("zonal_stream_dropped_total"))
        assert dropped > 0
        slow.settimeout(10)
        text = b""
        while b"event: overflow" not in text[-200_000:]:
            text += slow.recv(65536)
        while b"}" not in text[text.rindex(b"event: overflow") :]:
            text += slow.recv(65536)
        assert f'"dropped":{dropped}'.encode() in text[text.rindex(b"event: overflow") :]


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_events_are_written_to_their_own_connection_at_once(
    web_with: WebWith, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    if host == "::1" and not _has_ipv6():
        pytest.skip("no IPv6 here")
    written: list[bool] = []
    write = HttpConnection.write

    def counted(connection: HttpConnection, chunk: bytes) -> bool:
        written.append(write(connection, chunk))
        return written[-1]

    monkeypatch.setattr(HttpConnection, "write", counted)
    web = web_with(host=host)
    with EventReader(f"{web.url}/city/air") as reader:
        wait_for(web, reader.next())
        web.sensor.put("city/air", "now", location=INSIDE)
        assert reader.next().name == "PUT"
        assert written == [True]
        opened = len(web.server.application.connections)
    eventually(lambda: len(web.server.application.connections) < opened)


def _has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False
