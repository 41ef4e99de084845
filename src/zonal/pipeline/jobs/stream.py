"""The streaming job: the log into silver and quarantine, then gold, exactly once; then alerts.

Spark's checkpoint plans ranges of offsets; the lake's commit says up to which offset its rows
reach. A batch that runs again after a crash takes up where the lake ends, so nothing is doubled,
also when the checkpoint is lost.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own guide gives it

from zonal.errors import DeclarationError
from zonal.pipeline.jobs.alerting import raise_alerts
from zonal.pipeline.jobs.doubles import BatchNumbers, LakeNumbers, doubled
from zonal.pipeline.jobs.interruption import readable_errors
from zonal.pipeline.jobs.silver import (
    PARTITIONS,
    SilverPlan,
    lake_partitions,
    merged_schema,
    refine,
)
from zonal.pipeline.jobs.tables import read_files, table_schema, write_rows
from zonal.pipeline.jobs.views import update_tracks, update_windows
from zonal.pipeline.lake import Commit, Lake, overlapping
from zonal.pipeline.log import Log
from zonal.pipeline.schema import log_ddl
from zonal.pipeline.segment import Segment, metadata_of
from zonal.pipeline.selection import statistics_of
from zonal.pipeline.times import micros

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, Row, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.types import StructType

    from zonal.pipeline.jobs.alerting import AlertRule
    from zonal.pipeline.jobs.gold import WindowPlan
    from zonal.pipeline.tracks import TrackPlan
    from zonal.session import Session

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True)
class PipelinePlan:
    """What the job does with the messages, and how often."""

    silver: SilverPlan = field(default_factory=SilverPlan)
    windows: WindowPlan | None = None
    tracks: TrackPlan | None = None
    gold_every: int = 1
    """Gold follows after this many batches of silver, and when a run ends."""
    alerts: tuple[AlertRule, ...] = ()
    """What is looked for, and published, whenever gold is current."""

    def __post_init__(self) -> None:
        if self.alerts and self.silver.zones is None:
            raise DeclarationError("alerts are per zone, and there are no zones (--zones)")


@dataclass(frozen=True)
class BatchReport:
    """What one micro-batch did."""

    start: int
    end: int
    silver: int = 0
    quarantined: int = 0
    doubles: int = 0


class Pipeline:
    """From one log to one lake and, where the plan has alerts, back to the network.

    Args:
        spark: a session that knows `format("zonal")`: `open_spark`, or `register`.
        log: the folder of the log.
        lake: the folder of the lake; made if it is not there.
        plan: what is done with the messages.
        session: what alerts are published with.
        on_batch: called after each batch that went into silver.
        on_alerts: called when alerts of a rule were published, with their number.
    """

    def __init__(
        self,
        spark: SparkSession,
        log: str | Path,
        lake: str | Path,
        plan: PipelinePlan,
        *,
        session: Session | None = None,
        on_batch: Callable[[BatchReport], None] | None = None,
        on_alerts: Callable[[AlertRule, int], None] | None = None,
    ) -> None:
        if plan.alerts and session is None:
            raise DeclarationError("alerts are published with a session, and none is given")
        self.spark = spark
        self.log = Log(log)
        self.lake = Lake(lake, create=True)
        self.plan = plan
        self._session = session
        self._on_batch = on_batch
        self._on_alerts = on_alerts
        self._numbers = LakeNumbers(self.lake)
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
        """Call this whenever gold is current, before alerts are raised."""
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
        self._raise_alerts()

    def _raise_alerts(self) -> None:
        for rule in self.plan.alerts:
            assert self.plan.silver.zones is not None
            assert self._session is not None
            zones = self.plan.silver.zones
            raised = raise_alerts(self.spark, self.lake, rule, zones, self._session)
            if raised and self._on_alerts:
                self._on_alerts(rule, raised)

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
        good = [Segment(one.first, one.last, Path(one.path)) for one in rows if one.error is None]
        lost = [row for row in rows if row.error is not None]
        messages = self._messages(good)
        if start > rows[0].first or end <= rows[-1].last:
            # Only where it must be: numbers in the plan would have it compiled anew every time.
            messages = messages.where(F.col("offset").between(start, end - 1))
        numbers = BatchNumbers.of_segments(good)
        with self._doubles(messages, good, numbers) as doubles:
            count = 0 if doubles is None else doubles.count()
            if doubles is not None and count:
                messages = messages.join(doubles, "offset", "left_anti")
            refined = refine(messages, self.plan.silver)
            if lost or self.log.corrupt():
                refined = refined.unionByName(
                    self._damage(lost, start, end, refined.schema), allowMissingColumns=True
                )
            return self._commit(refined, BatchReport(start, end, doubles=count), numbers)

    def _messages(self, segments: list[Segment]) -> DataFrame:
        if not segments:
            return self.spark.createDataFrame([], log_ddl())
        return self.spark.read.schema(log_ddl()).parquet(*(str(one.path) for one in segments))

    @contextmanager
    def _doubles(
        self, messages: DataFrame, segments: list[Segment], numbers: BatchNumbers
    ) -> Iterator[DataFrame | None]:
        """The offsets of doubles; None where footers and commits alone show that there are none."""
        if numbers.are_unique and not self._numbers.may_have(numbers):
            yield None
            return
        doubles = doubled(messages, self._earlier(segments)).persist()
        try:
            yield doubles
        finally:
            doubles.unpersist()

    def _commit(
        self, refined: DataFrame, report: BatchReport, numbers: BatchNumbers
    ) -> BatchReport:
        schema = merged_schema(table_schema(self.lake, "silver"), refined.schema)
        table = F.when(F.col("reason").isNull(), "silver").otherwise("quarantine")
        rows = refined.withColumns({"table": table, **lake_partitions()})
        rows = rows.sortWithinPartitions("cell")
        files = write_rows(self.lake, rows, ("table", *PARTITIONS))
        silver = [one for one in files if "/table=silver/" in one.path]
        quarantine = [one for one in files if "/table=quarantine/" in one.path]
        done = replace(
            report,
            silver=sum(one.rows for one in silver),
            quarantined=sum(one.rows for one in quarantine),
        )
        self.lake.commit(
            Commit(
                added={"silver": silver, "quarantine": quarantine},
                schemas={"silver": schema.json(), "quarantine": schema.json()},
                offset=(self.log.id, report.end),
                sources=numbers.to_note(),
                info={"job": "silver", **vars(done)},
            )
        )
        return done

    def _earlier(self, segments: list[Segment]) -> DataFrame | None:
        """What the lake has of the time that a batch is about, back to the watermark."""
        low, high = _time_range(segments)
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
        holes = [(row.first, row.last, row.error) for row in lost] + [
            (one.first, one.last, f"segment {one.path.name} was found corrupt and set aside")
            for one in self.log.corrupt()
            if one.last >= start and one.first < end
        ]
        now = datetime.now(UTC)
        common: dict[str, Any] = {"topic": "", "kind": "hole", "time": now, "received": now}
        rows = [
            {**common, "offset": first, "reason": f"{why}; offsets {first} to {last}"}
            for first, last, why in holes
        ]
        names = schema.fieldNames()
        return self.spark.createDataFrame(
            [tuple(row.get(name) for name in names) for row in rows], schema
        )


def _time_range(segments: list[Segment]) -> tuple[int | None, int | None]:
    """The earliest and latest time in some segments, from their footers."""
    moments = [
        micros(moment)
        for segment in segments
        for statistics in statistics_of(metadata_of(segment))
        for column in ("timestamp", "received")
        for moment in statistics.range_of(column) or ()
    ]
    return (min(moments), max(moments)) if moments else (None, None)
