"""Gold as views of silver that are kept current: what new rows touch is computed anew.

A late row is no special case: its window (or its device's day) is touched, however old it is. The
view equals the aggregate over all of silver at every commit. A changed plan computes all anew.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own guide gives it

from zonal.pipeline.jobs.gold import (
    TRACK_DDL,
    WINDOW_DDL,
    WindowPlan,
    day_number,
    tracks,
    window_start,
    windows,
)
from zonal.pipeline.jobs.tables import read_files, write_rows
from zonal.pipeline.lake import Commit, DataFile, Lake, Snapshot, ViewState, overlapping

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from zonal.pipeline.tracks import TrackPlan

_DAY_US = 86_400_000_000
_MOST_WINDOWS = 10_000


@dataclass(frozen=True)
class _Pending:
    """The part of silver that a view has not seen (all of it, when the plan changed)."""

    view: str
    plan: str
    snapshot: Snapshot
    files: tuple[DataFile, ...]
    is_rebuild: bool

    def old_files(self, low: int, high: int) -> tuple[DataFile, ...]:
        """The view's files that the new rows replace, wholly or in part."""
        files = self.snapshot.files(self.view)
        return files if self.is_rebuild else overlapping(files, low, high)


def update_windows(spark: SparkSession, lake: Lake, plan: WindowPlan) -> int:
    """Bring the table `windows` up to date; returns how many windows were computed anew."""
    pending = _pending(lake, "windows", plan)
    if not pending.files:
        return 0
    starts = _touched_windows(spark, lake, pending, plan)
    low, high = starts[0] * 1_000_000, (starts[-1] + plan.window_s) * 1_000_000 - 1
    silver = _silver(spark, lake, pending, low, high)
    touched = silver.where(_is_in(window_start(plan), starts, plan.window_s))
    old = pending.old_files(low, high)
    result = windows(touched, plan)
    if old and not pending.is_rebuild:
        kept = read_files(spark, lake, "windows", old, ddl=WINDOW_DDL)
        stays = ~_is_in(F.col("time").cast("bigint"), starts, plan.window_s)
        result = result.unionByName(kept.where(stays))
    _replace(lake, pending, result, old)
    return len(starts)


def _touched_windows(
    spark: SparkSession, lake: Lake, pending: _Pending, plan: WindowPlan
) -> list[int]:
    """The starts of the windows that new rows fall into.

    Where silver has nothing else in all their time, the files' own times say enough.
    """
    times = [one.min_time for one in pending.files] + [one.max_time for one in pending.files]
    known = [one // 1_000_000 for one in times if one is not None]
    if len(known) == len(times):
        first, last = (at - at % plan.window_s for at in (min(known), max(known)))
        if (last - first) // plan.window_s > _MOST_WINDOWS:  # a few rows from long ago
            return _scanned_windows(spark, lake, pending, plan)
        span = (first * 1_000_000, (last + plan.window_s) * 1_000_000 - 1)
        if set(overlapping(pending.snapshot.files("silver"), *span)) == set(pending.files):
            return list(range(first, last + 1, plan.window_s))
    return _scanned_windows(spark, lake, pending, plan)


def _scanned_windows(
    spark: SparkSession, lake: Lake, pending: _Pending, plan: WindowPlan
) -> list[int]:
    fresh = read_files(spark, lake, "silver", pending.files)
    starts = fresh.select(window_start(plan).alias("start")).distinct()
    return sorted(row["start"] for row in starts.collect())


def update_tracks(spark: SparkSession, lake: Lake, plan: TrackPlan) -> int:
    """Bring the table `tracks` up to date; returns how many days were computed anew."""
    pending = _pending(lake, "tracks", plan)
    days = sorted(
        {
            day
            for one in pending.files
            if one.min_time is not None and one.max_time is not None
            for day in range(one.min_time // _DAY_US, one.max_time // _DAY_US + 1)
        }
    )
    if not days:
        return 0
    low, high = days[0] * _DAY_US, (days[-1] + 1) * _DAY_US - 1
    touched = _silver(spark, lake, pending, low, high).where(_is_in(day_number(), days, 1))
    old = pending.old_files(low, high)
    result = tracks(touched, plan)
    if old and not pending.is_rebuild:
        kept = read_files(spark, lake, "tracks", old, ddl=TRACK_DDL)
        result = result.unionByName(kept.where(~_is_in(day_number(), days, 1)))
    _replace(lake, pending, result, old)
    return len(days)


def _pending(lake: Lake, view: str, plan: WindowPlan | TrackPlan) -> _Pending:
    snapshot = lake.snapshot()
    text = json.dumps(asdict(plan), sort_keys=True)
    known = snapshot.views.get(view, ViewState(text, -1))
    if known.plan != text:
        return _Pending(view, text, snapshot, snapshot.files("silver"), is_rebuild=True)
    new = lake.added_since(known.version, "silver")
    return _Pending(view, text, snapshot, new, is_rebuild=False)


def _silver(spark: SparkSession, lake: Lake, pending: _Pending, low: int, high: int) -> DataFrame:
    files = overlapping(pending.snapshot.files("silver"), low, high)
    return read_files(spark, lake, "silver", files)


def _replace(lake: Lake, pending: _Pending, result: DataFrame, old: tuple[DataFile, ...]) -> None:
    files = write_rows(lake, result.coalesce(1).sortWithinPartitions("time"))
    lake.commit(
        Commit(
            added={pending.view: files},
            removed={pending.view: old},
            views={pending.view: ViewState(pending.plan, pending.snapshot.version)},
            info={"job": pending.view, "rows": sum(one.rows for one in files)},
        )
    )


def _is_in(column: Column, values: list[int], step: int) -> Column:
    """Membership in many numbers: neighbours become one range, so the plan stays small."""
    condition = F.lit(False)
    for low, high in _runs(values, step):
        condition = condition | column.between(low, high)
    return condition


def _runs(values: list[int], step: int) -> list[tuple[int, int]]:
    runs = [[values[0], values[0]]]
    for value in values[1:]:
        if value - runs[-1][1] <= step:
            runs[-1][1] = value
        else:
            runs.append([value, value])
    return [(low, high) for low, high in runs]
