from __future__ import annotations

import base64
import io
import json
import signal
import socket
import time
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
import shapely
import shapely.geometry
from rich.console import Console

from command_line import line_with, run_zonal, running_zonal
from events import Event, EventReader
from network import eventually, wait_for_match
from served import Web
from zonal.geo import Circle, Point, area_from_geojson, destination, distance_m, planar_of
from zonal.web.demo import Demo, DemoOptions, topics
from zonal.web.demo.city import ALERT_ABOVE, STORY_S, air_at, cloud_time, make_city
from zonal.web.demo.demo import MQTT_NEEDS, PAST_NEEDS
from zonal.web.demo.districts import districts
from zonal.web.demo.machine import missing, port_or_any
from zonal.web.demo.streets import CENTRE, RADIUS_M, make_streets


def test_the_city_is_the_same_each_time_and_everyone_stays_in_it() -> None:
    city = make_city()
    assert city == make_city()
    for seconds in (0.0, 33.3, 1e4):
        places = [mover.place(seconds) for mover in (*city.cars, *city.walkers)]
        assert all(distance_m(place, CENTRE) < RADIUS_M + 500 for place in places)


def test_nobody_jumps() -> None:
    city = make_city()
    for mover in (*city.cars, *city.walkers):
        for second in range(0, 900, 7):
            assert distance_m(mover.place(second), mover.place(second + 1)) < 20


def test_cars_drive_where_they_head_to() -> None:
    for car in make_city().cars:
        for second in range(0, 900, 70):
            ahead = destination(car.place(second), car.heading(second), 0.5)
            assert distance_m(ahead, car.place(second + 0.5 / car.speed_ms)) < 0.1


def test_cars_keep_to_the_streets_and_cross_the_river_on_bridges() -> None:
    river, *streets = (
        shapely.geometry.shape(feature["geometry"])
        for feature in make_streets().geojson()["features"]
    )
    ways = shapely.union_all(streets)
    bridges = river.intersection(ways)
    assert 4 <= len(bridges.geoms) <= 12
    shapely.prepare(ways)
    for car in make_city().cars:
        for second in range(0, 900, 30):
            place = car.place(second)
            assert ways.distance(shapely.Point(place.lon, place.lat)) < 1e-5  # about a metre


def test_every_crossing_is_reached_from_every_other() -> None:
    streets = make_streets().from_here
    assert len(streets) > 500
    assert all(here in streets[there] for here, others in streets.items() for there in others)
    reached, todo = set(), [next(iter(streets))]
    while todo:
        here = todo.pop()
        if here not in reached:
            reached.add(here)
            todo += streets[here]
    assert reached == streets.keys()


def test_the_cloud_crosses_the_city_and_leaves() -> None:
    assert air_at(CENTRE, 0.0) < 30
    assert air_at(CENTRE, cloud_time(0.5)) > ALERT_ABOVE
    assert air_at(CENTRE, cloud_time(1.0)) < 30
    assert air_at(CENTRE, STORY_S) == pytest.approx(air_at(CENTRE, 0.0))


def test_districts_are_apart_and_hold_every_sensor() -> None:
    areas = {
        feature["properties"]["zone"]: area_from_geojson(feature["geometry"])
        for feature in districts()["features"]
    }
    assert len(areas) == 13
    for sensor in make_city().sensors:
        assert sum(area.contains(sensor.place) for area in areas.values()) == 1


def test_what_is_not_installed_is_named() -> None:
    assert missing("json") is None
    assert missing("json", "no_such_package") == (
        "no_such_package must be installed: pip install 'zonal[demo]'"
    )


def test_a_port_that_is_taken_becomes_any() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert port_or_any(port) == 0
    assert port_or_any(port) == port


def quiet() -> Console:
    return Console(file=io.StringIO(), width=200)


def test_the_demo_shows_live_messages_and_alerts_inside_their_fence(tmp_path: Path) -> None:
    started = time.monotonic()
    options = DemoOptions(
        data=tmp_path / "data", port=0, router_port=0, mqtt=False, pipeline=False, spark=False
    )
    with Demo(options, quiet()) as demo, httpx.Client(base_url=demo.server.url) as http:
        assert time.monotonic() - started < 30
        assert [line.partition(":")[0] for line in demo.without] == ["MQTT", "history", "Spark"]
        with EventReader(f"{demo.server.url}/{topics.LIVE}") as live:
            live.next()
            assert live.next().data["location"]
        assert http.get("/-/view").json()["title"] == "Milano, live"
        routers = http.get("/-/routers").json()
        assert {router["name"] for router in routers} == {"Duomo", "San Siro", "Lambrate"}
        _check_alert(demo)
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == [
        "districts.geojson",
        "newest",
        "streets.geojson",
    ]


