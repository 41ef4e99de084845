from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
import shapely

import zonal
from network import AT_ONCE, collect, wait_until_declared
from zonal.geo import Box, Point
from zonal.pipeline import Field, Lake, LogWriter, PayloadDeclaration, TopicSchema, Zones
from zonal.pipeline.jobs import (
    AlertRule,
    Pipeline,
    PipelinePlan,
    SilverPlan,
    WindowPlan,
    raise_alerts,
)
from zonal.pipeline.jobs.options import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Messages = Callable[..., pa.Table]
NORTH, SOUTH = shapely.box(9.0, 45.46, 9.3, 45.6), shapely.box(9.0, 45.3, 9.3, 45.46)
ZONES = Zones(("south", "north"), (shapely.to_wkb(SOUTH), shapely.to_wkb(NORTH)))


@pytest.fixture
def endpoint() -> Iterator[str]:
    with zonal.Router(("tcp/127.0.0.1:0",)) as router:
        yield router.endpoints[0]


def connect(endpoint: str, **options: Any) -> zonal.Session:
    return zonal.open(zonal.config("client", connect=[endpoint]), **options)


def test_rows_of_a_stream_become_messages_that_only_those_inside_the_fence_hear(
    spark: SparkSession, endpoint: str, tmp_path: Path, messages: Messages
) -> None:
    with LogWriter(tmp_path / "log") as writer:
        writer.append(messages(20))
    rows = (
        spark.readStream.format("delta")
        .load(str(tmp_path / "log"))
        .selectExpr(
            "'out' AS topic",
            "payload",
            "latitude",
            "longitude",
            "'POLYGON ((9 45, 10 45, 10 46, 9 46, 9 45))' AS geofence",
            "encoding",
        )
    )
    with (
        connect(endpoint, position=Point(45.5, 9.5)) as inside,
        connect(endpoint, position=Point(50.0, 9.5)) as outside,
        connect(endpoint) as witness,
    ):
        hears, deaf = inside.declare_subscriber("out"), outside.declare_subscriber("out")
        wait_until_declared(witness, hears, deaf)  # Spark's own session will find them there
        query = (
            rows.writeStream.format("zonal")
            .option("connect", endpoint)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        try:
            query.awaitTermination(90)
        finally:
            query.stop()
        samples = collect(hears, 20)
        assert {sample.payload.to_bytes() for sample in samples} == set(
            messages(20)["payload"].to_pylist()
        )
        assert {sample.content_encoding for sample in samples} == {samples[0].content_encoding}
        assert str(samples[0].content_encoding) == "application/json"
        assert samples[0].geofence is not None
        assert deaf.try_recv() is None


def test_a_batch_can_be_published_too(spark: SparkSession, endpoint: str) -> None:
    with connect(endpoint) as session, connect(endpoint) as witness:
        hears = session.declare_subscriber("plain/**")
        wait_until_declared(witness, hears)
        frame = spark.createDataFrame(
            [("plain/a", "1"), ("plain/b", "2")], "topic STRING, payload STRING"
        )
        frame.write.format("zonal").option("connect", endpoint).mode("append").save()
        assert sorted((s.key, s.payload.to_string()) for s in collect(hears, 2)) == [
            ("plain/a", "1"),
            ("plain/b", "2"),
        ]


@pytest.mark.parametrize(
    ("ddl", "message"),
    [
        ("payload STRING", "needs the column topic"),
        ("topic STRING, payload INT", "payload is int, not binary or string"),
        ("topic STRING, payload STRING, colour STRING", "knows no column 'colour'"),
    ],
)
def test_rows_that_are_no_messages_are_refused(spark: SparkSession, ddl: str, message: str) -> None:
    frame = spark.createDataFrame([], ddl)
    with pytest.raises(Exception, match=message):
        frame.write.format("zonal").mode("append").save()


def test_credentials_come_from_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "users").write_text("spark:secret\n")
    security = zonal.Security(users=tmp_path / "users")
    with zonal.Router(["tcp/127.0.0.1:0"], security=security, settings=AT_ONCE) as router:
        file = tmp_path / "zonal.toml"
        file.write_text(
            f'[zenoh]\nmode = "client"\nconnect = ["{router.endpoints[0]}"]\n'
            'user = "spark"\npassword = "secret"\n'
        )
        with open_session({"config": str(file)}) as session:
            assert list(session.zenoh.info.routers_zid())


def test_an_alert_reaches_those_in_the_zone_once_and_nobody_else(
    spark: SparkSession, endpoint: str, tmp_path: Path, messages: Messages
) -> None:
    hot = [
        json.dumps({"pm10": 90 if lat > 45.46 else 10}).encode()
        for lat in messages(100)["latitude"].to_pylist()
    ]
    with LogWriter(tmp_path / "log") as writer:
        writer.append(messages(100, payload=hot))
    topic = TopicSchema("city/airquality", (Field("pm10", "double"),))
    plan = PipelinePlan(SilverPlan(PayloadDeclaration((topic,)), ZONES), WindowPlan(("pm10",)))
    Pipeline(spark, tmp_path / "log", tmp_path / "lake", plan).run()
    lake, rule = Lake(tmp_path / "lake"), AlertRule("pm10", 50.0)
    with (
        connect(endpoint, position=Point(45.5, 9.2)) as north,
        connect(endpoint, position=Point(45.4, 9.2)) as south,
        connect(endpoint) as sender,
    ):
        in_north, in_south = (one.declare_subscriber("alerts/**") for one in (north, south))
        wait_until_declared(sender, in_north, in_south)
        assert raise_alerts(spark, lake, rule, ZONES, sender) == 1
        assert raise_alerts(spark, lake, rule, ZONES, sender) == 0
        (alert,) = collect(in_north, 1)
        assert in_south.try_recv() is None
    body = json.loads(alert.payload.to_string())
    assert (alert.key, body["zone"], body["value"]) == ("alerts/pm10", "north", 90.0)
    assert alert.geofence is not None
    assert alert.geofence.contains(Point(45.5, 9.2))
    assert alert.attachment is not None
    assert alert.attachment.startswith(b"alerts:pm10:mean:50:city/airquality:north:")
    assert Box(45.46, 9.0, 45.6, 9.3).contains(alert.location)
