"""The command line, run as a user runs it: real processes."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from command_line import line_with, running_zonal
from command_line import run_zonal as run
from network import LOOPBACK, client, collect, eventually, wait_until_declared
from zonal.cli.notation import parse_area, parse_length, parse_point
from zonal.errors import GeometryError, LocationKeyError
from zonal.geo import Box, Circle, Everywhere, Point, Polygon
from zonal.session import Query, Router

DUOMO = Point(45.4642, 9.19)


@pytest.fixture
def router() -> Iterator[Router]:
    with Router([LOOPBACK]) as running:
        yield running


def test_help_lists_every_command_with_a_sentence() -> None:
    shown = run("--help")
    assert shown.returncode == 0
    for command in ("router", "pub", "sub", "get", "encode", "demo"):
        assert command in shown.stdout
        assert run(command, "--help").returncode == 0
    assert run("--version").stdout.startswith("zonal 0.")


def test_a_router_of_the_command_line_routes_and_stops_cleanly() -> None:
    with running_zonal("router", "--listen", LOOPBACK, "--json") as process:
        shown = line_with("endpoints", process, process.stdout)
        (endpoint,) = json.loads(shown)["endpoints"]
        assert run("pub", "t", "x", "--at", "45,9", "-e", endpoint).returncode == 0
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


def test_lines_of_standard_input_become_messages(router: Router) -> None:
    where = ["-e", router.endpoints[0]]
    with running_zonal("sub", "t/**", "--json", "-n", "2", "--fenced", *where) as listening:
        line_with("listening", listening, listening.stderr)
        options = ["--at", "45.4642,9.19", "--precision", "1km", "-g", "circle:45,9,5km"]

        def published() -> bool:
            assert run("pub", "t/x", *options, *where, stdin="one\ntwo\n").returncode == 0
            return listening.poll() is not None

        eventually(published, timeout=60)
        output, _ = listening.communicate(timeout=20)
    records = [json.loads(line) for line in output.splitlines()]
    assert {record["payload"] for record in records} == {"one", "two"}
    assert records[0]["cell"]
    assert records[0]["geofence"] == "CIRCLE (9.0 45.0, 5000.0)"


def test_get_asks_the_area(router: Router) -> None:
    def answer(query: Query) -> None:
        query.reply("t", "here", location=DUOMO)

    with client(router) as session:
        session.declare_queryable("t", answer, area=Circle(DUOMO, radius_m=500))
        where = ["-e", router.endpoints[0]]
        eventually(lambda: "here" in run("get", "t", "-a", "circle:45.46,9.19,2km", *where).stdout)
        assert run("get", "t", "-a", "circle:40,9,2km", *where).stdout == ""


def test_sub_without_a_position_says_what_it_does_not_hear(router: Router) -> None:
    where = ["-s", "0.1", "-e", router.endpoints[0]]
    assert "with a geofence are not heard" in run("sub", "t", *where).stderr
    assert "geofence" not in run("sub", "t", "--fenced", *where).stderr
    assert "geofence" not in run("sub", "t", "-p", "45.46,9.19", *where).stderr


def test_get_asks_the_admin_space(router: Router) -> None:
    done = run("get", "@/**", "--json", "-e", router.endpoints[0])
    keys = [json.loads(line)["key"] for line in done.stdout.splitlines()]
    assert f"@/{router.zenoh.zid()}/router" in keys


def test_encode_as_json_has_every_encoding() -> None:
    record = json.loads(run("encode", "circle:45.46,9.19,2km", "--json").stdout)
    assert {"s2", "mgrs", "bloom", "json"} <= record["keys"].keys()
    assert len(record["cover"]) <= 48


def test_a_bloom_domain_is_named_by_its_numbers(router: Router) -> None:
    domain = "bloom:45.3,9.0,45.6,9.3,20x20,0.25"
    with client(router) as session:
        subscriber = session.declare_subscriber(
            "t", area=Circle(DUOMO, radius_m=500), encoding=domain
        )
        wait_until_declared(session, subscriber)
        where = ["--encoding", domain, "-e", router.endpoints[0]]
        run("pub", "t", "far", "--at", "45.55,9.25", *where)
        run("pub", "t", "near", "--at", "45.4642,9.19", *where)
        (sample,) = collect(subscriber, 1)
        assert sample.text == "near"
        assert subscriber.counters.received == 1


def test_a_bloom_domain_is_listened_to_and_asked(router: Router) -> None:
    domain = "bloom:45.3,9.0,45.6,9.3,20x20,0.25"
    where = ["--encoding", domain, "-a", "circle:45.4642,9.19,500m", "-e", router.endpoints[0]]

    def answer(query: Query) -> None:
        query.reply("t", "an answer", location=DUOMO, encoding=domain)

    with (
        client(router) as session,
        running_zonal("sub", "t", "-n", "1", *where) as listening,
        session.declare_queryable("t", answer, area=Circle(DUOMO, radius_m=500), encoding=domain),
    ):
        line_with("listening", listening, listening.stderr)

        def published() -> bool:
            session.put("t", "far", location=Point(45.55, 9.25), encoding=domain)
            session.put("t", "near", location=DUOMO, encoding=domain)
            return listening.poll() is not None

        eventually(published, timeout=60)
        output, _ = listening.communicate(timeout=20)
        assert "near" in output
        assert "far" not in output
        eventually(lambda: "an answer" in run("get", "t", *where).stdout)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["encode", "95,9"], "latitude 95"),
        (["encode", "blob:1"], "well-known text"),
        (["pub", "a/@b", "x", "-e", "ENDPOINT"], "verbatim"),
        (["sub", "t", "-e", "tcp/127.0.0.1:1"], "zonal router"),
        (["sub", "t", "-a", "around:2km", "-e", "ENDPOINT"], "with --position"),
        (["get", "t/**", "--nearest", "3", "-e", "ENDPOINT"], "with --position"),
        (["store", "--ttl", "-5", "-e", "ENDPOINT"], "more than 0 seconds"),
        (["pub", "t", "x", "--encoding", "geohash", "-e", "ENDPOINT"], "no encoding named"),
    ],
)
def test_mistakes_get_one_clear_line(router: Router, arguments: list[str], message: str) -> None:
    done = run(*(router.endpoints[0] if a == "ENDPOINT" else a for a in arguments))
    assert done.returncode == 1
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_the_demo_shows_its_table_and_ends() -> None:
    done = run("demo", "--table", "--seconds", "2")
    assert done.returncode == 0, done.stderr
    assert "spared" in done.stdout


@pytest.mark.parametrize(
    ("text", "area"),
    [
        ("circle:45.46,9.19,2km", Circle(Point(45.46, 9.19), radius_m=2000)),
        ("around:500m", Circle(radius_m=500)),
        ("box:45,9,46,10", Box(45, 9, 46, 10)),
        ("everywhere", Everywhere()),
        ("POLYGON ((9 45, 10 45, 9 46, 9 45))", Polygon(((45, 9), (45, 10), (46, 9), (45, 9)))),
    ],
)
def test_areas_as_people_type_them(text: str, area: object) -> None:
    assert parse_area(text) == area


def test_an_mgrs_square_and_a_geojson_file_are_areas(tmp_path: Path) -> None:
    assert parse_area("mgrs:32TNR13").contains(DUOMO)
    file = tmp_path / "zone.geojson"
    file.write_text(json.dumps(parse_area("box:45,9,46,10").to_geojson()))
    assert parse_area(str(file)).contains(Point(45.5, 9.5))


@pytest.mark.parametrize(
    "text", ["circle:45.46,9.19", "circle:a,b,2km", "box:1,2,3", "mgrs:99", "nowhere.geojson", "x"]
)
def test_mistyped_areas_are_refused(text: str) -> None:
    with pytest.raises((GeometryError, LocationKeyError)):
        parse_area(text)


def test_lengths_and_points() -> None:
    assert parse_length("1.5 km") == 1500
    assert parse_point("45.5,9") == Point(45.5, 9)
    with pytest.raises(GeometryError, match="500m"):
        parse_length("far")
