from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest
import shapely
from deltalake import DeltaTable
from pyspark.sql import functions as F  # noqa: N812

from network import eventually
from pipeline_rows import START, make_messages
from zonal.pipeline import (
    Field,
    History,
    Lake,
    Log,
    LogWriter,
    PayloadDeclaration,
    Selection,
    TopicSchema,
    TrackPlan,
    Zones,
)
from zonal.pipeline.jobs import (
    BatchReport,
    Pipeline,
    PipelinePlan,
    SilverPlan,
    WindowPlan,
    batch,
    compact,
    deduplicate,
    read_table,
    refine,
    stream,
    vacuum,
    windows,
)
from zonal.pipeline.jobs.tables import write_table

pytestmark = pytest.mark.timeout(600)  # Spark starts, and compiles all it does once

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
GOLD_AT_THE_END = replace(PLAN, gold_every=99)
NO_GOLD = PipelinePlan(PLAN.silver)
GOLD_COLUMNS = ["time", "until", "topic", "zone", "cell", "measure", "count", "mean", "max"]
"""What is compared of gold: neither percentiles nor the partition."""
PAYLOADS = [
    b"\xff\xfe",
    b"[1]",
    b'{"pm10": "much"}',
    b"{}",
    b'{"pm10": -1}',
    b"",
    b'{"pm10": 5}',
]
"""The last one is as declared."""


def write(log: Path, *tables: pa.Table, recorder: str = "recorder") -> None:
    with LogWriter(log, recorder=recorder) as writer:
        for table in tables:
            writer.append(table)


def job(spark: SparkSession, folder: Path, plan: PipelinePlan = PLAN) -> Pipeline:
    return Pipeline(spark, folder / "log", folder / "lake", plan)


def table(folder: Path, name: str) -> pa.Table:
    """Read without Spark, which would plan jobs for it; other tests have Spark read each table."""
    return Lake(folder / "lake").existing(name).to_pyarrow_dataset().to_table()


def offsets(rows: pa.Table) -> list[int]:
    return sorted(rows["offset"].to_pylist())


def gold_rows(rows: pa.Table) -> set[tuple[Any, ...]]:
    return {tuple(row.values()) for row in rows.select(GOLD_COLUMNS).to_pylist()}


def expected_gold(spark: SparkSession, folder: Path, plan: WindowPlan) -> set[tuple[Any, ...]]:
    """By Spark's view of all of silver."""
    return gold_rows(windows(read_table(spark, folder / "lake", "silver"), plan).toArrow())


