"""Gold as views of silver that are kept current: what new rows touch is computed anew.

A late row is no special case: its window (or its device's day) is touched, however old it is. The
view equals the aggregate over all of silver at every commit. A changed plan computes all anew.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own guide gives it

from zonal.pipeline.delta import newest_note
from zonal.pipeline.jobs.gold import tracks, windows
from zonal.pipeline.jobs.tables import read_table, time_condition, write_table
from zonal.pipeline.schema import UTC_MICROS

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltalake import DeltaTable
    from pyspark.sql import DataFrame, SparkSession

    from zonal.pipeline.jobs.gold import WindowPlan
    from zonal.pipeline.lake import Lake
    from zonal.pipeline.tracks import TrackPlan

_DAY_S = 86_400


def update_windows(spark: SparkSession, lake: Lake, plan: WindowPlan) -> None:
    """Bring the table `windows` up to date with silver."""
    compute = lambda silver: windows(silver, plan)  # noqa: E731
    _View("windows", plan, plan.window_s, 1, compute).update(spark, lake)


def update_tracks(spark: SparkSession, lake: Lake, plan: TrackPlan) -> None:
    """Bring the table `tracks` up to date with silver."""
    compute = lambda silver: tracks(silver, plan)  # noqa: E731
    _View("tracks", plan, 1, _DAY_S, compute).update(spark, lake)


@dataclass(frozen=True)
class _View:
    """A table computed from silver in parts (windows, days) that have numbers, from 1970 on."""

    table: str
    plan: WindowPlan | TrackPlan
    step: int
    """From one part's number to the next one's."""
    unit_s: int
    """What numbers count in."""
    compute: Callable[[DataFrame], DataFrame]

    def update(self, spark: SparkSession, lake: Lake) -> None:
        """Compute the parts that new rows touch from all of their silver, and keep the others."""
        silver = lake.find("silver")
        if silver is None:
            return
        version = silver.version()
        plan = json.loads(json.dumps(asdict(self.plan)))
        known = lake.find(self.table)
        note = newest_note(known) if known is not None else {}
        # Rows that are written meanwhile may be in it already; they are touched next time again.
        rows = read_table(spark, lake, "silver")
        where = "true"
        if note.get("plan") == plan:
            if note["silver"] == version:
                return
            parts = self._touched(silver, note["silver"] + 1)
            if not parts:  # silver was only compacted
                return
            where = time_condition(parts, self.step, self.unit_s)
            rows = rows.where(where)
        result = self.compute(rows).withColumn("date", F.to_date("time"))
        write_table(
            lake,
            self.table,
            # Not `coalesce`, with which one task would compute all that it writes.
            result.repartition(1).sortWithinPartitions("time"),
            partitions=("date",),
            note={"plan": plan, "silver": version},
            replace=where,
        )

    def _touched(self, silver: DeltaTable, first: int) -> list[int]:
        """The numbers of the parts that the rows of the commits since then fall into, in order."""
        new = silver.load_cdf(
            starting_version=first, ending_version=silver.version(), columns=["time"]
        )
        length_us = self.step * self.unit_s * 1_000_000
        parts: set[int] = set()
        for batch in pa.RecordBatchReader.from_stream(new):
            micros = batch.column(0).drop_null().cast(UTC_MICROS).cast(pa.int64()).to_numpy()
            parts.update(np.unique(micros // length_us).tolist())
        return [part * self.step for part in sorted(parts)]
