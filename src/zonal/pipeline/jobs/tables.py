"""Spark's view of the lake: reading a table's files and writing rows as files of a commit."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

from pyspark.sql.types import StructType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from zonal.pipeline.lake import DataFile, Lake

# Columns whose values hardly repeat: a dictionary of them costs time and saves no space.
_HARDLY_EQUAL = (
    "offset",
    "time",
    "latitude",
    "longitude",
    "cell",
    "payload",
    "timestamp",
    "ntp64",
    "sequence",
    "received",
)


def read_table(spark: SparkSession, lake: Lake, table: str) -> DataFrame:
    """A table as it is now; later commits do not disturb what was read."""
    return read_files(spark, lake, table, lake.snapshot().files(table))


def read_files(
    spark: SparkSession,
    lake: Lake,
    table: str,
    files: Iterable[DataFile],
    *,
    ddl: str | None = None,
) -> DataFrame:
    """Some files of a table, with the table's columns: those that an old file lacks are null."""
    known = lake.snapshot().schemas.get(table)
    schema: StructType | str | None = ddl
    if known is not None:
        schema = schema_from_json(known)
    paths = lake.absolute(files)
    if not paths:
        return spark.createDataFrame([], schema or StructType([]))
    reader = spark.read.schema(schema) if schema is not None else spark.read
    return reader.parquet(*paths)


def schema_from_json(text: str) -> StructType:
    """A table's columns as the lake's commits keep them."""
    return StructType.fromJson(json.loads(text))


def write_rows(lake: Lake, rows: DataFrame, partitions: Sequence[str] = ()) -> list[DataFile]:
    """Write rows as files that no table has yet; a failed write leaves nothing behind."""
    folder = lake.new_folder()
    plain = {f"parquet.enable.dictionary#{name}": "false" for name in _HARDLY_EQUAL}
    try:
        rows.write.options(**plain).partitionBy(*partitions).parquet(str(folder))
        return lake.data_files(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
