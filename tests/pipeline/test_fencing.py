"""What was seen live and what Spark computes from the same messages agree, event by event."""

from __future__ import annotations

import random
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from network import client, eventually, router_row, wait_for_match
from zonal.border import KINDS, Border, BorderPlan, NotedPlace, ZoneSet, micros_of, moment
from zonal.geo import Box, Circle, Point, destination
from zonal.pipeline.jobs import fence_events
from zonal.session import Sample, micros_of_stamp, stamp_parts

DUOMO = Point(45.4642, 9.1900)
ZONES = ZoneSet.given(
    {"centre": Circle(DUOMO, radius_m=800), "west": Box(45.45, 9.17, 45.48, 9.19)}
)
PLAN = BorderPlan(on=KINDS, dwell_s=60, hysteresis_m=50, silence_s=120)
SCHEMA = (
    "offset BIGINT, topic STRING, timestamp TIMESTAMP, latitude DOUBLE, longitude DOUBLE, "
    "kind STRING"
)

Row = tuple[int, str, datetime, float, float, str]
Told = tuple[str, str, str | None, int, int | None, str]


def walks(things: int, steps: int) -> list[Row]:
    """Things around the zones that jump, fall silent, come late and are deleted."""
    draw = random.Random(16)
    rows: list[Row] = []
    times = {f"bus/{number}": 1_700_000_000_000_000 for number in range(things)}
    for offset in range(things * steps):
        name = f"bus/{offset % things}"
        times[name] += draw.choice([-5, 10, 20, 30, 70, 130]) * 1_000_000
        place = destination(DUOMO, draw.uniform(0, 360), draw.choice([100, 810, 840, 1500]))
        kind = "delete" if draw.random() < 0.03 else "put"
        rows.append((offset, name, moment(times[name]), place.lat, place.lon, kind))
    return rows


def by_border(rows: list[Row], until: int | None = None) -> list[Told]:
    border = Border(ZONES, PLAN)
    events = []
    for _, name, when, lat, lon, kind in rows:
        if kind == "delete":
            events += border.remove(name, micros_of(when))
        else:
            events += border.update([NotedPlace(name, lat, lon, micros_of(when))])
    if until is not None:
        events += border.pass_time(until)
    return sorted(
        (
            (e.kind, e.thing, e.zone, micros_of(e.at), e.since and micros_of(e.since), e.reason)
            for e in events
        ),
        key=repr,
    )


def found(rows: Iterable[Any]) -> list[Told]:
    def micros(when: datetime | None) -> int | None:
        return None if when is None else micros_of(when.astimezone(UTC))

    return sorted(
        (
            (r.event, r.thing, r.zone, micros(r.at), micros(r.since), r.reason)  # type: ignore[misc]
            for r in rows
        ),
        key=repr,
    )


def test_a_batch_tells_what_the_border_tells(spark: SparkSession) -> None:
    rows = walks(7, 20)
    frame = spark.createDataFrame(rows, SCHEMA)
    assert found(fence_events(frame, ZONES, PLAN).collect()) == by_border(rows)
    end = max(row[2] for row in rows)
    events = fence_events(frame, ZONES, PLAN, until=end).collect()
    assert found(events) == by_border(rows, micros_of(end))
    enter = next(event for event in events if event.event == "enter")
    assert enter.latitude is not None


def test_a_stream_keeps_its_state_between_batches(spark: SparkSession, tmp_path: Path) -> None:
    rows = walks(4, 12)
    # The clock of another thing, so that time passes for all of them.
    last = max(row[2] for row in rows)
    rows += [
        (9000, "clock", moment(micros_of(last) + 900_000_000), 0.0, 0.0, "put"),
        (9001, "clock", moment(micros_of(last) + 901_000_000), 0.0, 0.0, "put"),
    ]
    source = tmp_path / "in"
    for part in (rows[:20], rows[20:-2], rows[-2:-1], rows[-1:]):
        spark.createDataFrame(part, SCHEMA).coalesce(1).write.mode("append").parquet(str(source))
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(source))
    events = fence_events(stream, ZONES, PLAN, watermark="1 hour")
    query = (
        events.writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .option("path", str(tmp_path / "out"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    told = found(spark.read.parquet(str(tmp_path / "out")).collect())
    # What only the end of time would show has not passed the watermark.
    assert told == [each for each in by_border(rows) if each[1] != "clock"]


def test_live_and_spark_agree(spark: SparkSession) -> None:
    draw = random.Random(5)
    heard: list[Sample] = []
    plan = BorderPlan(on=("enter", "leave", "cross"), hysteresis_m=50)
    with router_row(1) as (router,), client(router) as watcher, client(router) as bus:
        watcher.declare_subscriber("bus/*", heard.append, area=Box(45.0, 9.0, 46.0, 9.5))
        fence = watcher.declare_fence(
            "bus/*", ZONES, on=plan.on, hysteresis_m=plan.hysteresis_m, reach_m=3000
        )
        for key in fence.declared_keys:
            wait_for_match(bus.zenoh, key)
        for number in range(120):
            place = destination(DUOMO, draw.uniform(0, 360), draw.choice([100, 810, 1500]))
            bus.put(f"bus/{number % 5}", "x", location=place)
        eventually(lambda: len(heard) == 120)
        eventually(lambda: fence.counters.received >= 120)
        live = []
        while (event := fence.recv(timeout=0.3)) is not None:
            live.append(event)
    rows = [
        (
            number,
            sample.key,
            moment(micros_of_stamp(stamp_parts(sample.timestamp)[0])),  # type: ignore[arg-type]
            sample.location.lat,  # type: ignore[union-attr]
            sample.location.lon,  # type: ignore[union-attr]
            "put",
        )
        for number, sample in enumerate(heard)
    ]
    computed = fence_events(spark.createDataFrame(rows, SCHEMA), ZONES, plan).collect()
    seen = [
        (e.kind, e.thing, e.zone, micros_of(e.at), e.since and micros_of(e.since), e.reason)
        for e in live
    ]
    assert found(computed) == sorted(seen, key=repr)
    assert len(seen) > 20


def test_a_frame_without_places_is_told(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="latitude"):
        fence_events(spark.range(1), ZONES, PLAN)
