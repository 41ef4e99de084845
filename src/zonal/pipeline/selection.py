"""What a reader wants of messages: topic, area, time; how that prunes files, and the exact test."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from zenoh import KeyExpr

from zonal.geo import as_area
from zonal.pipeline.cells import cover_ranges, joined_ranges
from zonal.pipeline.delta import STATISTICS_TICK
from zonal.pipeline.schema import UTC_MICROS

if TYPE_CHECKING:
    from datetime import datetime

    from numpy.typing import NDArray

    from zonal.geo import Area


@dataclass(frozen=True)
class Selection:
    """The rows that a reader wants; every part that is None wants everything.

    Times are event times: Zenoh's time stamp or, where a message has none, its reception.
    """

    topic: str | None = None
    area: Area | None = None
    since: datetime | None = None
    until: datetime | None = None

    def __post_init__(self) -> None:
        if self.area is not None:
            object.__setattr__(self, "area", as_area(self.area))

    def expression(self, *, has_time: bool, by_cell: bool = True) -> pc.Expression | None:
        """A condition that every wanted row meets, by which files and row groups are left out.

        `has_time` says that rows have the column `time` (silver); those of the log have `timestamp`
        and `received`. Without `by_cell` it is quicker to ask of many rows, and less narrow.
        """
        parts = []
        if self.since or self.until:
            parts.append(self._in_time("time") if has_time else self._in_log_time())
        if self.area is not None:
            parts += self._in_area(self.area, by_cell=by_cell)
        return reduce(lambda one, other: one & other, parts) if parts else None

    def near(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of a batch within the wanted time and the area's bounds: all that are wanted."""
        mask = None
        if self.since or self.until:
            mask = self._time_mask(batch)
        if self.area is not None:
            inside = self._bounds_mask(batch, self.area)
            mask = inside if mask is None else pc.and_(mask, inside)
        return batch if mask is None else batch.filter(mask)

    def filter(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The wanted rows of a batch, exactly."""
        if self.topic is not None:
            batch = batch.filter(topic_mask(batch.column("topic"), self.topic))
        if (self.since or self.until) and batch.num_rows:
            batch = batch.filter(self._time_mask(batch))
        if self.area is not None and batch.num_rows:
            batch = batch.filter(area_mask(batch, self.area))
        return batch

    def _time_mask(self, batch: pa.RecordBatch) -> pa.Array:
        moments = pc.coalesce(batch.column("timestamp"), batch.column("received"))
        mask = pa.array(np.ones(batch.num_rows, bool))
        if self.since:
            mask = pc.and_(mask, pc.greater_equal(moments, pa.scalar(self.since, moments.type)))
        if self.until:
            mask = pc.and_(mask, pc.less_equal(moments, pa.scalar(self.until, moments.type)))
        return mask

    def _bounds_mask(self, batch: pa.RecordBatch, area: Area) -> pa.Array:
        box = area.bounds
        lats, lons = _degrees(batch, "latitude"), _degrees(batch, "longitude")
        east, west = lons >= box.min_lon, lons <= box.max_lon
        across = east | west if box.min_lon > box.max_lon else east & west
        return pa.array((lats >= box.min_lat) & (lats <= box.max_lat) & across)

    def _in_log_time(self) -> pc.Expression:
        stamped = self._in_time("timestamp")
        return stamped | (pc.field("timestamp").is_null() & self._in_time("received"))

    def _in_time(self, column: str) -> pc.Expression:
        bounds = []
        if self.since:
            since = pa.scalar(self.since - STATISTICS_TICK, UTC_MICROS)
            bounds.append(pc.field(column) >= since)
        if self.until:
            bounds.append(pc.field(column) <= pa.scalar(self.until, UTC_MICROS))
        return reduce(lambda one, other: one & other, bounds)

    def _in_area(self, area: Area, *, by_cell: bool) -> list[pc.Expression]:
        box = area.bounds
        lat, lon, cell = pc.field("latitude"), pc.field("longitude"), pc.field("cell")
        parts = [(lat >= box.min_lat) & (lat <= box.max_lat)]
        if box.min_lon > box.max_lon:  # across the antimeridian
            parts.append((lon >= box.min_lon) | (lon <= box.max_lon))
        else:
            parts.append((lon >= box.min_lon) & (lon <= box.max_lon))
        if by_cell and self.ranges:
            # Rows sorted by cell lie along the Hilbert curve: tighter than any bounding box.
            parts.append(reduce(or_, ((cell >= low) & (cell <= high) for low, high in self.ranges)))
        return parts

    @cached_property
    def ranges(self) -> list[tuple[int, int]]:
        """The ranges of cells that hold the area, in order; none where it may be anywhere."""
        return joined_ranges(cover_ranges(self.area, max_cells=32))


def area_mask(batch: pa.RecordBatch, area: Area) -> pa.Array:
    """Which rows lie in an area; a message without a location lies nowhere."""
    lats, lons = _degrees(batch, "latitude"), _degrees(batch, "longitude")
    placed = ~(np.isnan(lats) | np.isnan(lons))
    mask = np.zeros(len(lats), bool)
    mask[placed] = area.contains_many(lats[placed], lons[placed])
    return pa.array(mask)


def _degrees(batch: pa.RecordBatch, column: str) -> NDArray[np.float64]:
    """A column of places; where a message has none, not a number."""
    values: NDArray[np.float64] = batch.column(column).to_numpy(zero_copy_only=False)
    return values


def topic_mask(topics: pa.Array, expression: str) -> pa.Array:
    """Which topics an expression with wildcards names."""
    wanted = KeyExpr(expression)
    matching = [
        topic
        for topic in pc.unique(topics).to_pylist()
        if topic is not None and wanted.intersects(KeyExpr(topic))
    ]
    return pc.is_in(topics, value_set=pa.array(matching, topics.type))
