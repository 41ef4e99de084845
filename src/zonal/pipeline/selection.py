"""What a reader wants of the log (topic, area, time, column bounds), and how that prunes."""

from __future__ import annotations

import operator as op
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from zenoh import KeyExpr

from zonal.pipeline.cells import cover_ranges

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow.parquet as pq

    from zonal.geo import Area

_COMPARISONS = {"<": op.lt, "<=": op.le, ">": op.gt, ">=": op.ge}
_ARROW_COMPARISONS = {"<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal}


@dataclass(frozen=True)
class Bound:
    """One column against a value, as a reader's filter says it."""

    column: str
    operator: str
    """One of `==`, `<`, `<=`, `>`, `>=`, `in`."""
    value: Any

    def possible(self, low: Any, high: Any) -> bool:
        """Whether a group of rows with these smallest and largest values may hold a match."""
        if self.operator in {"==", "in"}:
            return any(low <= value <= high for value in self._values)
        nearest = low if self.operator in {"<", "<="} else high
        return bool(_COMPARISONS[self.operator](nearest, self.value))

    def mask(self, column: pa.Array) -> pa.Array:
        """Which rows match; a null matches nothing."""
        if self.operator in {"==", "in"}:
            return pc.is_in(column, value_set=pa.array(self._values, column.type))
        compare = _ARROW_COMPARISONS[self.operator]
        return pc.fill_null(compare(column, pa.scalar(self.value, column.type)), False)

    @property
    def _values(self) -> list[Any]:
        return list(self.value) if self.operator == "in" else [self.value]


@dataclass(frozen=True)
class Selection:
    """The rows that a reader wants; every part that is None wants everything.

    Times are event times: Zenoh's time stamp or, where a message has none, its reception.
    """

    topic: str | None = None
    area: Area | None = None
    since: datetime | None = None
    until: datetime | None = None
    bounds: tuple[Bound, ...] = field(default=())

    def with_bounds(self, bounds: Iterable[Bound]) -> Selection:
        """The same selection, and these bounds too."""
        return replace(self, bounds=(*self.bounds, *bounds))

    def columns(self) -> set[str]:
        """The columns that the decision needs."""
        wanted = {bound.column for bound in self.bounds}
        wanted |= {"topic"} if self.topic else set()
        wanted |= {"latitude", "longitude"} if self.area else set()
        return wanted | ({"timestamp", "received"} if self.since or self.until else set())

    def groups_of(self, metadata: pq.FileMetaData) -> list[int]:
        """The row groups of a Parquet file that can hold a wanted row, by their statistics."""
        known = enumerate(statistics_of(metadata))
        return [index for index, statistics in known if self._may_match(statistics)]

    def _may_match(self, statistics: GroupStatistics) -> bool:
        return (
            self._time_possible(statistics)
            and self._area_possible(statistics)
            and all(_bound_possible(bound, statistics) for bound in self.bounds)
        )

    def filter(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The wanted rows of a batch, exactly."""
        for bound in self.bounds:
            batch = batch.filter(bound.mask(batch.column(bound.column)))
        if self.topic is not None:
            batch = batch.filter(_topic_mask(batch.column("topic"), self.topic))
        if (self.since or self.until) and batch.num_rows:
            batch = batch.filter(self._time_mask(batch))
        if self.area is not None and batch.num_rows:
            batch = batch.filter(_area_mask(batch, self.area))
        return batch

    def _time_mask(self, batch: pa.RecordBatch) -> pa.Array:
        moments = pc.coalesce(batch.column("timestamp"), batch.column("received"))
        mask = pa.array(np.ones(batch.num_rows, bool))
        if self.since:
            mask = pc.and_(mask, pc.greater_equal(moments, pa.scalar(self.since, moments.type)))
        if self.until:
            mask = pc.and_(mask, pc.less_equal(moments, pa.scalar(self.until, moments.type)))
        return mask

    def _time_possible(self, statistics: GroupStatistics) -> bool:
        if not (self.since or self.until):
            return True
        ranges = [statistics.range_of(name) for name in ("timestamp", "received")]
        if any(known is None for known in ranges):
            return True
        low = min(known[0] for known in ranges if known)
        high = max(known[1] for known in ranges if known)
        return not ((self.since and high < self.since) or (self.until and low > self.until))

    def _area_possible(self, statistics: GroupStatistics) -> bool:
        if self.area is None:
            return True
        lats, lons = statistics.range_of("latitude"), statistics.range_of("longitude")
        if lats is None or lons is None:
            return True
        return overlaps(self.area, lats, lons) and self._cells_possible(statistics)

    def _cells_possible(self, statistics: GroupStatistics) -> bool:
        """Rows sorted by cell lie along the Hilbert curve: tighter than any bounding box."""
        cells = statistics.range_of("cell")
        if cells is None or not self._ranges:
            return True
        return any(low <= cells[1] and high >= cells[0] for low, high in self._ranges)

    @cached_property
    def _ranges(self) -> list[tuple[int, int]]:
        return cover_ranges(self.area, max_cells=32)


class GroupStatistics:
    """The smallest and largest value of each column in one row group of a Parquet file."""

    def __init__(self, metadata: pq.RowGroupMetaData) -> None:
        self._columns = {
            metadata.column(index).path_in_schema: metadata.column(index)
            for index in range(metadata.num_columns)
        }

    def range_of(self, column: str) -> tuple[Any, Any] | None:
        """Smallest and largest value, or None where the file does not say."""
        chunk = self._columns.get(column)
        if chunk is None or not chunk.is_stats_set or not chunk.statistics.has_min_max:
            return None
        return _utc(chunk.statistics.min), _utc(chunk.statistics.max)


def statistics_of(metadata: pq.FileMetaData) -> list[GroupStatistics]:
    """The statistics of each row group of a Parquet file."""
    groups = range(metadata.num_row_groups)
    return [GroupStatistics(metadata.row_group(index)) for index in groups]


def overlaps(area: Area, lats: tuple[float, float], lons: tuple[float, float]) -> bool:
    """Whether an area's bounding box meets a range of latitudes and longitudes."""
    box = area.bounds
    if lats[1] < box.min_lat or lats[0] > box.max_lat:
        return False
    if box.min_lon > box.max_lon:  # across the antimeridian
        return lons[1] >= box.min_lon or lons[0] <= box.max_lon
    return lons[1] >= box.min_lon and lons[0] <= box.max_lon


def _area_mask(batch: pa.RecordBatch, area: Area) -> pa.Array:
    """Which rows lie in an area; a message without a location lies nowhere."""
    lats = batch.column("latitude").to_numpy(zero_copy_only=False)
    lons = batch.column("longitude").to_numpy(zero_copy_only=False)
    placed = ~(np.isnan(lats) | np.isnan(lons))
    mask = np.zeros(len(lats), bool)
    mask[placed] = area.contains_many(lats[placed], lons[placed])
    return pa.array(mask)


def _topic_mask(topics: pa.Array, expression: str) -> pa.Array:
    wanted = KeyExpr(expression)
    matching = [
        topic
        for topic in pc.unique(topics).to_pylist()
        if topic is not None and wanted.intersects(KeyExpr(topic))
    ]
    return pc.is_in(topics, value_set=pa.array(matching, topics.type))


def _bound_possible(bound: Bound, statistics: GroupStatistics) -> bool:
    known = statistics.range_of(bound.column)
    return known is None or bound.possible(*known)


def _utc(value: Any) -> Any:
    return (
        value.replace(tzinfo=UTC) if isinstance(value, datetime) and value.tzinfo is None else value
    )