@pytest.fixture(scope="module")
def one_run(spark_holder: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a job leaves that ran once, over 600 good messages, then 9 bad and 2 good ones."""
    folder = tmp_path_factory.mktemp("one-run")
    write(
        folder / "log",
        make_messages(400),
        make_messages(200, first=400),
        make_messages(len(PAYLOADS), payload=PAYLOADS, source="b:1"),
        make_messages(1, first=50, source="b:1", latitude=[91.0]),
        make_messages(1, first=51, source="b:1", timestamp=[START + timedelta(days=400)]),
        make_messages(1, first=52, source="b:1", topic="city/secret", payload=[b"\x00\x01"]),
        make_messages(1, first=53, source="b:1", timestamp=[START - timedelta(days=32)]),
    )
    spark = spark_holder.session()
    job(spark, folder, replace(PLAN, tracks=TrackPlan())).run()
    raised = spark.createDataFrame([("x", START)], "id STRING, time TIMESTAMP")
    write_table(Lake(folder / "lake"), "alerts", raised)
    return folder


def test_messages_become_silver_and_gold(spark: SparkSession, one_run: Path) -> None:
    silver = read_table(spark, one_run / "lake", "silver").where("topic = 'city/airquality'")
    assert offsets(silver.toArrow()) == [*range(600), 606]
    row = silver.where("offset = 3").first()
    assert row is not None
    assert (row.pm10, row.zone, row.device) == (
        3.0,
        "north" if row.latitude > 45.46 else "south",
        "a1:1",
    )
    gold = read_table(spark, one_run / "lake", "windows").where("topic = 'city/airquality'")
    zoned = {
        (r.time.minute, r.zone): (r["count"], r["max"], r.mean)
        for r in gold.where("zone is not null").collect()
    }
    assert sum(count for count, _, _ in zoned.values()) == 601
    assert set(zoned) == {(0, "south"), (0, "north"), (5, "south"), (5, "north")}
    assert gold.where("cell is not null").agg(F.sum("count")).first()[0] == 601
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
    pipeline.run()
    assert table(tmp_path, "silver").num_rows == 550
    assert PLAN.windows is not None
    expected = expected_gold(spark, tmp_path, PLAN.windows)
    assert gold_rows(table(tmp_path, "windows")) == expected
    other = WindowPlan(("pm10",), window_s=600)
    job(spark, tmp_path, PipelinePlan(PLAN.silver, other)).run()
    assert gold_rows(table(tmp_path, "windows")) == expected_gold(spark, tmp_path, other)


def test_bad_rows_go_to_quarantine_with_the_reason(one_run: Path) -> None:
    bad = {row["offset"]: row for row in table(one_run, "quarantine").to_pylist()}
    assert {offset - 600: row["reason"] for offset, row in bad.items()} == {
        0: "payload is no JSON object",
        1: "payload is no JSON object",
        2: "field pm10: much is no double",
        3: "field pm10 is missing",
        4: "field pm10: -1.0 is below 0",
        5: "payload is no JSON object",
        7: "location (91.0, 9.163) is outside the world",
        8: "time stamp is 34559949 s after its reception",
        10: "time stamp is 2764853 s before its reception",
    }
    assert offsets(table(one_run, "silver"))[600:] == [606, 609]
    assert bad[602]["payload"] == PAYLOADS[2]


def test_what_two_recorders_heard_is_in_silver_once(
    spark: SparkSession, tmp_path: Path, messages: Messages
) -> None:
    unsequenced = messages(10, first=200, source="x", sequence=[None] * 10)
    anonymous = messages(5, first=300, source=None, sequence=[None] * 5, ntp64=[None] * 5)
    write(tmp_path / "log", messages(100), unsequenced, anonymous, recorder="a")
    write(tmp_path / "log", messages(40, first=80), unsequenced, anonymous, recorder="b")
    reports: list[BatchReport] = []
    pipeline = Pipeline(
        spark, tmp_path / "log", tmp_path / "lake", PipelinePlan(), on_batch=reports.append
    )
    pipeline.run(max_files=4)  # within a batch, and across batches
    assert table(tmp_path, "silver").num_rows == 120 + 10 + 10
    assert sum(report.doubles for report in reports) == 30
    assert sum(report.rows for report in reports) == 170


def test_rows_are_compared_only_where_two_recorders_wrote_or_a_batch_came_before(
    spark: SparkSession, tmp_path: Path, messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[int] = []
    real = stream.without_doubles

    def counted(*arguments: Any) -> DataFrame:
        compared.append(1)
        return real(*arguments)

    monkeypatch.setattr(stream, "without_doubles", counted)
    write(tmp_path / "log", messages(20), messages(20, first=20))
    job(spark, tmp_path, NO_GOLD).run(max_files=1)
    assert compared == []
    write(tmp_path / "log", messages(20, first=30), recorder="other")
    job(spark, tmp_path, NO_GOLD).run()
    assert compared == [1]
    assert table(tmp_path, "silver").num_rows == 50


def test_a_log_is_read_from_its_files_unless_spark_would_take_their_names_for_a_pattern(
    spark: SparkSession, tmp_path: Path, messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = stream.read_directly
    was_direct = []

    def read_directly(rows: DataFrame, log: Log) -> DataFrame:
        found = real(rows, log)
        was_direct.append(found is not rows)
        return found

    monkeypatch.setattr(stream, "read_directly", read_directly)
    for name, lake in (("log", "lake"), ("log{1}", "other")):
        write(tmp_path / name, messages(20))
        Pipeline(spark, tmp_path / name, tmp_path / lake, NO_GOLD).run()
        silver = Lake(tmp_path / lake).existing("silver")
        found = silver.to_pyarrow_dataset().to_table(["offset"])["offset"].to_pylist()
        assert sorted(found) == list(range(20))
    assert was_direct == [True, False]


def test_a_batch_is_counted_by_what_delta_knows_of_its_files_else_by_its_rows(
    spark: SparkSession, tmp_path: Path, messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[int] = []
    real = batch._by_rows

    def by_rows(rows: DataFrame) -> batch.Batch:
        found = real(rows)
        counted.append(found.rows)
        return found

    monkeypatch.setattr(batch, "_by_rows", by_rows)
    write(tmp_path / "log", *[messages(20, first=20 * i) for i in range(16)])
    lake = Lake(tmp_path / "lake")
    job(spark, tmp_path, NO_GOLD).run(max_files=8)
    assert counted == []
    assert lake.offsets(lake.find("silver")).to_dict() == {"recorder": [[0, 319]]}
    write(tmp_path / "log", messages(5, first=400), recorder="other")
    with LogWriter(tmp_path / "log") as writer:
        writer.compact()  # one file, of two recorders
    other = Pipeline(spark, tmp_path / "log", tmp_path / "other", NO_GOLD)
    other.run()
    assert counted == [325]
    found = other.lake.offsets(other.lake.find("silver")).to_dict()
    assert found == {"recorder": [[0, 319]], "other": [[0, 4]]}


def test_a_payload_is_parsed_once(spark: SparkSession, tmp_path: Path, messages: Messages) -> None:
    """Not again for each check, where Spark moves the condition on `reason` to the rows' source."""
    write(tmp_path / "log", messages(10))
    rows = spark.read.format("delta").load(str(tmp_path / "log"))
    for condition in ("reason is null", "reason is not null"):
        chosen = refine(rows, PLAN.silver).where(condition)
        plan = chosen._jdf.queryExecution().optimizedPlan().toString()
        assert plan.count("from_json(") == 1


def test_running_again_and_losing_the_checkpoint_double_nothing(
    spark: SparkSession, tmp_path: Path, messages: Messages
) -> None:
    write(tmp_path / "log", *[messages(50, first=50 * i) for i in range(3)])
    job(spark, tmp_path, GOLD_AT_THE_END).run(max_files=2)
    job(spark, tmp_path, GOLD_AT_THE_END).run()
    job(spark, tmp_path, GOLD_AT_THE_END).run(checkpoint=tmp_path / "fresh")
    assert offsets(table(tmp_path, "silver")) == list(range(150))
    gold = table(tmp_path, "windows").to_pylist()
    assert sum(row["count"] for row in gold if row["zone"] is not None) == 150


def test_a_schema_that_grows_keeps_old_days_readable_and_one_that_changes_is_refused(
    spark: SparkSession, tmp_path: Path, messages: Messages
) -> None:
    write(tmp_path / "log", messages(10))
    job(spark, tmp_path, NO_GOLD).run()
    day_two = messages(
        5, first=10, start=START + timedelta(days=1), payload=[b'{"pm10": 1, "no2": 7}'] * 5
    )
    write(tmp_path / "log", day_two)
    topic = TopicSchema("city/airquality", (PM10, Field("no2", "int")))
    job(spark, tmp_path, PipelinePlan(SilverPlan(PayloadDeclaration((topic,))))).run()
    silver = read_table(spark, tmp_path / "lake", "silver").orderBy("offset").toArrow()
    assert silver["no2"].to_pylist() == [None] * 10 + [7] * 5
    assert silver["pm10"].to_pylist() == [*map(float, range(10)), *[1.0] * 5]
    write(tmp_path / "log", messages(5, first=20))
    changed = TopicSchema("city/airquality", (Field("pm10", "string"),))
    with pytest.raises(Exception, match="pm10 is double in the lake and declared as string"):
        job(spark, tmp_path, PipelinePlan(SilverPlan(PayloadDeclaration((changed,))))).run()
    assert table(tmp_path, "silver").num_rows == 15


def test_a_batch_whose_quarantine_was_not_written_is_finished_and_not_doubled(
    spark: SparkSession, tmp_path: Path, messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash between the commits of the two tables: Delta's identifiers know which is done."""
    write(tmp_path / "log", messages(10, payload=[b'{"pm10": 1}'] * 8 + [b"bad"] * 2))

    def crash(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Pipeline, "_to_quarantine", crash)
        with pytest.raises(Exception, match="No space left on device"):
            job(spark, tmp_path, NO_GOLD).run()
    assert offsets(table(tmp_path, "silver")) == list(range(8))
    job(spark, tmp_path, NO_GOLD).run()
    assert offsets(table(tmp_path, "silver")) == list(range(8))
    assert offsets(table(tmp_path, "quarantine")) == [8, 9]


def test_any_tool_reads_every_table(spark: SparkSession, one_run: Path) -> None:
    for name, rows in {
        "log": 611,
        "lake/silver": 602,
        "lake/quarantine": 9,
        "lake/alerts": 1,
        "lake/windows": None,
        "lake/tracks": None,
    }.items():
        place = str(one_run / name)
        bare = spark.read.format("delta").load(place).count()
        arrow = duckdb.from_arrow(DeltaTable(place).to_pyarrow_dataset())
        assert arrow.aggregate("count(*)").fetchall() == [(bare,)]
        assert pl.read_delta(place).height == bare
        assert bare == rows or (rows is None and bare > 0)


def test_tracks_are_kept_current(spark: SparkSession, tmp_path: Path, messages: Messages) -> None:
    standing = {"latitude": [45.45] * 200, "longitude": [9.15] * 200}
    write(tmp_path / "log", messages(200, **standing))
    plan = PipelinePlan(SilverPlan(DECLARED), None, TrackPlan())
    job(spark, tmp_path, plan).run()
    assert table(tmp_path, "tracks")["kind"].to_pylist() == ["stop"]
    more = messages(
        200, first=200, **{**standing, "latitude": [45.45 + i / 1000 for i in range(200)]}
    )
    write(tmp_path / "log", more)
    job(spark, tmp_path, plan).run()
    rows = table(tmp_path, "tracks").sort_by("time").to_pylist()
    assert [row["kind"] for row in rows] == ["stop", "trip"]
    assert rows[1]["distance_m"] == pytest.approx(22_128, rel=0.01)


def test_compaction_leaves_the_rows_and_the_readers_alone_and_old_versions_stay(
    spark: SparkSession, tmp_path: Path, messages: Messages
) -> None:
    write(tmp_path / "log", messages(30), messages(90, first=30))
    job(spark, tmp_path, GOLD_AT_THE_END).run(max_files=1)
    reading = read_table(spark, tmp_path / "lake", "silver").select("offset")
    before = offsets(reading.toArrow())
    report = compact(spark, tmp_path / "lake")
    assert report.files_after == 1 < report.files_before
    assert offsets(reading.toArrow()) == before == offsets(table(tmp_path, "silver"))
    assert read_table(spark, tmp_path / "lake", "silver", version=0).count() == 30
    then = History(lake=tmp_path / "lake", log=tmp_path / "log", version=0)
    assert then.table(Selection()).num_rows == 30
    gold = gold_rows(table(tmp_path, "windows"))
    write(tmp_path / "log", messages(30, first=4000))
    job(spark, tmp_path, GOLD_AT_THE_END).run()
    assert offsets(table(tmp_path, "silver")) == list(range(150))
    assert gold < gold_rows(table(tmp_path, "windows"))
    assert vacuum(tmp_path / "lake", "silver", older_than_hours=0) >= report.files_before
    assert offsets(table(tmp_path, "silver")) == list(range(150))


def test_functions_also_work_on_a_stream(
    spark: SparkSession, tmp_path: Path, messages: Messages
) -> None:
    """The jobs as plain functions from DataFrame to DataFrame, with Spark's own state."""
    write(tmp_path / "log", messages(400), messages(400))
    stream = spark.readStream.format("delta").load(str(tmp_path / "log"))
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
    lake = Lake(tmp_path / "lake")
    assert lake.offsets(lake.find("silver")).to_dict() == {"recorder": [[0, 19]]}
