"""The words of the interface: what is not known is refused, and says what would be right."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

import pytest

from events import EventReader
from network import client, collect, eventually, wait_until_declared
from served import Web
from zonal import Circle, Point
from zonal.session import Query
from zonal.web.vocabulary import ALIASES, PARAMETERS, parameters_of

MILANO, BERLIN = Point(45.4642, 9.19), Point(52.52, 13.4)
RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def test_a_misspelt_fence_tells_nobody(web: Web) -> None:
    with (
        client(web.router, position=BERLIN) as far,
        far.declare_subscriber("city/alert") as berlin,
    ):
        wait_until_declared(web.session, berlin)
        refused = web.http.put("/city/alert?lat=45.46&long=9.19&radius=500", content=b"gas")
        assert refused.status_code == 400
        assert "no parameter 'radius': did you mean 'r'?" in refused.json()["detail"]
        web.http.put("/city/alert?lat=45.46&long=9.19", content=b"all")
        assert [sample.payload.to_string() for sample in collect(berlin, 1)] == ["all"]


@pytest.mark.parametrize(
    ("method", "url", "says"),
    [
        ("PUT", "/a?lat=1&long=1&sape=circle&r=5", "did you mean 'shape'?"),
        ("PUT", "/a?LAT=1&long=1", "did you mean 'lat'?"),
        ("PUT", "/a?zzz=1", "here are lat, long, shape"),
        ("PUT", "/a?fenced=1", "'fenced' is of a stream; this is a message"),
        ("DELETE", "/a?_time=now()", "'_time' is of a query; this is a message"),
        ("GET", "/a/**?geofence=CIRCLE(1 1,5)", "'geofence' is of a message; this is a query"),
        ("GET", "/a/**?limit=5", "did you mean '_limit'?; `selector` hands parameters on"),
        ("GET", "/a/**?counters=1", "'counters' is of a stream; this is a query"),
        ("GET", "/a/**?lat=1&lon=2&long=3", "'long' is given twice"),
        ("GET", "/a/**?precision=100", "precision is POINT, MGRS, BLOOM_FILTER here"),
        ("GET", "/a/**?precision=MGRS&encoding=s2", "'MGRS' is not the encoding 's2'"),
        ("GET", "/a/**?format=xml", "format is json, geojson, html, not 'xml'"),
        ("GET", "/-/grid?colour=red", "no parameter 'colour'"),
    ],
)
def test_what_has_no_meaning_here_is_refused(web: Web, method: str, url: str, says: str) -> None:
    answer = web.http.request(method, url)
    assert answer.status_code == 400, answer.text
    assert says in answer.json()["detail"]


def test_a_stream_refuses_what_it_does_not_know(web: Web) -> None:
    answer = web.http.get("/a?timeout=5", headers={"accept": "text/event-stream"})
    assert answer.status_code == 400
    assert "'timeout' is of a query; this is a stream" in answer.json()["detail"]


def test_lon_is_long(web: Web) -> None:
    with web.sensor.declare_subscriber("t", area=Circle(MILANO, radius_m=50)) as inside:
        wait_until_declared(web.session, inside)
        assert web.http.put("/t?lat=45.4642&lon=9.19", content=b"1").is_success
        assert collect(inside, 1)[0].location == MILANO
    box = "shape=box&min_lat=45&min_lon=9&max_lat=46&max_lon=10"
    assert web.http.get(f"/t?{box}&timeout=1").json() == []


@pytest.mark.parametrize(
    ("precision", "encoding"), [("POINT", "s2"), ("MGRS", "mgrs"), ("bloom_filter", "bloom")]
)
def test_precisions_of_the_thesis_are_encodings(web: Web, precision: str, encoding: str) -> None:
    area = Circle(MILANO, radius_m=50)
    with web.sensor.declare_subscriber("t", area=area, encoding=encoding) as inside:
        wait_until_declared(web.session, inside)
        url = f"/t?lat=45.4642&long=9.19&precision={precision}"
        assert web.http.put(url, content=b"1").is_success
        (sample,) = collect(inside, 1)
    assert f"/@{encoding}/" in str(sample.zenoh.key_expr)
    assert sample.location == MILANO


def answers(query: Query) -> None:
    with query:
        query.reply("city/air", '{"pm10":21}', location=MILANO, content_encoding="application/json")
        query.reply("city/noise", "loud", content_encoding="text/plain")
        query.reply_err("broken")


def test_replies_come_as_a_feature_collection(web: Web) -> None:
    with web.sensor.declare_queryable("city/**", answers):
        eventually(lambda: web.http.get("/city/**").json())
        asked = web.http.get("/city/**", headers={"accept": "application/geo+json"})
        assert asked.headers["content-type"] == "application/geo+json"
        collection = asked.json()
        assert web.http.get("/city/**?format=geojson").json().keys() == collection.keys()
        assert web.http.get("/city/**?format=html").text.startswith("<!doctype html>")
    assert collection["type"] == "FeatureCollection"
    assert collection["errors"] == ["broken"]
    features = {feature["properties"]["key"]: feature for feature in collection["features"]}
    air, noise = features["city/air"], features["city/noise"]
    assert air["geometry"] == {"type": "Point", "coordinates": [9.19, 45.4642]}
    assert air["properties"]["value"] == {"pm10": 21}
    assert "location" not in air["properties"]
    assert noise["geometry"] is None


def test_a_blurred_place_is_a_cell_on_the_map(web: Web) -> None:
    def blurred(query: Query) -> None:
        with query:
            query.reply("t", "x", location=MILANO, precision_m=1000)

    with web.sensor.declare_queryable("t", blurred):
        url = "/t?format=geojson&shape=circle&lat=45.46&long=9.19&r=9000"
        eventually(lambda: web.http.get(url).json()["features"])
        (feature,) = web.http.get(url).json()["features"]
    assert feature["geometry"]["type"] == "Polygon"
    assert feature["properties"]["cell"]


def is_now(text: str) -> bool:
    assert RFC_3339.fullmatch(text), text
    return abs(datetime.now(UTC) - datetime.fromisoformat(text)) < timedelta(minutes=5)


def test_times_are_those_of_rfc_3339_in_events_and_answers(web: Web) -> None:
    with EventReader(f"{web.url}/city/air") as stream:
        stream.next_named("ready")
        web.http.put("/city/air?lat=45.4642&long=9.19", content=b"1")
        assert is_now(stream.next_named("PUT").data["timestamp"])

    def stamped(query: Query) -> None:
        with query:
            stamp = web.sensor.zenoh.new_timestamp()
            query.reply("t", "x", location=MILANO, timestamp=stamp)

    with web.sensor.declare_queryable("t", stamped):
        eventually(lambda: web.http.get("/t/**").json())
        assert is_now(web.http.get("/t").json()[0]["timestamp"])


def test_the_server_says_whether_it_is_well(web: Web) -> None:
    assert web.http.get("/health").json()["status"] == "ok"
    assert web.http.get("/ready").json() == {"status": "ready", "routers": 1, "peers": 0}
    web.router.close()
    eventually(lambda: web.http.get("/ready").status_code == 503)
    assert web.http.get("/health").is_success


@pytest.mark.parametrize("path", ["/-/nothing", "/robots.txt", "/citi/air", "/helth"])
def test_a_path_that_leads_nowhere_is_not_found(web: Web, path: str) -> None:
    answer = web.http.get(path)
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["instance"] == path


def test_selections_may_be_empty(web: Web) -> None:
    for url in ("/city/**", "/city/air?lat=1&long=1&shape=circle&r=5", "/city/air?_time=now()"):
        assert web.http.get(url).json() == []


@pytest.mark.parametrize("path", ["/health", "/docs", "/metrics"])
def test_pages_are_no_keys(web: Web, path: str) -> None:
    assert web.http.put(path, content=b"1").status_code == 405


def test_the_openapi_document_has_every_parameter_where_it_belongs(web: Web) -> None:
    described = web.http.get("/openapi.json", follow_redirects=True).json()
    operations = described["paths"]["/{key}"]
    assert set(operations) == {"get", "put", "post", "delete"}
    named = {name: {p["name"] for p in each["parameters"]} for name, each in operations.items()}
    assert named["put"] == named["delete"] == {"key", *parameters_of("message")}
    assert named["get"] == {"key", *parameters_of("query"), *parameters_of("stream")}
    assert named["get"] | named["put"] == {"key", *PARAMETERS}
    assert not ALIASES.keys() & PARAMETERS.keys()
    references = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(described)))
    assert references == set(described["components"]["schemas"])


def test_the_page_of_the_interface_needs_nothing_from_elsewhere(web: Web) -> None:
    page = web.http.get("/docs", follow_redirects=True)
    assert "default-src 'self'" in page.headers["content-security-policy"]
    links = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(links) >= 4
    for link in links:
        assert link.startswith("/-/")
        assert web.http.get(link).is_success, link
