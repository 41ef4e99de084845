"""`zonal feed` and `zonal replay`, as processes beside a real router."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx
import paho.mqtt.publish
import pytest

from command_line import line_with, run_zonal, running_zonal
from events import EventReader
from network import LOOPBACK, client, collect, eventually, wait_until_declared
from zonal import Circle, Point
from zonal.feeds import FeedPublisher, Observation
from zonal.feeds.kinds import _paced as paced
from zonal.pipeline import Recorder
from zonal.session import Router, Session, Subscriber

MILANO = Point(45.5, 9.25)
NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
AROUND = Circle(MILANO, radius_m=1000)


@pytest.fixture
def router() -> Iterator[Router]:
    with Router([LOOPBACK]) as running:
        yield running


@contextmanager
def listening(router: Router, topic: str) -> Iterator[tuple[Session, Subscriber]]:
    with client(router) as session, session.declare_subscriber(topic, area=AROUND) as heard:
        with client(router) as other:
            wait_until_declared(other, heard)
        yield session, heard


def test_a_file_is_replayed_with_places(router: Router, tmp_path: Path) -> None:
    file = tmp_path / "walk.csv"
    file.write_text("id,lat,lon,time,pm10\na,45.5,9.25,2026-11-16T12:00:00Z,3\nb,10,10,,4\n")
    with listening(router, "walk/*") as (_, heard):
        arguments = ["--topic", "walk", "--speed", "0", "--json", "-e", router.endpoints[0]]
        done = run_zonal("feed", "csv", str(file), *arguments)
        (sample,) = collect(heard, 1)
    assert sample.key == "walk/a"
    assert sample.location == MILANO
    assert sample.json() == {"id": "a", "pm10": 3, "time": "2026-11-16T12:00:00Z"}
    assert [json.loads(line)["name"] for line in done.stdout.splitlines()] == ["b", "a"]
    assert "2 messages of 2 things" in done.stderr


def test_a_receiver_behind_gpsd_is_put_on_the_network(router: Router) -> None:
    report = b'{"class":"TPV","mode":3,"lat":45.5,"lon":9.25}\n'
    with socket.create_server(("127.0.0.1", 0)) as gpsd:

        def serve() -> None:
            connection, _ = gpsd.accept()
            with connection:
                assert b"?WATCH" in connection.recv(100)
                connection.sendall(report[:20])
                connection.sendall(report[20:])

        thread = threading.Thread(target=serve)
        thread.start()
        with listening(router, "car") as (_, heard):
            where = f"127.0.0.1:{gpsd.getsockname()[1]}"
            run_zonal("feed", "gpsd", where, "--topic", "car", "-e", router.endpoints[0])
            (sample,) = collect(heard, 1)
        thread.join()
    assert sample.location == MILANO
    assert sample.json() == {"kind": "receiver"}


def address_of(port: int) -> str:
    return f"mqtt://127.0.0.1:{port}"


def test_phones_with_owntracks_are_put_on_the_network(router: Router) -> None:
    with running_zonal("broker", "--port", "0", "--json") as broker:
        (address,) = json.loads(line_with("serving", broker, broker.stdout))["serving"]
        port = int(address.rpartition(":")[2])
        said = json.dumps({"_type": "location", "lat": 45.5, "lon": 9.25, "tid": "an"})
        with (
            listening(router, "owntracks/**") as (_, heard),
            running_zonal("feed", "owntracks", address_of(port), "-e", router.endpoints[0]),
        ):

            def arrived() -> bool:
                paho.mqtt.publish.single(
                    "owntracks/anna/phone", said, qos=1, hostname="127.0.0.1", port=port
                )
                return (sample := heard.recv(timeout=0.5)) is not None and (
                    (sample.key, sample.location) == ("owntracks/anna/phone", MILANO)
                )

            eventually(arrived, timeout=60)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["feed", "horses", "x"], "a feed is one of gtfs"),
        (["feed", "csv", "not-there.csv"], "cannot read not-there.csv"),
        (["feed", "owntracks", "localhost"], "mqtt://host:1883"),
        (["feed", "gpsd", "nowhere"], "which is host:port"),
    ],
)
def test_mistakes_are_told_in_a_line(router: Router, arguments: list[str], says: str) -> None:
    refused = run_zonal(*arguments, "-e", router.endpoints[0])
    assert refused.returncode == 1
    assert says in refused.stderr
    assert "Traceback" not in refused.stderr


def test_what_did_not_change_is_told_now_and_then_only(router: Router) -> None:
    now = [0.0]
    with listening(router, "t/a") as (session, _):
        publisher = FeedPublisher(session, "t", clock=lambda: now[0])
        seen = Observation("a", MILANO, {"x": 1}, NOON)
        assert publisher.put(seen)
        assert not publisher.put(seen)
        assert publisher.put(seen._replace(value={"x": 2}))
        now[0] = 61.0
        assert publisher.put(seen._replace(value={"x": 2}))
    assert (publisher.sent, publisher.unchanged, publisher.things) == (3, 1, 1)


def test_observations_come_as_far_apart_as_they_were() -> None:
    late = Observation("late", None, {}, datetime(2026, 11, 16, 12, 0, 20, tzinfo=UTC))
    first = Observation("first", None, {}, NOON)
    began = time.monotonic()
    names = [each.name for each in paced([late, first], 100.0, threading.Event())]
    assert names == ["first", "late"]
    assert time.monotonic() - began >= 0.2
    stopped = threading.Event()
    stopped.set()
    assert list(paced([first, late], 1.0, stopped)) == []


def test_what_was_recorded_is_said_again(router: Router, tmp_path: Path) -> None:
    with (
        client(router) as speaker,
        client(router) as writer,
        Recorder(writer, tmp_path / "log", ["city/**"]) as recorder,
    ):
        wait_until_declared(speaker, recorder)
        speaker.put("city/air", {"pm10": 1}, location=MILANO)
        speaker.put("city/alert", "gas", location=MILANO, geofence=AROUND)
        eventually(lambda: recorder.counters.written == 2)
    with (
        client(router) as other,
        client(router) as session,
        session.declare_subscriber("again/city/*", fenced=True) as heard,
    ):
        wait_until_declared(other, heard)
        arguments = ["--speed", "0", "--below", "again", "--json", "-e", router.endpoints[0]]
        done = run_zonal("replay", str(tmp_path / "log"), *arguments)
        air, alert = sorted(collect(heard, 2), key=lambda sample: sample.key)
    assert json.loads(done.stdout)["messages"] == 2
    assert (air.location, air.json()) == (MILANO, {"pm10": 1})
    assert (alert.location, alert.geofence, alert.text) == (MILANO, AROUND, "gas")


def test_the_demo_shows_a_feed_around_its_first_thing(tmp_path: Path) -> None:
    file = tmp_path / "things.csv"
    file.write_text("id,lat,lon\na,45.5,9.25\nb,45.6,9.3\n")
    tiles = "https://tiles.example/{z}/{x}/{y}.png"
    with (
        socket.create_server(("127.0.0.1", 0)) as other,
        running_zonal(
            "demo", "--feed", f"csv:{file}", "--tiles", tiles,
            "--port", str(other.getsockname()[1]),
        ) as demo,
    ):  # fmt: skip
        url = line_with("open", demo, demo.stdout).split()[1]
        view = httpx.get(f"{url}/-/view").json()
        assert not url.endswith(f":{other.getsockname()[1]}"), "a free port is taken instead"
        assert view["tiles"]["url"] == tiles
        assert view["center"] == [45.5, 9.25]
        assert view["topics"] == ["things/**"]
        with EventReader(f"{url}/things/*") as events:
            assert {events.next_named("PUT").data["key"]} <= {"things/a", "things/b"}