def _check_alert(demo: Demo) -> None:
    """The story at its height: who is inside hears the alert, and says so."""
    with EventReader(f"{demo.server.url}/{topics.EVENTS}?fenced=true") as events:
        events.next()
        demo.clock.go_to(cloud_time(0.5))
        alert = events.next_named("PUT", timeout=40)
        while alert.data["key"] != topics.ALERTS:
            alert = events.next_named("PUT", timeout=40)
        zones = {f["properties"]["zone"]: f["geometry"] for f in districts()["features"]}
        assert (
            alert.data["geofence"]["coordinates"]
            == zones[alert.data["value"]["zone"]]["coordinates"]
        )
        fences = {alert.data["value"]["zone"]: area_from_geojson(alert.data["geofence"])}
        heard = 0
        deadline = time.monotonic() + 20
        while heard < 1 and time.monotonic() < deadline:
            event = events.next_named("PUT", timeout=30)
            if event.data["key"] == topics.ALERTS:
                value = event.data["value"]
                fences[value["zone"]] = area_from_geojson(event.data["geofence"])
            if event.data["key"] == topics.HEARD:
                place = event.data["location"]
                zone = event.data["value"]["message"].partition("@")[0]
                assert fences[zone].contains(_point(place))
                heard += 1
        assert heard


def _point(place: dict[str, float]) -> Point:
    return Point(place["lat"], place["long"])


def _value(event: Event) -> dict[str, str]:
    """JSON, whether its sender said that it is JSON or not."""
    value = event.data["value"]
    decoded: dict[str, str] = (
        json.loads(base64.b64decode(value)) if isinstance(value, str) else value
    )
    return decoded


def test_a_notice_is_heard_by_zenoh_and_mqtt_phones_inside_its_fence(tmp_path: Path) -> None:
    reason = missing(*MQTT_NEEDS)
    if reason:
        pytest.skip(reason)
    options = DemoOptions(data=tmp_path, port=0, router_port=0, pipeline=False, spark=False)
    with Demo(options, quiet()) as demo, httpx.Client(base_url=demo.server.url) as http:
        ids = {walker.id for walker in make_city().walkers}
        with EventReader(f"{demo.server.url}/{topics.PHONES}") as phones:
            seen: set[str] = set()
            while seen != ids:
                event = phones.next(timeout=30)
                if event.name == "PUT":
                    seen.add(_value(event)["id"])
        with EventReader(f"{demo.server.url}/{topics.HEARD}") as answers:
            answers.next()
            fence = f"CIRCLE ({CENTRE.lon} {CENTRE.lat}, {RADIUS_M + 2000})"
            http.put(
                f"/{topics.NOTICES}", params={"geofence": fence}, content='{"id": "all"}',
                headers={"content-type": "application/json"},
            )  # fmt: skip
            heard: set[str] = set()
            while heard != ids:
                event = answers.next(timeout=30)
                assert _value(event)["message"] == "all"
                heard.add(_value(event)["id"])


def test_history_answers_for_what_was_live(tmp_path: Path) -> None:
    reason = missing(*PAST_NEEDS)
    if reason:
        pytest.skip(reason)
    options = DemoOptions(data=tmp_path, port=0, router_port=0, mqtt=False, spark=False)
    with Demo(options, quiet()) as demo, httpx.Client(base_url=demo.server.url) as http:
        url = f"/{topics.AIR}?lat={CENTRE.lat}&long={CENTRE.lon}&shape=circle&r=3000"
        replies = eventually(lambda: http.get(f"{url}&_time=[now(-1h)..]").json(), timeout=40)
        for reply in replies:
            assert reply["key"] == topics.AIR
            assert distance_m(_point(reply["location"]), CENTRE) <= 3000
            assert reply["value"]["kind"] == "sensor"


