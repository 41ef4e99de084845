"""The streaming job: the log into silver and quarantine, then gold, exactly once.

Spark's checkpoint plans ranges of offsets; the lake's commit says up to which offset its rows
reach. A batch that runs again after a crash takes up where the lake ends, so nothing is doubled,
also when the checkpoint is lost.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own guide gives it

from zonal.pipeline.interruption import readable_errors
from zonal.pipeline.lake import Commit, Lake, micros, overlapping
from zonal.pipeline.log import Log
from zonal.pipeline.schema import log_ddl
from zonal.pipeline.selection import GroupStatistics
from zonal.pipeline.silver import (
    PARTITIONS,
    SilverPlan,
    doubled,
    lake_partitions,
    merged_schema,
    refine,
)
from zonal.pipeline.sources import BatchSources, LakeSources
from zonal.pipeline.tables import read_files, schema_from_json, write_rows
from zonal.pipeline.views import update_tracks, update_windows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, Row, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.types import StructType

    from zonal.pipeline.gold import WindowPlan
    from zonal.pipeline.tracks import TrackPlan

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True)
class PipelinePlan:
    """What the job does with the messages, and how often."""

    silver: SilverPlan = field(default_factory=SilverPlan)
    windows: WindowPlan | None = None
    tracks: TrackPlan | None = None
    gold_every: int = 1
    """Gold follows after this many batches of silver, and when a run ends."""


@dataclass(frozen=True)
class BatchReport:
    """What one micro-batch did."""

    start: int
    end: int
    silver: int = 0
    quarantined: int = 0
    doubles: int = 0


class Pipeline:
    """From one log to one lake."""

    def __init__(
        self,
        spark: SparkSession,
        log: str | Path,
        lake: str | Path,
        plan: PipelinePlan,
        *,
        on_batch: Callable[[BatchReport], None] | None = None,
    ) -> None:
        self.spark = spark
        self.log = Log(log)
        self.lake = Lake(lake, create=True)
        self.plan = plan
        self._on_batch = on_batch
        self._sources = LakeSources(self.lake)
        self._after_gold: list[Callable[[], None]] = []
        self._waiting = 0

    def start(
        self,
        *,
        available_now: bool = False,
        trigger_s: float = 10.0,
        max_rows: int = 1_000_000,
        checkpoint: str | Path | None = None,
    ) -> StreamingQuery:
        """Start the query; with `available_now` it ends when the log is read."""
        options = {"path": str(self.log.path), "rows": "segments", "startingOffset": "earliest"}
        segments = (
            self.spark.readStream.format("zonal")
            .options(**options, maxRowsPerTrigger=str(max_rows))
            .load()
        )
        where = checkpoint or self.lake.path / "_checkpoints" / self.log.id
        writer = segments.writeStream.option("checkpointLocation", str(where))
        writer = writer.queryName(f"zonal-{self.log.id[:8]}").foreachBatch(self._batch)
        if available_now:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{trigger_s} seconds").start()

    def run(self, *, max_rows: int = 1_000_000, checkpoint: str | Path | None = None) -> None:
        """Process what is in the log now, and return."""
        query = self.start(available_now=True, max_rows=max_rows, checkpoint=checkpoint)
        query.awaitTermination()
        self.update_gold()

    def on_gold(self, follow: Callable[[], None]) -> None:
        """Call this whenever gold is current, to raise alerts for instance."""
        self._after_gold.append(follow)

    def update_gold(self) -> None:
        """Bring the gold tables up to date with silver."""
        self._waiting = 0
        if self.plan.windows:
            update_windows(self.spark, self.lake, self.plan.windows)
        if self.plan.tracks:
            update_tracks(self.spark, self.lake, self.plan.tracks)
        for follow in self._after_gold:
            follow()

    def _batch(self, segments: DataFrame, _: int) -> None:
        with readable_errors():
            self._process(segments)

    def _process(self, segments: DataFrame) -> None:
        rows = sorted(segments.collect(), key=lambda row: row.start)
        done = self.lake.snapshot().offsets.get(self.log.id, 0)
        rows = [row for row in rows if row.end > done]
        if rows:
            report = self._to_silver(rows, max(done, rows[0].start), rows[-1].end)
            _LOGGER.info("%s", report)
            if self._on_batch:
                self._on_batch(report)
            self._waiting += 1
        if self._waiting >= self.plan.gold_every:
            self.update_gold()

    def _to_silver(self, rows: list[Row], start: int, end: int) -> BatchReport:
        good = [row.path for row in rows if row.error is None]
        lost = [row for row in rows if row.error is not None]
        frame = self.spark.read.schema(log_ddl()).parquet(*good) if good else self._no_messages()
        messages = frame
        if start > rows[0].first or end <= rows[-1].last:
            # Only where it must be: numbers in the plan would have it compiled anew every time.
            messages = frame.where(F.col("offset").between(start, end - 1))
        sources = BatchSources.of_segments(good)
        with self._doubles(messages, good, sources) as doubles:
            count = 0 if doubles is None else doubles.count()
            if doubles is not None and count:
                messages = messages.join(doubles, "offset", "left_anti")
            refined = refine(messages, self.plan.silver)
            if lost or self.log.corrupt():
                refined = refined.unionByName(
                    self._damage(lost, start, end, refined.schema), allowMissingColumns=True
                )
            return self._commit(refined, BatchReport(start, end, doubles=count), sources)

    @contextmanager
    def _doubles(
        self, messages: DataFrame, paths: list[str], sources: BatchSources
    ) -> Iterator[DataFrame | None]:
        """The offsets of doubles; None where footers and commits alone show that there are none."""
        if sources.are_unique and not self._sources.may_have(sources):
            yield None
            return
        doubles = doubled(messages, self._earlier(paths)).persist()
        try:
            yield doubles
        finally:
            doubles.unpersist()

    def _commit(
        self, refined: DataFrame, report: BatchReport, sources: BatchSources
    ) -> BatchReport:
        known = self.lake.snapshot().schemas.get("silver")
        schema = merged_schema(schema_from_json(known) if known else None, refined.schema)
        table = F.when(F.col("reason").isNull(), "silver").otherwise("quarantine")
        rows = refined.withColumns({"table": table, **lake_partitions()})
        rows = rows.sortWithinPartitions("cell")
        files = write_rows(self.lake, rows, ("table", *PARTITIONS))
        silver = [one for one in files if "/table=silver/" in one.path]
        quarantine = [one for one in files if "/table=quarantine/" in one.path]
        done = BatchReport(
            report.start,
            report.end,
            sum(one.rows for one in silver),
            sum(one.rows for one in quarantine),
            report.doubles,
        )
        self.lake.commit(
            Commit(
                added={"silver": silver, "quarantine": quarantine},
                schemas={"silver": schema.json(), "quarantine": schema.json()},
                offset=(self.log.id, report.end),
                sources=sources.to_note(),
                info={"job": "silver", **vars(done)},
            )
        )
        return done

    def _earlier(self, paths: list[str]) -> DataFrame | None:
        """What the lake has of the time that a batch is about, back to the watermark."""
        low, high = _time_range(paths)
        snapshot = self.lake.snapshot()
        files = (*snapshot.files("silver"), *snapshot.files("quarantine"))
        newest = max((one.max_time for one in files if one.max_time is not None), default=None)
        if low is None or high is None or newest is None:
            return None
        # Not the batch's own newest: a clock in the future must not end the search.
        horizon = newest - round(self.plan.silver.watermark_s * 1e6)
        near = overlapping(files, max(low, horizon), high)
        if not near:
            return None
        silver = read_files(self.spark, self.lake, "silver", near)
        since = F.timestamp_micros(F.lit(max(low, horizon)))
        return silver.where(F.col("time") >= since)

    def _damage(self, lost: list[Row], start: int, end: int, schema: StructType) -> DataFrame:
        """A row of quarantine for every segment that cannot be read: its offsets and why."""
        holes: list[dict[str, Any]] = [
            {"offset": row.first, "reason": f"{row.error}; offsets {row.first} to {row.last}"}
            for row in lost
        ]
        for segment in self.log.corrupt():
            if segment.last >= start and segment.first < end:
                reason = (
                    f"segment {segment.path.name} was found corrupt and set aside; "
                    f"offsets {segment.first} to {segment.last}"
                )
                holes.append({"offset": segment.first, "reason": reason})
        now = datetime.now(UTC)
        names = schema.fieldNames()
        filled = [
            {"topic": "", "kind": "hole", "time": now, "received": now, **hole} for hole in holes
        ]
        return self.spark.createDataFrame(
            [tuple(one.get(name) for name in names) for one in filled], schema
        )

    def _no_messages(self) -> DataFrame:
        return self.spark.createDataFrame([], log_ddl())


def _time_range(paths: list[str]) -> tuple[int | None, int | None]:
    """The earliest and latest time in some segments, from their footers."""
    moments = []
    for path in paths:
        metadata = pq.read_metadata(path)
        for index in range(metadata.num_row_groups):
            statistics = GroupStatistics(metadata.row_group(index))
            for column in ("timestamp", "received"):
                moments += [micros(one) for one in statistics.range_of(column) or ()]
    return (min(moments), max(moments)) if moments else (None, None)
