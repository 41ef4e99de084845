"""What is known of a batch of the log before its payloads are looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own guide gives it

from zonal.pipeline.jobs.tables import spark_url, time_condition
from zonal.pipeline.recorded_numbers import RecordedNumbers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from zonal.pipeline.log import Log

_HOUR_S = 3600
# Statistics may cut longer names off.
_LONGEST_NAME = 32
# What Spark takes for a pattern of names.
_WILD = set("*?[]{}\\")
_STATISTICS = ("num_records", "min.recorder", "max.recorder", "min.offset", "max.offset")


@dataclass(frozen=True)
class Batch:
    """How many messages a batch has, and which offsets of which recorder they are."""

    rows: int
    offsets: RecordedNumbers


def read_directly(messages: DataFrame, log: Log) -> DataFrame:
    """The same rows, read from the files of the log when something is asked of them.

    What a stream hands over is a plan that is done already: all columns of all rows are made, and
    copied once more for what follows. Where Spark does not say which files they are, and where a
    file alone does not say which of its rows are there, it is that plan.
    """
    files = _files_of(messages)
    is_wild = any(_WILD & set(path) for path in files)
    if not files or is_wild or log.table().protocol().reader_features:
        return messages
    rows = messages.sparkSession.read.schema(messages.schema)
    return rows.option("basePath", spark_url(log.url)).parquet(*sorted(files))


def summarize(messages: DataFrame, log: Log) -> Batch:
    """Count a batch: by what Delta knows of its files or, where that is not enough, by its rows."""
    files = set(map(_name, _files_of(messages)))
    return _by_statistics(files, log) or _by_rows(read_directly(messages, log))


def hours_of(messages: DataFrame) -> tuple[int, ...]:
    """The hours since 1970 in which messages were sent, in order."""
    moment = F.coalesce("timestamp", "received")
    found = messages.select(F.floor(F.unix_seconds(moment) / _HOUR_S).alias("hour")).distinct()
    return tuple(sorted(row.hour for row in found.collect()))


def in_hours(hours: tuple[int, ...]) -> str:
    """A condition on `time`, by which Delta leaves files out."""
    return time_condition(hours, 1, _HOUR_S)


def _files_of(messages: DataFrame) -> set[str]:
    """The files that a batch consists of; none where Spark does not say.

    What a stream hands over is a plan that is done already, so `inputFiles` knows of nothing. The
    files stand at its root.
    """
    plan = messages._jdf.queryExecution().logical()  # noqa: SLF001
    if plan.getClass().getSimpleName() != "LogicalRDD":
        return set()
    rows = plan.rdd()
    while rows.getClass().getSimpleName() != "FileScanRDD":
        before = rows.dependencies()
        if before.size() != 1:
            return set()
        rows = before.head().rdd()
    parts = rows.filePartitions()
    return {
        file.filePath().toPath().toString()
        for index in range(parts.size())
        for file in parts.apply(index).files()
    }


def _by_statistics(files: set[str], log: Log) -> Batch | None:
    """Count whole files of one recorder each, whose offsets have no gaps; None for others."""
    actions = pa.table(log.table().get_add_actions(flatten=True))
    if not files or not {"path", *_STATISTICS} <= set(actions.column_names):
        return None
    names = pa.array([_name(path) for path in actions["path"].to_pylist()], pa.string())
    ours = actions.filter(pc.is_in(names, value_set=pa.array(files, pa.string())))
    found = ours.select(_STATISTICS).to_pylist()
    if len(found) != len(files) or not all(map(_is_whole, found)):
        return None
    offsets = RecordedNumbers()
    for one in found:
        offsets.merge({one["min.recorder"]: [[one["min.offset"], one["max.offset"]]]})
    return Batch(sum(one["num_records"] for one in found), offsets)


def _is_whole(file: dict[str, Any]) -> bool:
    if any(file[name] is None for name in _STATISTICS):
        return False
    is_of_one = file["min.recorder"] == file["max.recorder"]
    length = file["max.offset"] - file["min.offset"] + 1
    is_exact = len(file["min.recorder"].encode()) < _LONGEST_NAME
    return is_of_one and is_exact and bool(file["num_records"] == length)


def _by_rows(messages: DataFrame) -> Batch:
    row = F.col("offset") - F.row_number().over(Window.partitionBy("recorder").orderBy("offset"))
    found = (
        messages.groupBy("recorder")
        .agg(
            F.count("*").alias("rows"),
            F.min("offset").alias("low"),
            F.max("offset").alias("high"),
        )
        .collect()
    )
    ranges = {one.recorder: [[one.low, one.high]] for one in found}
    if any(one.rows != one.high - one.low + 1 for one in found):
        # With gaps (files that were merged, or retention): where each run begins and ends.
        runs = messages.select("recorder", "offset", row.alias("run")).groupBy("recorder", "run")
        ends = runs.agg(F.min("offset").alias("low"), F.max("offset").alias("high")).collect()
        ranges = {one.recorder: [] for one in found}
        for one in ends:
            ranges[one.recorder].append([one.low, one.high])
    return Batch(sum(one.rows for one in found), RecordedNumbers(ranges))


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]
