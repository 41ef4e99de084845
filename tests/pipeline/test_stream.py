from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from pyspark.sql import functions as F  # noqa: N812

from network import eventually
from pipeline_rows import START
from zonal.pipeline import Field, Lake, LogWriter, PayloadDeclaration, TopicSchema, TrackPlan, Zones
from zonal.pipeline.jobs import (
    Pipeline,
    PipelinePlan,
    SilverPlan,
    WindowPlan,
    compact,
    deduplicate,
    read_table,
    refine,
    stream,
    windows,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Messages = Callable[..., pa.Table]

PM10 = Field("pm10", "double", required=True, min=0, max=2000)
DECLARED = PayloadDeclaration((TopicSchema("city/airquality", (PM10, Field("station", "string"))),))
ZONES = Zones(
    ("south", "north"),
    (
        shapely.to_wkb(shapely.box(9.0, 45.3, 9.3, 45.46)),
        shapely.to_wkb(shapely.box(9.0, 45.46, 9.3, 45.6)),
    ),
)
PLAN = PipelinePlan(SilverPlan(DECLARED, ZONES), WindowPlan(("pm10",)))


def write(log: Path, *tables: pa.Table) -> None:
    with LogWriter(log) as writer:
        for table in tables:
            writer.append(table)


def job(spark: SparkSession, folder: Path, plan: PipelinePlan = PLAN) -> Pipeline:
    return Pipeline(spark, folder / "log", folder / "lake", plan)


def table(spark: SparkSession, folder: Path, name: str) -> DataFrame:
    return read_table(spark, Lake(folder / "lake"), name)


def offsets(frame: DataFrame) -> list[int]:
    return sorted(row["offset"] for row in frame.select("offset").collect())


def gold_rows(frame: DataFrame) -> set[tuple[Any, ...]]:
    return {tuple(row) for row in frame.drop("p95").collect()}


def test_messages_become_silver_and_gold(
    spark: SparkSession, tmp_path: Path, messages: Messages
) -> None:
    write(tmp_path / "log", messages(400), messages(200, first=400))
    job(spark, tmp_path).run()
    silver = table(spark, tmp_path, "silver")
    assert offsets(silver) == list(range(600))
    row = silver.where("offset = 3").first()
    assert row is not None
    assert (row.pm10, row.zone, row.device) == (
        3.0,
        "north" if row.latitude > 45.46 else "south",
        "a1:1",
    )
    gold = table(spark, tmp_path, "windows")
    zoned = {
        (r.time.minute, r.zone): (r["count"], r["max"], r.mean)
        for r in gold.where("zone is not null").collect()
    }
    assert sum(count for count, _, _ in zoned.values()) == 600
    assert set(zoned) == {(0, "south"), (0, "north"), (5, "south"), (5, "north")}
    assert gold.where("cell is not null").agg(F.sum("count")).first()[0] == 600
    expected = silver.where("zone = 'north' and time < '2026-11-15 06:05:00'")
    mean, top, p95 = expected.agg(F.avg("pm10"), F.max("pm10"), F.percentile("pm10", 0.95)).first()
    found = gold.where("zone = 'north' and time = '2026-11-15 06:00:00'").first()
    assert (found.mean, found.max) == (pytest.approx(mean), top)
    assert found.p95 == pytest.approx(p95, abs=1)


def test_gold_equals_the_aggregate_of_all_silver_whatever_comes_late(
    spark: SparkSession, tmp_path: Path, messages: Messages
) -> None:
    write(tmp_path / "log", messages(400))
    pipeline = job(spark, tmp_path)
    pipeline.run()
    two_days_late = messages(50, first=30, source="late:1", start=START - timedelta(days=2))
    an_hour_on = messages(50, first=4000, source="b:1")
    same_window = messages(50, first=350, source="c:1")
    write(tmp_path / "log", two_days_late, an_hour_on, same_window)
    pipeline.run(max_rows=50)
    silver = table(spark, tmp_path, "silver")
    assert silver.count() == 550
    assert PLAN.windows is not None
    expected = windows(silver, PLAN.windows)
    assert gold_rows(table(spark, tmp_path, "windows")) == gold_rows(expected)
    other = WindowPlan(("pm10",), window_s=600)
    job(spark, tmp_path, PipelinePlan(PLAN.silver, other)).run()
    assert gold_rows(table(spark, tmp_path, "windows")) == gold_rows(windows(silver, other))


def test_bad_rows_go_to_quarantine_with_the_reason(
    spark: SparkSession, tmp_path: Path, messages: Messages
) -> None:
    payloads = [
        b"\xff\xfe",
        b"[1]",
        b'{"pm10": "much"}',
        b"{}",
        b'{"pm10": -1}',
        b"",
        b'{"pm10": 5}',
    ]
    count = len(payloads)
    rows = messages(count, payload=payloads)
    lost = messages(1, first=50, latitude=[91.0])
    ahead = messages(1, first=51, timestamp=[START + timedelta(days=400)])
    unknown = messages(1, first=52, topic="city/secret", payload=[b"\x00\x01"])
    write(tmp_path / "log", rows, lost, ahead, unknown)
    job(spark, tmp_path).run()
    bad = {row["offset"]: row.reason for row in table(spark, tmp_path, "quarantine").collect()}
    assert bad == {
        0: "payload is no JSON object",
        1: "payload is no JSON object",
        2: "field pm10: much is no double",
        3: "field pm10 is missing",
        4: "field pm10: -1.0 is below 0",
        5: "payload is no JSON object",
        7: "location (91.0, 9.163) is outside the world",
        8: "time stamp is 34559949 s after its reception",
    }
    assert offsets(table(spark, tmp_path, "silver")) == [6, 9]
    kept = table(spark, tmp_path, "quarantine").where("offset = 2").first()
    assert bytes(kept.payload) == payloads[2]


def test_doubles_are_dropped_within_a_batch_across_batches_and_counted(
    spark: SparkSession, tmp_path: Path, messages: Messages
) -> None:
    again = messages(40, first=80)
    unsequenced = messages(10, first=200, source="x", sequence=[None] * 10)
    anonymous = messages(5, first=300, source=None, sequence=[None] * 5, ntp64=[None] * 5)
    write(tmp_path / "log", messages(100), again, unsequenced, unsequenced, anonymous, anonymous)
    job(spark, tmp_path).run(max_rows=140)
    assert table(spark, tmp_path, "silver").count() == 120 + 10 + 10
    notes = [note for note in Lake(tmp_path / "lake").history() if note["job"] == "silver"]
    assert sum(note["doubles"] for note in notes) == 30
    write(tmp_path / "log", messages(100))
    job(spark, tmp_path).run()
    assert table(spark, tmp_path, "silver").count() == 140


def test_rows_are_compared_only_where_their_numbers_leave_a_doubt(
    spark: SparkSession, tmp_path: Path, messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[int] = []
    real = stream.doubled

    def counted(*arguments: Any) -> DataFrame:
        compared.append(1)
        return real(*arguments)

    monkeypatch.setattr(stream, "doubled", counted)
    write(tmp_path / "log", messages(20), messages(20, first=20))
    job(spark, tmp_path).run(max_rows=20)
    assert compared == []
    write(tmp_path / "log", messages(20, first=30))  # ten again, to a job that starts anew
    job(spark, tmp_path).run()
    assert compared == [1]
    write(tmp_path / "log", messages(5, first=60, sequence=[None] * 5))
    job(spark, tmp_path).run()
    assert compared == [1, 1]
    notes = Lake(tmp_path / "lake").history()
    assert sum(note.get("doubles", 0) for note in notes) == 10
    assert table(spark, tmp_path, "silver").count() == 55


def test_running_again_and_losing_the_checkpoint_double_nothing(
    spark: SparkSession, tmp_path: Path, messages: Messages
) -> None:
    write(tmp_path / "log", *[messages(50, first=50 * i) for i in range(3)])
    job(spark, tmp_path).run(max_rows=100)
    version = Lake(tmp_path / "lake").snapshot().version
    job(spark, tmp_path).run()
    pipeline = job(spark, tmp_path)
    pipeline.run(checkpoint=tmp_path / "fresh")
    assert offsets(table(spark, tmp_path, "silver")) == list(range(150))
    assert Lake(tmp_path / "lake").snapshot().version == version


def test_a_schema_that_grows_keeps_old_days_readable_and_one_that_changes_is_refused(
    spark: SparkSession, tmp_path: Path, messages: Messages
) -> None:
    write(tmp_path / "log", messages(10))
    job(spark, tmp_path).run()
    day_two = messages(
        5, first=10, start=START + timedelta(days=1), payload=[b'{"pm10": 1, "no2": 7}'] * 5
    )
    write(tmp_path / "log", day_two)
    topic = TopicSchema("city/airquality", (PM10, Field("no2", "int")))
    job(spark, tmp_path, PipelinePlan(SilverPlan(PayloadDeclaration((topic,))))).run()
    silver = table(spark, tmp_path, "silver").orderBy("offset").collect()
    assert [row.no2 for row in silver] == [None] * 10 + [7] * 5
    assert [row.pm10 for row in silver] == [*map(float, range(10)), *[1.0] * 5]
    write(tmp_path / "log", messages(5, first=20))
    changed = TopicSchema("city/airquality", (Field("pm10", "string"),))
    with pytest.raises(Exception, match="pm10 is double in the lake and declared as string"):
        job(spark, tmp_path, PipelinePlan(SilverPlan(PayloadDeclaration((changed,))))).run()
    assert table(spark, tmp_path, "silver").count() == 15


def test_a_damaged_segment_becomes_a_row_of_quarantine_and_the_rest_goes_on(
    spark: SparkSession, tmp_path: Path, messages: Messages
) -> None:
    write(tmp_path / "log", *[messages(50, first=50 * i) for i in range(4)])
    segments = sorted((tmp_path / "log/segments").iterdir())
    segments[1].write_bytes(segments[1].read_bytes()[:-10])  # while the recorder runs
    segments[2].write_bytes(b"")
    job(spark, tmp_path).run(max_rows=100)
    assert offsets(table(spark, tmp_path, "silver")) == [*range(50), *range(150, 200)]
    holes = table(spark, tmp_path, "quarantine").orderBy("offset").collect()
    assert [(row["offset"], row.kind) for row in holes] == [(50, "hole"), (100, "hole")]
    assert "offsets 50 to 99" in holes[0].reason


def test_tracks_are_kept_current(spark: SparkSession, tmp_path: Path, messages: Messages) -> None:
    standing = {"latitude": [45.45] * 200, "longitude": [9.15] * 200}
    write(tmp_path / "log", messages(200, **standing))
    plan = PipelinePlan(SilverPlan(DECLARED), None, TrackPlan())
    job(spark, tmp_path, plan).run()
    assert [row.kind for row in table(spark, tmp_path, "tracks").collect()] == ["stop"]
    more = messages(
        200, first=200, **{**standing, "latitude": [45.45 + i / 1000 for i in range(200)]}
    )
    write(tmp_path / "log", more)
    job(spark, tmp_path, plan).run()
    rows = table(spark, tmp_path, "tracks").orderBy("time").collect()
    assert [row.kind for row in rows] == ["stop", "trip"]
    assert rows[1].distance_m == pytest.approx(22_128, rel=0.01)


def test_compaction_leaves_the_rows_and_the_readers_alone(
    spark: SparkSession, tmp_path: Path, messages: Messages
) -> None:
    write(tmp_path / "log", *[messages(30, first=30 * i) for i in range(4)])
    job(spark, tmp_path).run(max_rows=30)
    lake = Lake(tmp_path / "lake")
    reading = table(spark, tmp_path, "silver")
    before = offsets(reading)
    report = compact(spark, lake)
    assert (report.files_before, report.files_after, report.rows) == (4, 1, 120)
    assert offsets(reading) == before == offsets(table(spark, tmp_path, "silver"))
    version = lake.snapshot().version
    job(spark, tmp_path).run()
    assert lake.snapshot().version <= version + 1  # nothing new to compute but a note at most
    lake.vacuum(older_than_s=-1)
    assert offsets(table(spark, tmp_path, "silver")) == before


def test_functions_also_work_on_a_stream(
    spark: SparkSession, tmp_path: Path, messages: Messages
) -> None:
    """The jobs as plain functions from DataFrame to DataFrame, with Spark's own state."""
    write(tmp_path / "log", messages(400), messages(400))
    stream = spark.readStream.format("zonal").load(str(tmp_path / "log"))
    refined = refine(stream, PLAN.silver).where("reason is null").drop("reason")
    query = (
        deduplicate(refined)
        .writeStream.format("memory")
        .queryName("refined")
        .trigger(availableNow=True)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    query.awaitTermination(120)
    assert spark.table("refined").count() == 400
    spark.catalog.dropTempView("refined")


def test_a_query_stopped_in_the_middle_of_a_job_ends_without_an_error(
    spark: SparkSession, tmp_path: Path, messages: Messages
) -> None:
    """Spark must be able to tell the stop from a failure by what the batch raises.

    It searches the error's text by a regular expression that overflows the stack on a long one.
    """
    write(tmp_path / "log", messages(20))
    running, raised = threading.Event(), []

    def work_long() -> None:
        # In a group of its own: the stop shall interrupt the wait for this job, not cancel it.
        spark.sparkContext.setJobGroup("long", "a job that does not end")
        running.set()
        try:
            spark.range(10**13).selectExpr("sum(hash(id))").collect()
        except Exception:
            raised.append(traceback.format_exc())
            raise

    pipeline = job(spark, tmp_path)
    pipeline.on_gold(work_long)
    errors: list[str] = []
    real = pipeline._batch

    def watched(segments: DataFrame, number: int) -> None:
        try:
            real(segments, number)
        except Exception:
            errors.append(traceback.format_exc())
            raise

    pipeline._batch = watched  # type: ignore[method-assign]
    query = pipeline.start(trigger_s=0.1)
    try:
        assert running.wait(120)
        status = spark.sparkContext.statusTracker()
        eventually(status.getActiveStageIds)
    finally:
        query.stop()
        spark.sparkContext.cancelJobGroup("long")
    assert query.exception() is None
    assert "java.lang.InterruptedException" in raised[0]
    assert "java.lang.InterruptedException" in errors[0]
    after = errors[0].partition("An error occurred while calling")[2]
    assert len(after) < 200  # Spark's own search for the interruption stays shallow
    assert Lake(tmp_path / "lake").snapshot().offsets == {pipeline.log.id: 20}


_KILLED = """
import sys
from zonal.pipeline.jobs import Pipeline, PipelinePlan, open_spark
spark = open_spark("local[2]", conf={"spark.sql.shuffle.partitions": "2"})
pipeline = Pipeline(spark, sys.argv[1] + "/log", sys.argv[1] + "/lake", PipelinePlan(),
                    on_batch=lambda report: print("batch", report.end, flush=True))
print("started", flush=True)
pipeline.run(max_rows=50)
"""


def test_a_crash_between_writing_and_committing_leaves_nothing_half_done(
    spark: SparkSession, tmp_path: Path, messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "log", messages(50), messages(50, first=50))

    def crash(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Lake, "_publish", crash)
        with pytest.raises(Exception, match="No space left on device"):
            job(spark, tmp_path).run(max_rows=50)
    assert Lake(tmp_path / "lake").snapshot().version == -1
    job(spark, tmp_path).run(max_rows=50)
    assert offsets(table(spark, tmp_path, "silver")) == list(range(100))


@pytest.mark.slow
def test_a_query_killed_mid_batch_again_and_again_still_writes_exactly_once(
    tmp_path: Path, messages: Messages
) -> None:
    write(tmp_path / "log", *[messages(50, first=50 * i) for i in range(12)])
    for batches in (1, 3, 0):
        command = [sys.executable, "-c", _KILLED, str(tmp_path)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, start_new_session=True
        ) as process:
            assert process.stdout is not None
            seen = -1
            for line in process.stdout:
                seen += line.startswith(("started", "batch"))
                if seen >= batches:
                    break
            timer = threading.Event()
            timer.wait(0.4)  # into the next batch
            os.killpg(process.pid, signal.SIGKILL)
    subprocess.run([sys.executable, "-c", _KILLED, str(tmp_path)], check=True, timeout=150)
    lake = Lake(tmp_path / "lake")
    found = pa.concat_tables(
        [
            pq.read_table(path, columns=["offset"])
            for path in lake.absolute(lake.snapshot().files("silver"))
        ]
    )
    assert sorted(found["offset"].to_pylist()) == list(range(600))
