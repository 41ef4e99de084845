"""Spark's view of the lake: reading and writing a table's files, and small ones made large."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from pyspark.sql.types import StructType

from zonal.errors import LakeError
from zonal.pipeline.lake import Commit, DataFile, Lake
from zonal.pipeline.schema import LOG_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import DataFrame, SparkSession

_HOUR_US = 3_600_000_000

# In all other columns values hardly repeat: a dictionary of them costs time and saves no space.
_REPEATING = {"topic", "geofence", "geofence_radius_m", "encoding", "kind", "clock", "source"}
_PLAIN = tuple(name for name in ("time", *LOG_COLUMNS) if name not in _REPEATING)


@dataclass(frozen=True)
class Compaction:
    """What one run did to a table."""

    table: str
    files_before: int
    files_after: int
    rows: int


def read_table(spark: SparkSession, lake: Lake, table: str) -> DataFrame:
    """A table as it is now; later commits do not disturb what was read."""
    return read_files(spark, lake, table, lake.snapshot().files(table))


def read_files(
    spark: SparkSession,
    lake: Lake,
    table: str,
    files: Iterable[DataFile],
    *,
    schema: StructType | None = None,
) -> DataFrame:
    """Some files of a table, with the table's columns: those that an old file lacks are null.

    The lake says which they are; where it does not, `schema`, or else the files do.
    """
    schema = table_schema(lake, table) or schema
    paths = lake.absolute(files)
    if not paths:
        return spark.createDataFrame([], schema or StructType([]))
    reader = spark.read.schema(schema) if schema is not None else spark.read
    return reader.parquet(*paths)


def table_schema(lake: Lake, table: str) -> StructType | None:
    """A table's columns, where the lake's commits say which they are."""
    known = lake.snapshot().schemas.get(table)
    return None if known is None else StructType.fromJson(json.loads(known))


def write_rows(lake: Lake, rows: DataFrame, partitions: Sequence[str] = ()) -> list[DataFile]:
    """Write rows as files that no table has yet; a failed write leaves nothing behind."""
    folder = lake.new_folder()
    plain = {f"parquet.enable.dictionary#{name}": "false" for name in _PLAIN}
    try:
        rows.write.options(**plain).partitionBy(*partitions).parquet(str(folder))
        return lake.data_files(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def compact(
    spark: SparkSession,
    lake: Lake,
    table: str = "silver",
    *,
    target_bytes: int = 128 * 1024 * 1024,
) -> Compaction:
    """Merge the small files of each hour into files of about the target size, sorted by place.

    A commit swaps old for new, so a reader sees all of one or all of the other. The old files
    stay until `Lake.vacuum`. Should another job have changed one of them meanwhile, nothing
    happens to that hour, and a later run gets it.
    """
    before = lake.snapshot().files(table)
    rows = 0
    for group in _groups(before, target_bytes):
        try:
            rows += _merge(spark, lake, table, group, target_bytes)
        except LakeError:
            continue
    return Compaction(table, len(before), len(lake.snapshot().files(table)), rows)


def _groups(files: tuple[DataFile, ...], target_bytes: int) -> list[list[DataFile]]:
    """Small files by region folder and hour of their middle: time and place keep pruning."""
    small = [one for one in files if one.size < target_bytes // 2]
    keyed = sorted(small, key=_key)
    grouped = [list(group) for _, group in groupby(keyed, key=_key)]
    return [group for group in grouped if len(group) > 1]


def _key(one: DataFile) -> tuple[str, int]:
    folder = one.path.split("/", 2)[-1].rpartition("/")[0]  # below data/<commit>/
    middle = ((one.min_time or 0) + (one.max_time or 0)) // 2
    return folder, middle // _HOUR_US


def _merge(
    spark: SparkSession, lake: Lake, table: str, group: list[DataFile], target_bytes: int
) -> int:
    frame = read_files(spark, lake, table, group)
    count = max(1, round(sum(one.size for one in group) / target_bytes))
    order = "cell" if "cell" in frame.columns else "time"
    merged = frame.repartitionByRange(count, "time") if count > 1 else frame.coalesce(1)
    files = write_rows(lake, merged.sortWithinPartitions(order))
    rows = sum(one.rows for one in files)
    if rows != sum(one.rows for one in group):
        raise LakeError(f"{table}: {rows} rows after merging, not as many as before")
    lake.commit(
        Commit(
            added={table: files},
            removed={table: group},
            info={"job": "compact", "table": table, "files": len(group), "rows": rows},
        )
    )
    return rows
