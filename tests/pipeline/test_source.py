from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from pipeline_rows import START
from zonal.geo import area_from_wkt
from zonal.pipeline import LogWriter, Retention

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

Messages = Callable[..., pa.Table]
AREA = "POLYGON ((9.15 45.43, 9.2 45.43, 9.2 45.47, 9.15 45.47, 9.15 45.43))"


@pytest.fixture
def log(tmp_path: Path, messages: Messages) -> Path:
    """Three segments: 300 messages, one a second, on two topics."""
    path = tmp_path / "log"
    with LogWriter(path) as writer:
        writer.append(messages(100))
        writer.append(messages(100, first=100, topic="city/noise/street", source="b2:1"))
        writer.append(messages(100, first=200))
    return path


def offsets(frame: DataFrame) -> list[int]:
    return sorted(row["offset"] for row in frame.select("offset").collect())


def drain(spark: SparkSession, log: Path, sink: Path, **options: Any) -> list[int]:
    """Run a stream until the log is read; the number of rows of each micro-batch."""
    frame = spark.readStream.format("zonal").options(path=log, **options).load()
    query = (
        frame.writeStream.format("parquet")
        .option("path", str(sink / "rows"))
        .option("checkpointLocation", str(sink / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(60)
    return [progress.numInputRows for progress in query.recentProgress if progress.numInputRows]


def test_a_batch_read_gives_every_row_and_column(spark: SparkSession, log: Path) -> None:
    frame = spark.read.format("zonal").load(str(log))
    assert offsets(frame) == list(range(300))
    row = frame.where("offset = 7").first()
    assert row is not None
    assert (row.topic, row.sequence, bytes(row.payload)) == (
        "city/airquality",
        7,
        b'{"pm10": 7, "device": "d2"}',
    )
    assert row.timestamp.timestamp() == (START + timedelta(seconds=7)).timestamp()


def test_options_select_by_topic_area_and_time(
    spark: SparkSession, log: Path, messages: Messages
) -> None:
    reader = spark.read.format("zonal")
    assert offsets(reader.options(topic="city/*/street").load(str(log))) == list(range(100, 200))
    since = (START + timedelta(seconds=250)).isoformat()
    assert offsets(reader.options(topic="**", since=since).load(str(log))) == list(range(250, 300))
    rows = pa.concat_tables([messages(100), messages(100, first=100), messages(100, first=200)])
    inside = area_from_wkt(AREA).contains_many(
        rows["latitude"].to_numpy(), rows["longitude"].to_numpy()
    )
    expected = [offset for offset, there in enumerate(inside) if there]
    assert 0 < len(expected) < 300
    found = spark.read.format("zonal").options(path=log, area=AREA).load()
    assert offsets(found) == expected


@pytest.mark.parametrize(
    "condition",
    [
        "topic = 'city/noise/street'",
        "topic in ('city/noise/street', 'x')",
        "offset >= 150 and offset < 160",
        "timestamp > timestamp'2026-11-15 06:04:00'",
        "latitude between 45.41 and 45.42 and pmod(offset, 2) = 0",
        "source is not null and sequence <= 3",
        "cell < 0",
    ],
)
def test_filters_that_are_pushed_down_give_what_spark_itself_would(
    spark: SparkSession, log: Path, condition: str
) -> None:
    ours = spark.read.format("zonal").load(str(log)).where(condition)
    native = spark.read.parquet(str(log / "segments")).where(condition)
    assert offsets(ours) == offsets(native)


def test_only_the_named_columns_are_read(spark: SparkSession, log: Path) -> None:
    frame = spark.read.format("zonal").options(columns="offset, topic", area=AREA).load(str(log))
    assert frame.columns == ["offset", "topic"]
    assert frame.count() > 0


def test_a_stream_admits_at_most_max_rows_and_reads_each_offset_once(
    spark: SparkSession, log: Path, tmp_path: Path, messages: Messages
) -> None:
    assert drain(spark, log, tmp_path, maxRowsPerTrigger=130) == [100, 100, 100]
    with LogWriter(log) as writer:
        writer.append(messages(50, first=300))
    assert drain(spark, log, tmp_path, maxRowsPerTrigger=20) == [20, 20, 10]
    assert offsets(spark.read.parquet(str(tmp_path / "rows"))) == list(range(350))


def test_a_new_stream_starts_where_it_is_told(
    spark: SparkSession, log: Path, tmp_path: Path
) -> None:
    assert drain(spark, log, tmp_path / "late", startingOffset=290) == [10]
    assert drain(spark, log, tmp_path / "latest", startingOffset="latest") == []


def test_a_stream_is_filtered_by_topic_and_area(
    spark: SparkSession, log: Path, tmp_path: Path
) -> None:
    drain(spark, log, tmp_path, topic="city/noise/**")
    assert offsets(spark.read.parquet(str(tmp_path / "rows"))) == list(range(100, 200))


def test_segments_removed_before_they_were_read_are_an_error_unless_allowed(
    spark: SparkSession, log: Path, tmp_path: Path
) -> None:
    with LogWriter(log, retention=Retention(max_bytes=0)) as writer:
        writer.retire()
    with pytest.raises(Exception, match="offsets 0 to 199 were removed by retention"):
        drain(spark, log, tmp_path / "strict", startingOffset=0)
    drain(spark, log, tmp_path / "lenient", startingOffset=0, failOnDataLoss="false")
    assert offsets(spark.read.parquet(str(tmp_path / "lenient/rows"))) == list(range(200, 300))


def test_a_corrupt_segment_fails_the_read_by_name_or_is_skipped(
    spark: SparkSession, log: Path
) -> None:
    hurt = sorted((log / "segments").iterdir())[1]
    hurt.write_bytes(hurt.read_bytes()[:-30])
    read = spark.read.format("zonal")
    with pytest.raises(Exception, match=f"{hurt.name} cannot be read"):
        read.load(str(log)).count()
    rest = [*range(100), *range(200, 300)]
    assert offsets(read.option("onCorrupt", "skip").load(str(log))) == rest
    LogWriter(log).close()  # a writer sets it aside
    with pytest.raises(Exception, match="offsets 100 to 199 are missing"):
        spark.read.format("zonal").load(str(log)).count()
    assert offsets(read.option("onCorrupt", "skip").load(str(log))) == rest


def test_segments_as_rows_name_what_is_damaged(spark: SparkSession, log: Path) -> None:
    hurt = sorted((log / "segments").iterdir())[1]
    hurt.write_bytes(hurt.read_bytes()[:-30])
    rows = spark.read.format("zonal").options(rows="segments").load(str(log)).collect()
    assert [(row.first, row.last, row.error is None) for row in rows] == [
        (0, 99, True),
        (100, 199, False),
        (200, 299, True),
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"area": "POLYGON (("}, "option area"),
        ({"since": "yesterday"}, "since 'yesterday' is no ISO 8601 time"),
        ({"columns": "offset,nose"}, "no column 'nose'"),
        ({"startingOffset": "first"}, "startingOffset 'first' is not"),
        ({"maxRowsPerTrigger": "0"}, "not a whole number above 0"),
        ({"onCorrupt": "ignore"}, "not fail or skip"),
        ({"colour": "red"}, "unknown option 'colour'"),
    ],
)
def test_wrong_options_say_what_is_right(
    spark: SparkSession, log: Path, options: dict[str, str], message: str
) -> None:
    with pytest.raises(Exception, match=message):
        spark.read.format("zonal").options(**options).load(str(log)).count()
