"""The lake's Delta tables as Spark reads, writes, compacts and vacuums them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zonal.pipeline.delta import is_local, url_of
from zonal.pipeline.lake import Lake

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

# Any tool reads the tables: nothing is switched on that only some of them understand.
_PROPERTIES = {"delta.enableDeletionVectors": "false", "delta.checkpointPolicy": "classic"}
_OF_TABLE = {
    "silver": {
        # It says which rows a commit added; gold follows by it.
        "delta.enableChangeDataFeed": "true",
        # What files are left out by. Of every column they would take a fifth of a batch's time.
        "delta.dataSkippingStatsColumns": "time,timestamp,topic,latitude,longitude,cell",
    }
}
_ORDER = {"silver": "time, cell", "quarantine": "time", "windows": "time", "tracks": "time"}


@dataclass(frozen=True)
class Compaction:
    """What one run did to a table."""

    table: str
    files_before: int
    files_after: int


def spark_url(url: str) -> str:
    """A table's place as Spark knows it."""
    return url if is_local(url) else url.replace("s3://", "s3a://", 1)


def read_table(
    spark: SparkSession, lake: Lake | str | Path, table: str, *, version: int | None = None
) -> DataFrame:
    """A table as it is now, or was at a version."""
    place = lake if isinstance(lake, Lake) else Lake(lake)
    place.existing(table)
    reader = spark.read.format("delta")
    reader = reader if version is None else reader.option("versionAsOf", version)
    return reader.load(spark_url(place.url_of(table)))


def read_log(spark: SparkSession, log: str | Path) -> DataFrame:
    """The log (bronze): one row is one message, as a recorder received it."""
    return spark.read.format("delta").load(spark_url(url_of(log)))


def write_table(
    lake: Lake,
    table: str,
    rows: DataFrame,
    *,
    partitions: Sequence[str] = (),
    note: Mapping[str, Any] | None = None,
    transaction: tuple[str, int] | None = None,
    replace: str | None = None,
) -> None:
    """Append rows in one commit; or put them in place of those that meet a condition.

    `note` is what the commit says of itself (see `zonal.pipeline.delta.newest_note`). `transaction`
    is a name and a number: with a number that was written already, nothing happens. `replace` is a
    condition in SQL; `true` replaces everything.
    """
    properties = {**_PROPERTIES, **_OF_TABLE.get(table, {})}
    writer = rows.write.format("delta").options(**properties).option("mergeSchema", "true")
    if note is not None:
        writer = writer.option("userMetadata", json.dumps(note))
    if transaction is not None:
        name, number = transaction
        writer = writer.option("txnAppId", name).option("txnVersion", number)
    writer = _moded(writer, lake, table, replace)
    writer.partitionBy(*partitions).save(spark_url(lake.url_of(table)))


def time_condition(parts: Sequence[int], step: int, unit_s: int) -> str:
    """That `time` lies in parts given by their numbers, in SQL, so that Delta leaves files out.

    A part reaches from its number to the next one, `step` further, in units of `unit_s` seconds.
    Neighbouring parts become one range: the plan stays small.
    """
    runs: list[list[int]] = []
    for part in parts:
        if runs and part - runs[-1][1] <= step:
            runs[-1][1] = part
        else:
            runs.append([part, part])
    spans = [(low * unit_s, (high + step) * unit_s) for low, high in runs]
    ranges = [
        f"(time >= timestamp_seconds({low}) AND time < timestamp_seconds({high}))"
        for low, high in spans
    ]
    return " OR ".join(ranges) or "false"


def compact(
    spark: SparkSession,
    lake: Lake | str | Path,
    table: str = "silver",
    *,
    target_bytes: int = 128 * 1024 * 1024,
) -> Compaction:
    """Merge small files, rows ordered by time and place; readers keep the version they have."""
    place = lake if isinstance(lake, Lake) else Lake(lake)
    before = place.existing(table)
    spark.conf.set("spark.databricks.delta.optimize.maxFileSize", str(target_bytes))
    order = f" ZORDER BY ({_ORDER[table]})" if table in _ORDER else ""
    spark.sql(f"OPTIMIZE delta.`{spark_url(place.url_of(table))}`{order}").collect()
    after = place.existing(table)
    return Compaction(table, len(before.file_uris()), len(after.file_uris()))


def vacuum(lake: Lake | str | Path, table: str, *, older_than_hours: int) -> int:
    """Delete files that no version within so many hours needs; returns how many."""
    place = lake if isinstance(lake, Lake) else Lake(lake)
    delta = place.find(table)
    if delta is None:
        return 0
    return len(
        delta.vacuum(
            retention_hours=older_than_hours, enforce_retention_duration=False, dry_run=False
        )
    )


def _moded(writer: DataFrameWriter, lake: Lake, table: str, replace: str | None) -> DataFrameWriter:
    if replace is None:
        return writer.mode("append")
    if replace == "true" or lake.find(table) is None:
        return writer.mode("overwrite")
    return writer.mode("overwrite").option("replaceWhere", replace)
