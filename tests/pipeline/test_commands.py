from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
import typer
from typer.testing import CliRunner

import zonal
from network import eventually, wait_for_match, wait_until_declared
from pipeline_rows import START
from zonal.cli import history as history_command
from zonal.cli import pipeline as pipeline_command
from zonal.errors import SparkError, ZonalError
from zonal.pipeline import Lake, Log, LogWriter
from zonal.pipeline.jobs import check_java

pytestmark = pytest.mark.timeout(600)  # Spark starts, and compiles all it does once

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Messages = Callable[..., pa.Table]
SCHEMA = """
[topics."city/airquality"]
device = "device_id"
[topics."city/airquality".fields]
device_id = "string"
pm10 = { type = "double", required = true, max = 2000 }
"""


@pytest.fixture
def endpoint() -> Iterator[str]:
    with zonal.Router(("tcp/127.0.0.1:0",)) as router:
        yield router.endpoints[0]


def run(app: typer.Typer, *arguments: object) -> str:
    result = CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def single(command: Callable[..., None]) -> typer.Typer:
    app = typer.Typer()
    app.command()(command)
    return app


def test_record_writes_a_log_and_ends_cleanly_when_told(endpoint: str, tmp_path: Path) -> None:
    code = "import typer; from zonal.cli.record import record; typer.run(record)"
    command = [sys.executable, "-c", code, str(tmp_path / "log"), "city/**", "-e", endpoint]
    process = subprocess.Popen(
        [*command, "--flush", "0.05"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        assert process.stderr.readline().strip().endswith("from offset 0")
        with zonal.open(zonal.config("client", connect=[endpoint])) as session:
            wait_for_match(session.zenoh, "city/air/@s2/**")
            session.put("city/air", b"1", location=zonal.Point(45.4, 9.1))
            eventually(lambda: Log(tmp_path / "log").next_offset() == 1)
        process.terminate()
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert output.startswith("1 messages, next offset 1")


def test_from_the_log_to_a_gold_table_an_alert_and_back(
    spark: SparkSession, endpoint: str, tmp_path: Path, messages: Messages
) -> None:
    del spark  # the commands take the session that is open
    zones = {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "properties": {"NIL": "all of it"},
                "geometry": shapely.geometry.mapping(shapely.box(9, 45, 10, 46)),
            }
        ],
    }
    (tmp_path / "zones.json").write_text(json.dumps(zones))
    (tmp_path / "schema.toml").write_text(SCHEMA)
    with LogWriter(tmp_path / "log") as writer:
        writer.append(messages(60))
        writer.append(messages(60, first=60))
    with (
        zonal.open(
            zonal.config("client", connect=[endpoint]), position=zonal.Point(45.5, 9.5)
        ) as me,
        zonal.open(zonal.config("client", connect=[endpoint])) as witness,
    ):
        alerts = me.declare_subscriber("alerts/**")
        wait_until_declared(witness, alerts)
        output = run(
            pipeline_command.app, "run", tmp_path / "log", tmp_path / "lake", "--once",
            "--schema", tmp_path / "schema.toml", "--zones", tmp_path / "zones.json",
            "--zone-name", "NIL", "--alert", "pm10:max:50", "--tracks", "-e", endpoint,
        )  # fmt: skip
        assert "120 messages: 120 silver, 0 quarantined, 0 doubles; 120 so far" in output
        assert "1 alerts: pm10 max > 50" in output
        alert = alerts.recv(timeout=20)
        assert alert is not None
        assert json.loads(alert.payload.to_string())["zone"] == "all of it"
    lake = Lake(tmp_path / "lake")
    assert all(lake.find(name) for name in ("silver", "windows", "tracks", "alerts"))
    run(pipeline_command.app, "show", tmp_path / "lake", "--where", "zone is not null")
    with LogWriter(tmp_path / "log") as writer:
        writer.append(messages(10, first=120))
    arguments = ("--lake", tmp_path / "lake", "--log", tmp_path / "log")
    since = f"[{START:%Y-%m-%dT%H:%M:%SZ};115s]"
    lines = run(single(history_command.history), "city/**", *arguments, "-t", since, "--json")
    rows = [json.loads(line) for line in lines.splitlines() if line.startswith("{")]
    assert [row["offset"] for row in rows] == list(range(116))
    assert run(pipeline_command.app, "compact", tmp_path / "lake", "--vacuum-hours", "0")


def test_deliveries_are_counted_into_parquet_once(
    spark: SparkSession, tmp_path: Path, messages: Messages
) -> None:
    del spark
    with LogWriter(tmp_path / "log") as writer:
        writer.append(messages(50))
    (tmp_path / "subscriptions.csv").write_text(
        "subscriber,topic,area,latitude,longitude\n"
        'near,city/**,"CIRCLE (9.15 45.45, 3000)",45.45,9.15\n'
        "all,**,,,\n"
    )
    run(
        pipeline_command.app, "deliveries", tmp_path / "log", tmp_path / "subscriptions.csv",
        "-o", tmp_path / "excess",
    )  # fmt: skip
    rows = {row["subscriber"]: row for row in pq.read_table(tmp_path / "excess").to_pylist()}
    assert (rows["all"]["geo"], rows["all"]["no_geo"], rows["near"]["no_geo"]) == (50, 50, 50)
    assert 0 < rows["near"]["geo"] < 50
    with pytest.raises(Exception, match="already exists"):
        run(
            pipeline_command.app, "deliveries", tmp_path / "log", tmp_path / "subscriptions.csv",
            "-o", tmp_path / "excess",
        )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "log", "lake", "--schema", "nothing.toml"), "cannot be read as TOML"),
        (("run", "log", "lake", "--zones", "nothing.json"), "cannot be read as GeoJSON"),
        (("run", "log", "lake", "--window", "7"), "does not divide a day"),
        (("run", "log", "lake", "--alert", "pm10"), "is not measure:statistic:threshold"),
        (("run", "log", "lake", "--alert", "pm10:mean:50"), "there are no zones"),
        (("compact", "nothing"), "has no table silver"),
    ],
)
def test_wrong_arguments_say_what_is_right(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(ZonalError, match=message):
        run(pipeline_command.app, *arguments)


def test_submit_shows_the_command_with_packages_settings_and_environment(tmp_path: Path) -> None:
    command = run(
        pipeline_command.app, "submit", "--show", "--master", "spark://head:7077",
        "--environment", tmp_path / "e.tar.gz", "--conf", "a.b=c=d",
        "--", "run", "s3://city/log", "lake", "--once",
    )  # fmt: skip
    words = shlex.split(command)
    assert words[0].endswith("/bin/spark-submit")
    assert words[-5:] == ["pipeline", "run", "s3://city/log", "lake", "--once"]
    assert words[words.index("--archives") + 1] == f"{tmp_path}/e.tar.gz#environment"
    settings = [words[at + 1] for at, word in enumerate(words) if word == "--conf"]
    assert {"a.b=c=d", "spark.pyspark.python=./environment/bin/python"} < set(settings)
    assert f"spark.pyspark.driver.python={sys.executable}" in settings
    (packages,) = (one for one in settings if one.startswith("spark.jars.packages="))
    assert ":hadoop-aws:" in packages
    local = shlex.split(run(pipeline_command.app, "submit", "--show", "--", "run", "log", "lake"))
    assert not any("hadoop-aws" in word for word in local)


def test_without_java_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nothing")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(SparkError, match="apt-get install openjdk-17-jre-headless"):
        check_java()
    monkeypatch.setenv("JAVA_HOME", "/opt/java")
    with pytest.raises(SparkError, match="there is no /opt/java/bin/java"):
        check_java()