def test_the_command_ends_by_itself_and_leaves_only_its_data(tmp_path: Path) -> None:
    options = ["--data", str(tmp_path / "data"), "--port", "0", "--seconds", "2", "--no-spark"]
    done = run_zonal("demo", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "open http://127.0.0.1:" in done.stdout
    assert "without" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_the_command_stops_cleanly_when_interrupted(tmp_path: Path) -> None:
    options = ["--port", "0", "--no-spark", "--no-pipeline", "--no-mqtt"]
    with running_zonal("demo", *options, cwd=tmp_path) as running:
        line_with("Ctrl-C", running, running.stdout)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
    assert running.returncode == 0
    assert "Traceback" not in errors


def test_sparks_job_is_made_of_the_pipelines_own_parts_and_fences_its_alerts(
    web: Web, tmp_path: Path
) -> None:
    """All of the job that needs no Spark: so a changed call in the pipeline is noticed quickly."""
    pytest.importorskip("pyspark")
    from zonal.pipeline.jobs import publish_row
    from zonal.web.demo.spark_job import WINDOW_S, Job

    (tmp_path / "zones.geojson").write_text(json.dumps(districts()))
    folders = str(tmp_path / "log"), str(tmp_path / "lake")
    job = Job(cast("Any", None), *folders, tmp_path / "zones.geojson", web.sensor)
    plan = job.pipeline.plan
    assert plan.windows is not None
    assert (plan.windows.measures, plan.windows.window_s) == (("pm10",), WINDOW_S)
    assert plan.silver.zones is not None
    assert len(plan.silver.zones.names) == len(districts()["features"])
    assert plan.silver.declaration.measures == ("pm10",)
    assert [rule.topic for rule in plan.alerts] == [topics.ALERT_PREFIX]
    assert job.pipeline._after_gold == [job._tell_zones]
    fence = Circle(CENTRE, radius_m=500)
    row = {
        "topic": f"{topics.ALERT_PREFIX}/pm10", "payload": '{"value": 90}', "latitude": CENTRE.lat,
        "longitude": CENTRE.lon, "geofence": shapely.to_wkb(planar_of(fence.bounds)),
        "encoding": "application/json",
    }  # fmt: skip
    url = f"{web.server.url}/{topics.ALERTS}?lat={CENTRE.lat}&long={CENTRE.lon}"
    with EventReader(url) as inside:
        for key in inside.next_named("ready").data["declared"]:
            wait_for_match(web.sensor.zenoh, key)
        publish_row(web.sensor, row)
        assert inside.next_named("PUT").data["value"] == {"value": 90}


@pytest.mark.group("spark")
def test_without_a_way_to_sparks_packages_the_stand_in_goes_on_and_the_reason_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that never fetched them, and a repository that cannot be reached."""
    from zonal.web.demo import past

    reason = past.spark_missing()
    if reason:
        pytest.skip(reason)
    settings = (
        '<ivysettings><settings defaultResolver="none"/><resolvers>'
        '<ibiblio name="none" m2compatible="true" root="http://127.0.0.1:9/"/>'
        "</resolvers></ivysettings>"
    )
    (tmp_path / "ivy.xml").write_text(settings)
    (tmp_path / "spark-defaults.conf").write_text(
        f"spark.jars.ivySettings {tmp_path}/ivy.xml\nspark.jars.ivy {tmp_path}/ivy\n"
    )
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    options = DemoOptions(data=tmp_path / "data", port=0, router_port=0, mqtt=False)
    with Demo(options, quiet()) as demo:
        assert demo._job is not None

        def has_ended() -> bool:
            demo._look_after_spark()
            return demo._job is None

        eventually(has_ended, timeout=100)
        assert "needs a way to Maven Central" in demo.without[-1]
        assert demo.without[-1].endswith("(the stand-in goes on)")
        assert demo._watch is not None


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_spark_takes_over_and_raises_an_alert(tmp_path: Path) -> None:
    from zonal.web.demo import past

    reason = past.spark_missing()
    if reason:
        pytest.skip(reason)
    options = DemoOptions(data=tmp_path, port=0, router_port=0, mqtt=False)
    with Demo(options, quiet()) as demo:
        demo.clock.go_to(cloud_time(0.5))
        with EventReader(f"{demo.server.url}/{topics.ALERTS}?fenced=true") as alerts:
            deadline = time.monotonic() + 300
            while demo._watch is not None and time.monotonic() < deadline:
                demo._look_after_spark()
                time.sleep(0.2)
            assert demo._job is not None, (tmp_path / "spark.log").read_text()
            while time.monotonic() < deadline:
                # The cloud stays over the centre until Spark has seen it.
                demo.clock.go_to(cloud_time(0.5))
                if "raised" in demo.spark_state:
                    break
                time.sleep(0.5)
            assert "raised" in demo.spark_state
            value = alerts.next_named("PUT").data["value"]
            assert value["value"] > ALERT_ABOVE
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [
        "districts.geojson", "lake", "log", "newest", "spark.log", "streets.geojson",
    ]  # fmt: skip
    assert json.loads((tmp_path / "districts.geojson").read_text())["features"]
