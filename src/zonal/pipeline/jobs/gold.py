"""Silver to gold: aggregates per zone and cell in windows of time, and the tracks of devices."""

from __future__ import annotations

from collections.abc import Iterator  # noqa: TC003 - Spark reads the hints of a UDF
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa  # noqa: TC002 - as above
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own guide gives it

from zonal.errors import DeclarationError
from zonal.pipeline.cells import parent_sql
from zonal.pipeline.schema import ddl
from zonal.pipeline.tracks import TRACK_SCHEMA, TrackPlan, track_of
from zonal.pipeline.window_statistics import WINDOW_SCHEMA, statistics_of_window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

_MESSAGES = "messages"
"""What is measured where nothing else is: their number."""


@dataclass(frozen=True)
class WindowPlan:
    """Which aggregates are kept."""

    measures: tuple[str, ...]
    """Numeric columns of silver; without any, messages are counted."""
    window_s: int = 300
    cell_level: int = 14
    """The S2 level of the cells that aggregates are kept for."""

    def __post_init__(self) -> None:
        if self.window_s <= 0 or 86_400 % self.window_s:
            raise DeclarationError(f"a window of {self.window_s} s does not divide a day")
        if not 0 <= self.cell_level <= 30:
            raise DeclarationError(f"level {self.cell_level} is not between 0 and 30")


def windows(silver: DataFrame, plan: WindowPlan, *, watermark_s: float = 3600.0) -> DataFrame:
    """Count, mean, 95th percentile and maximum per topic and window, for each zone and each cell.

    A row is about a zone (`cell` null) or about a cell (`zone` null). On a stream, windows close
    when the watermark passes them; a batch knows everything and needs none, and one task does a
    window: in memory it has 32 bytes of each value for zones and again for cells, of the first two
    million; beyond that percentiles are thinned out (`Spread`).
    """
    if not silver.isStreaming:
        return _windows_of_batch(silver, plan)
    by_zone = _aggregated(silver, plan, F.col("zone"), watermark_s)
    cell = F.expr(parent_sql("cell", plan.cell_level))
    by_cell = _aggregated(silver, plan, cell, watermark_s)
    zoned = by_zone.select(*_keys(plan, zone="place", cell=None), F.inline("measures"))
    celled = by_cell.select(*_keys(plan, zone=None, cell="place"), F.inline("measures"))
    return zoned.unionByName(celled)


def _windows_of_batch(silver: DataFrame, plan: WindowPlan) -> DataFrame:
    names = plan.measures or (_MESSAGES,)
    columns = [F.col(name).cast("double") for name in plan.measures] or [F.lit(1.0)]
    measures = [column.alias(f"measure_{index}") for index, column in enumerate(columns)]
    cell = F.expr(parent_sql("cell", plan.cell_level)).alias("cell")
    rows = silver.select(window_start(plan).alias("start"), "topic", "zone", cell, *measures)

    def summarize(
        key: tuple[pa.Scalar, ...], batches: Iterator[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        return statistics_of_window(key[0].as_py(), plan.window_s, batches, names)

    placed = rows.where("zone is not null or cell is not null")
    return placed.groupBy("start").applyInArrow(summarize, ddl(WINDOW_SCHEMA))


def window_start(plan: WindowPlan) -> Column:
    """The start of a row's window, in seconds since 1970."""
    seconds = F.col("time").cast("bigint")
    return seconds - F.pmod(seconds, F.lit(plan.window_s))


def tracks(silver: DataFrame, plan: TrackPlan | None = None) -> DataFrame:
    """Stops and trips of each device and day: start, end, place, distance, speeds."""
    chosen = plan or TrackPlan()
    placed = silver.where("device is not null and latitude is not null").select(
        "device", "time", "latitude", "longitude", day_number().alias("day")
    )

    def summarize(table: pa.Table) -> pa.Table:
        return track_of(table, chosen)

    return placed.groupBy("device", "day").applyInArrow(summarize, ddl(TRACK_SCHEMA))


def day_number() -> Column:
    """The day of a row (days since 1970, UTC), whatever the session's time zone."""
    return F.expr("unix_seconds(time) div 86400")


def _aggregated(
    silver: DataFrame, plan: WindowPlan, place: Column, watermark_s: float
) -> DataFrame:
    rows = silver.where(place.isNotNull()).withWatermark("time", f"{watermark_s:g} seconds")
    start = F.window("time", f"{plan.window_s} seconds")["start"]
    groups = rows.groupBy(start.alias("start"), F.col("topic"), place.alias("place"))
    return groups.agg(F.array(*_measures(plan.measures)).alias("measures"))


def _measures(names: Sequence[str]) -> list[Column]:
    if not names:
        return [_measure(_MESSAGES, F.lit(1.0))]
    return [_measure(name, F.col(name).cast("double")) for name in names]


def _measure(name: str, value: Column) -> Column:
    return F.struct(
        F.lit(name).alias("measure"),
        F.count(value).alias("count"),
        F.avg(value).alias("mean"),
        # Exact to one part in a thousand of the rank; mergeable, and bounded in memory.
        F.percentile_approx(value, 0.95, 1000).alias("p95"),
        F.max(value).alias("max"),
    )


def _keys(plan: WindowPlan, *, zone: str | None, cell: str | None) -> list[Column]:
    until = F.timestamp_seconds(F.col("start").cast("bigint") + plan.window_s)
    return [
        F.col("start").alias("time"),
        until.alias("until"),
        F.col("topic"),
        (F.col(zone) if zone else F.lit(None)).cast("string").alias("zone"),
        (F.col(cell) if cell else F.lit(None)).cast("bigint").alias("cell"),
    ]
