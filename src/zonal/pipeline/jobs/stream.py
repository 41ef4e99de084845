"""The streaming job: the log into silver and quarantine, then gold, exactly once; then alerts.

Spark's checkpoint plans batches of the log's files. Each table takes a batch once, by Delta's
transaction identifiers. A commit of silver notes which offsets of which recorder it has, so a batch
that a new checkpoint plans again is recognized, too.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from zonal.errors import DeclarationError
from zonal.pipeline.delta import url_of
from zonal.pipeline.jobs.alerting import raise_alerts
from zonal.pipeline.jobs.batch import hours_of, in_hours, read_directly, summarize
from zonal.pipeline.jobs.doubles import without_doubles
from zonal.pipeline.jobs.interruption import readable_errors
from zonal.pipeline.jobs.silver import PARTITIONS, SilverPlan, as_stored, lake_partitions, refine
from zonal.pipeline.jobs.tables import read_table, spark_url, write_table
from zonal.pipeline.jobs.views import update_tracks, update_windows
from zonal.pipeline.lake import Lake
from zonal.pipeline.log import Log

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from zonal.pipeline.jobs.alerting import AlertRule
    from zonal.pipeline.jobs.gold import WindowPlan
    from zonal.pipeline.tracks import TrackPlan
    from zonal.session import Session

_LOGGER = logging.getLogger(__name__)
_ANY_BYTES = ("spark.sql.execution.arrow.maxBytesPerBatch", str(2**31 - 1))


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

    rows: int
    """Messages read from the log; each is in one of the following."""
    silver: int = 0
    quarantined: int = 0
    doubles: int = 0
    total: int = 0
    """Messages read since the job started."""
    seconds: float = 0.0
    """How long it took until silver had them."""
    left: int = 0
    """Messages of these recorders that the log has beyond those of this batch."""


class Pipeline:
    """From one log to one lake and, where the plan has alerts, back to the network.

    Args:
        spark: a session with Delta: `open_spark`.
        log: where the log is, a path or a URL.
        lake: where the lake is; made if it is not there.
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
        self.lake = Lake(lake)
        self.plan = plan
        self._session = session
        self._on_batch = on_batch
        self._on_alerts = on_alerts
        self._after_gold: list[Callable[[], None]] = []
        self._waiting = self._total = 0
        self._is_gold_current = False  # a run before may have ended between silver and gold

    def start(
        self,
        *,
        available_now: bool = False,
        trigger_s: float = 10.0,
        max_files: int = 1000,
        max_bytes: int = 256 * 1024 * 1024,
        checkpoint: str | Path | None = None,
    ) -> StreamingQuery:
        """Start the query; with `available_now` it ends when the log is read.

        A batch is at most so many files of the log, of about so many bytes together.
        """
        name = self.log.id
        where = url_of(checkpoint) if checkpoint else url_of(self.lake.url, "_checkpoints", name)
        messages = (
            self.spark.readStream.format("delta")
            # Retention deletes, and what it deletes was read long ago.
            .option("skipChangeCommits", "true")
            .option("maxFilesPerTrigger", max_files)
            .option("maxBytesPerTrigger", max_bytes)
            .load(spark_url(self.log.url))
        )
        writer = messages.writeStream.option("checkpointLocation", spark_url(where))
        writer = writer.queryName(f"zonal-{name[:8]}").foreachBatch(self._batch)
        if available_now:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{trigger_s} seconds").start()

    def run(
        self,
        *,
        max_files: int = 1000,
        max_bytes: int = 256 * 1024 * 1024,
        checkpoint: str | Path | None = None,
    ) -> None:
        """Process what is in the log now, and return."""
        query = self.start(
            available_now=True, max_files=max_files, max_bytes=max_bytes, checkpoint=checkpoint
        )
        query.awaitTermination()
        if not self._is_gold_current:
            self.update_gold()

    def on_gold(self, follow: Callable[[], None]) -> None:
        """Call this whenever gold is current, before alerts are raised."""
        self._after_gold.append(follow)

    def update_gold(self) -> None:
        """Bring the gold tables up to date with silver."""
        self._waiting = 0
        if self.lake.find("silver") is None:
            return
        if self.plan.windows:
            update_windows(self.spark, self.lake, self.plan.windows)
        if self.plan.tracks:
            update_tracks(self.spark, self.lake, self.plan.tracks)
        for follow in self._after_gold:
            follow()
        self._raise_alerts()
        self._is_gold_current = True

    def _raise_alerts(self) -> None:
        for rule in self.plan.alerts:
            assert self.plan.silver.zones is not None
            assert self._session is not None
            zones = self.plan.silver.zones
            raised = raise_alerts(self.spark, self.lake, rule, zones, self._session)
            if raised and self._on_alerts:
                self._on_alerts(rule, raised)

    def _batch(self, messages: DataFrame, number: int) -> None:
        with readable_errors():
            # The query's id is that of its checkpoint: a new one counts its batches anew.
            query = self.spark.sparkContext.getLocalProperty("sql.streaming.queryId")
            report = self._to_silver(messages, (f"zonal-{query}", number))
            if report is not None:
                _LOGGER.info("%s", report)
                if self._on_batch:
                    self._on_batch(report)
                self._waiting += 1
                self._is_gold_current = False
            if self._waiting >= self.plan.gold_every:
                self.update_gold()

    def _to_silver(self, messages: DataFrame, transaction: tuple[str, int]) -> BatchReport | None:
        began = time.monotonic()
        batch = summarize(messages, self.log)
        if batch.rows == 0:
            return None
        silver = self.lake.find("silver")
        known = self.lake.offsets(silver)
        recorders = {*known.to_dict(), *batch.offsets.to_dict()}
        # What silver hands to Python of a row is short (`LONGEST`), so that its number is bound
        # enough: to add up all bytes after each row took a thirtieth of the time. In the stream's
        # own session: other columns of words, in gold, may be long.
        messages.sparkSession.conf.set(*_ANY_BYTES)
        rows = read_directly(messages, self.log)
        single = rows
        if len(recorders) > 1 or known.meets(batch.offsets):
            single = without_doubles(rows, self._earlier(hours_of(rows)))
        refined = refine(single, self.plan.silver).withColumns(lake_partitions())
        if silver is not None:
            refined = as_stored(refined, read_table(self.spark, self.lake, "silver").schema)
        known.merge(batch.offsets.to_dict())
        good = refined.where("reason is null").drop("reason").sortWithinPartitions("cell")
        done = silver.transaction_version(transaction[0]) if silver is not None else None
        written = 0
        if done is None or done < transaction[1]:
            note = {"offsets": known.to_dict()}
            write_table(
                self.lake, "silver", good, partitions=PARTITIONS, note=note, transaction=transaction
            )
            written = self._rows_written("silver")
        bad = 0
        doubles = 0
        if written < batch.rows:
            bad = self._to_quarantine(refined.where("reason is not null"), transaction)
            doubles = batch.rows - written - bad
        self._total += batch.rows
        seconds = time.monotonic() - began
        left = self.log.beyond(known)
        return BatchReport(batch.rows, written, bad, doubles, self._total, seconds, left)

    def _to_quarantine(self, bad: DataFrame, transaction: tuple[str, int]) -> int:
        rows = bad.repartition(1)  # one file, but of tasks as many as read the batch
        write_table(self.lake, "quarantine", rows, partitions=("date",), transaction=transaction)
        return self._rows_written("quarantine")

    def _rows_written(self, table: str) -> int:
        delta = self.lake.find(table)
        assert delta is not None
        metrics = delta.history(1)[0].get("operationMetrics", {})
        return int(metrics.get("numOutputRows", 0))

    def _earlier(self, hours: tuple[int, ...]) -> DataFrame | None:
        """What the lake has of the hours that a batch is about."""
        names = [name for name in ("silver", "quarantine") if self.lake.find(name) is not None]
        found = [
            read_table(self.spark, self.lake, name)
            .where(in_hours(hours))
            .select("recorder", "offset", "topic", "source", "sequence", "ntp64", "clock")
            for name in names
        ]
        if not found:
            return None
        return found[0] if len(found) == 1 else found[0].unionByName(found[1])
