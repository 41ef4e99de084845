"""Gold as views of silver that are kept current: what new rows touch is computed anew.

A late row is no special case: its window (or its device's day) is touched, however old it is. The
view equals the aggregate over all of silver at every commit. A changed plan computes all anew.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own guide gives it

from zonal.pipeline.jobs.gold import day_number, tracks, window_start, windows
from zonal.pipeline.jobs.tables import read_files, write_rows
from zonal.pipeline.lake import Commit, ViewState, overlapping

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column, DataFrame, SparkSession

    from zonal.pipeline.jobs.gold import WindowPlan
    from zonal.pipeline.lake import DataFile, Lake, Snapshot
    from zonal.pipeline.tracks import TrackPlan

_SECOND_US, _DAY_US = 1_000_000, 86_400_000_000
_MOST_PARTS = 10_000


def update_windows(spark: SparkSession, lake: Lake, plan: WindowPlan) -> None:
    """Bring the table `windows` up to date with silver."""
    number = window_start(plan)
    compute = lambda silver: windows(silver, plan)  # noqa: E731
    _View("windows", plan, number, plan.window_s, _SECOND_US, compute).update(spark, lake)


def update_tracks(spark: SparkSession, lake: Lake, plan: TrackPlan) -> None:
    """Bring the table `tracks` up to date with silver."""
    compute = lambda silver: tracks(silver, plan)  # noqa: E731
    _View("tracks", plan, day_number(), 1, _DAY_US, compute).update(spark, lake)


@dataclass(frozen=True)
class _View:
    """A table computed from silver in parts (windows, days) that have numbers."""

    table: str
    plan: WindowPlan | TrackPlan
    number: Column
    """The part that a row belongs to, in silver and in the view alike."""
    step: int
    """From one part's number to the next one's."""
    unit_us: int
    """What numbers count in."""
    compute: Callable[[DataFrame], DataFrame]

    def update(self, spark: SparkSession, lake: Lake) -> None:
        """Compute the parts that new rows touch from all of their silver, and keep the others."""
        snapshot = lake.snapshot()
        plan = json.dumps(asdict(self.plan), sort_keys=True)
        known = snapshot.views.get(self.table, ViewState(plan, -1))
        is_rebuild = known.plan != plan
        new = snapshot.files("silver") if is_rebuild else lake.added_since(known.version, "silver")
        if not new:
            return
        parts = self._touched(spark, lake, snapshot, new)
        span, touched = self._span(parts[0], parts[-1]), _is_in(self.number, parts, self.step)
        silver = overlapping(snapshot.files("silver"), *span)
        result = self.compute(read_files(spark, lake, "silver", silver).where(touched))
        old = snapshot.files(self.table)
        if not is_rebuild:
            old = overlapping(old, *span)
            kept = read_files(spark, lake, self.table, old, schema=result.schema)
            result = result.unionByName(kept.where(~touched)) if old else result
        files = write_rows(lake, result.coalesce(1).sortWithinPartitions("time"))
        lake.commit(
            Commit(
                added={self.table: files},
                removed={self.table: old},
                views={self.table: ViewState(plan, snapshot.version)},
                info={"job": self.table, "rows": sum(one.rows for one in files)},
            )
        )

    def _touched(
        self, spark: SparkSession, lake: Lake, snapshot: Snapshot, new: tuple[DataFile, ...]
    ) -> list[int]:
        """The numbers of the parts that new rows fall into, in order.

        Where silver has nothing else in all their time, the files' own times say enough.
        """
        times = [time for one in new for time in (one.min_time, one.max_time)]
        known = [time // self.unit_us for time in times if time is not None]
        if len(known) == len(times):
            first, last = (at - at % self.step for at in (min(known), max(known)))
            parts = range(first, last + 1, self.step)
            near = overlapping(snapshot.files("silver"), *self._span(first, last))
            if len(parts) <= _MOST_PARTS and set(near) == set(new):  # else a few from long ago
                return list(parts)
        numbers = read_files(spark, lake, "silver", new).select(self.number.alias("number"))
        return sorted(row.number for row in numbers.distinct().collect())

    def _span(self, first: int, last: int) -> tuple[int, int]:
        """The time of parts, in microseconds since 1970, both ends included."""
        return first * self.unit_us, (last + self.step) * self.unit_us - 1


def _is_in(column: Column, values: list[int], step: int) -> Column:
    """Membership in many numbers: neighbours become one range, so the plan stays small."""
    runs = [[values[0], values[0]]]
    for value in values[1:]:
        if value - runs[-1][1] <= step:
            runs[-1][1] = value
        else:
            runs.append([value, value])
    condition = F.lit(False)
    for low, high in runs:
        condition = condition | column.between(low, high)
    return condition
