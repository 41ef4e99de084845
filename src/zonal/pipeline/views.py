"""Gold as views of silver that are kept current: what new rows touch is computed anew.

A late row is no special case: its window (or its device's day) is touched, however old it is. The
view equals the aggregate over all of silver at every commit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own guide gives it

from zonal.pipeline.gold import WINDOW_DDL, WindowPlan, window_start, window_starts, windows
from zonal.pipeline.lake import Commit, DataFile, Lake, overlapping
from zonal.pipeline.tables import read_files, write_rows
from zonal.pipeline.tracks import TRACK_DDL, TrackPlan, tracks

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_DAY_US = 86_400_000_000


@dataclass(frozen=True)
class _Pending:
    """The part of silver that a view has not seen."""

    version: int
    files: tuple[DataFile, ...]


def update_windows(spark: SparkSession, lake: Lake, plan: WindowPlan) -> int:
    """Bring the table `windows` up to date; returns how many windows were computed anew."""
    pending = _pending(lake, "windows")
    if not pending.files:
        return 0
    fresh = read_files(spark, lake, "silver", pending.files)
    starts = sorted(row["start"] for row in window_starts(fresh, plan).collect())
    low, high = starts[0] * 1_000_000, (starts[-1] + plan.window_s) * 1_000_000 - 1
    files = overlapping(lake.snapshot().files("silver"), low, high)
    silver = read_files(spark, lake, "silver", files)
    touched = silver.where(_is_in(window_start(plan), starts, plan.window_s))
    old = overlapping(lake.snapshot().files("windows"), low, high)
    result = windows(touched, plan)
    if old:
        kept = read_files(spark, lake, "windows", old, ddl=WINDOW_DDL)
        kept = kept.where(~_is_in(F.col("time").cast("bigint"), starts, plan.window_s))
        result = result.unionByName(kept)
    _replace(lake, "windows", result, old, pending.version)
    return len(starts)


def update_tracks(spark: SparkSession, lake: Lake, plan: TrackPlan) -> int:
    """Bring the table `tracks` up to date; returns how many days were computed anew."""
    pending = _pending(lake, "tracks")
    days = {
        day
        for one in pending.files
        if one.min_time is not None and one.max_time is not None
        for day in range(one.min_time // _DAY_US, one.max_time // _DAY_US + 1)
    }
    if not days:
        return 0
    low, high = min(days) * _DAY_US, (max(days) + 1) * _DAY_US - 1
    snapshot = lake.snapshot()
    day_of = F.unix_date(F.to_date("time"))
    silver = read_files(spark, lake, "silver", overlapping(snapshot.files("silver"), low, high))
    touched = silver.where(_is_in(day_of, sorted(days), 1))
    old = overlapping(snapshot.files("tracks"), low, high)
    result = tracks(touched, plan)
    if old:
        kept = read_files(spark, lake, "tracks", old, ddl=TRACK_DDL)
        result = result.unionByName(kept.where(~_is_in(day_of, sorted(days), 1)))
    _replace(lake, "tracks", result, old, pending.version)
    return len(days)


def _pending(lake: Lake, view: str) -> _Pending:
    snapshot = lake.snapshot()
    seen = snapshot.batches.get(view, -1)
    return _Pending(snapshot.version, lake.added_since(seen, "silver"))


def _replace(
    lake: Lake, view: str, result: DataFrame, old: tuple[DataFile, ...], version: int
) -> None:
    files = write_rows(lake, result.coalesce(1).sortWithinPartitions("time"))
    lake.commit(
        Commit(
            added={view: files},
            removed={view: old},
            batch=(view, version),
            info={"job": view, "rows": sum(one.rows for one in files)},
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
