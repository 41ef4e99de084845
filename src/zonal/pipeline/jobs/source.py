"""`spark.read.format("zonal")` and `spark.readStream.format("zonal")`: Spark reads the log.

A batch reader prunes by offset, topic, area and time down to row groups. A stream reader has true
offsets: a micro-batch is a range of offsets, and the same range gives the same rows for ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    LessThan,
    LessThanOrEqual,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from zonal.errors import LogError, SegmentError
from zonal.pipeline.jobs.options import ReadOptions
from zonal.pipeline.jobs.sink import ZonalStreamWriter, ZonalWriter
from zonal.pipeline.log import Log
from zonal.pipeline.schema import ddl, log_ddl
from zonal.pipeline.segment import Segment, check_segment, metadata_of, read_segment
from zonal.pipeline.selection import Bound

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql.types import StructType

_OPERATORS = {
    EqualTo: "==",
    LessThan: "<",
    LessThanOrEqual: "<=",
    GreaterThan: ">",
    GreaterThanOrEqual: ">=",
    In: "in",
}
_NUMBERS = ("first", "last", "start", "end")
_SEGMENT_SCHEMA = pa.schema(
    [("path", pa.string()), *((name, pa.int64()) for name in _NUMBERS), ("error", pa.string())]
)


class ZonalDataSource(DataSource):
    """The Spark data source `zonal`: options in READ_OPTIONS."""

    @classmethod
    def name(cls) -> str:
        """The name that `format` takes."""
        return "zonal"

    def schema(self) -> str:
        """The columns of the log; only those that the option `columns` names, if it is given."""
        if "path" not in self.options:  # a sink takes its columns from the rows
            return log_ddl()
        options = ReadOptions.from_mapping(self.options)
        return ddl(_SEGMENT_SCHEMA) if options.segments_only else log_ddl(options.columns)

    def reader(self, schema: StructType) -> ZonalReader:
        """A reader of everything that is in the log now."""
        return ZonalReader(ReadOptions.from_mapping(self.options), tuple(schema.fieldNames()))

    def streamReader(self, schema: StructType) -> ZonalStreamReader:  # noqa: N802 - Spark's name
        """A reader that follows the log."""
        return ZonalStreamReader(ReadOptions.from_mapping(self.options), tuple(schema.fieldNames()))

    def writer(self, schema: StructType, overwrite: bool) -> ZonalWriter:  # noqa: ARG002
        """A writer that publishes the rows of a batch."""
        return ZonalWriter(self.options, schema)

    def streamWriter(  # noqa: N802 - Spark's name
        self,
        schema: StructType,
        overwrite: bool,  # noqa: ARG002 - the network has nothing to overwrite
    ) -> ZonalStreamWriter:
        """A writer that publishes the rows of a stream."""
        return ZonalStreamWriter(self.options, schema)


@dataclass
class SegmentSlices(InputPartition):
    """What one task reads: offsets start <= offset < end of some neighbouring segments."""

    start: int
    end: int
    segments: tuple[Segment, ...]


class _Slices:
    """The planning and reading that batch and stream share."""

    def __init__(self, options: ReadOptions, columns: tuple[str, ...]) -> None:
        self.options = options
        self.columns = columns
        self.selection = options.selection

    def plan(self, start: int, end: int) -> list[SegmentSlices]:
        log = Log(self.options.path)
        self._refuse_corrupt(log, start, end)
        planned: list[SegmentSlices] = []
        group: list[Segment] = []
        for segment in log.segments(start, end):
            group.append(segment)
            if sum(one.rows for one in group) >= self.options.rows_per_partition:
                planned.append(_slices(group, start, end))
                group = []
        return planned + ([_slices(group, start, end)] if group else [])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, SegmentSlices):  # Spark's stand-in for "no partitions"
            return
        for segment in partition.segments:
            if self.options.segments_only:
                yield _segment_row(segment, partition)
            else:
                yield from self._read_rows(segment, partition)

    def _read_rows(self, segment: Segment, part: SegmentSlices) -> Iterator[pa.RecordBatch]:
        columns = list(dict.fromkeys([*self.columns, *sorted(self.selection.columns())]))
        try:
            groups = self.selection.groups_of(metadata_of(segment))
            rows = read_segment(segment, part.start, part.end, columns=columns, row_groups=groups)
            for batch in rows:
                yield self.selection.filter(batch).select(list(self.columns))
        except SegmentError:
            if not self.options.skip_corrupt:
                raise

    def _refuse_corrupt(self, log: Log, start: int, end: int) -> None:
        holes = [one for one in log.corrupt() if one.last >= start and one.first < end]
        if holes and not self.options.skip_corrupt and not self.options.segments_only:
            raise SegmentError(
                f"segment {holes[0].path.name} was found corrupt and set aside: "
                f"offsets {holes[0].first} to {holes[0].last} are missing "
                "(option onCorrupt=skip reads the rest)"
            )


class ZonalReader(_Slices, DataSourceReader):
    """Reads what is in the log, pruned by filters and options."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        """Take comparisons of plain columns; hand the others back to Spark."""
        taken = []
        for one in filters:
            bound = _bound_of(one)
            if bound:
                taken.append(bound)
            else:
                yield one
        self.selection = self.selection.with_bounds(taken)

    def partitions(self) -> list[SegmentSlices]:
        """One task per rowsPerPartition rows, within the offsets that filters leave."""
        start, end = _offset_range(self.selection.bounds)
        return self.plan(start, min(end, Log(self.options.path).next_offset()))


class ZonalStreamReader(_Slices, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows the log; its offset is the offset of the next message."""

    _target: int | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        """Where a new query begins."""
        log = Log(self.options.path)
        match self.options.starting_offset:
            case "earliest":
                return {"offset": log.first_offset()}
            case "latest":
                return {"offset": log.next_offset()}
            case number:
                return {"offset": int(number)}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Admission control: maxRowsPerTrigger."""
        return ReadMaxRows(self.options.max_rows) if self.options.max_rows else ReadAllAvailable()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        """The end of the next micro-batch: at a segment's end, where the limit reaches one."""
        begin = start["offset"]
        end = Log(self.options.path).next_offset()
        if self._target is not None:
            end = min(end, self._target)
        if isinstance(limit, ReadMaxRows) and end - begin > limit.max_rows:
            end = _whole_segments(Log(self.options.path), begin, begin + limit.max_rows)
        return {"offset": max(begin, end)}

    def reportLatestOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        """For progress reports: how far the log reaches."""
        return {"offset": Log(self.options.path).next_offset()}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Stop at what is there now."""
        self._target = Log(self.options.path).next_offset()

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[SegmentSlices]:
        """The tasks of one micro-batch."""
        first = Log(self.options.path).first_offset()
        if start["offset"] < first and start["offset"] < end["offset"]:
            self._lost(start["offset"], first)
        return self.plan(start["offset"], end["offset"])

    def commit(self, end: dict[str, int]) -> None:
        """Nothing: retention, not a reader, removes segments."""

    def _lost(self, start: int, first: int) -> None:
        if self.options.fail_on_data_loss:
            raise LogError(
                f"offsets {start} to {first - 1} were removed by retention before they were read "
                "(option failOnDataLoss=false goes on with what is left)"
            )


def _bound_of(one: Filter) -> Bound | None:
    operator = _OPERATORS.get(type(one))
    attribute: tuple[str, ...] = getattr(one, "attribute", ())
    value: Any = getattr(one, "value", None)
    if operator is None or len(attribute) != 1 or value is None:
        return None
    return Bound(attribute[0], operator, value)


def _slices(group: list[Segment], start: int, end: int) -> SegmentSlices:
    return SegmentSlices(max(start, group[0].first), min(end, group[-1].last + 1), tuple(group))


def _segment_row(segment: Segment, part: SegmentSlices) -> pa.RecordBatch:
    """A segment as a row; read in full here, on an executor, so that damage is known."""
    error = None
    try:
        check_segment(segment, deep=True)
    except SegmentError as reason:
        error = str(reason)
    start, end = max(part.start, segment.first), min(part.end, segment.last + 1)
    row = (str(segment.path.absolute()), segment.first, segment.last, start, end, error)
    named = dict(zip(_SEGMENT_SCHEMA.names, row, strict=True))
    return pa.RecordBatch.from_pylist([named], schema=_SEGMENT_SCHEMA)


def _offset_range(bounds: tuple[Bound, ...]) -> tuple[int, int]:
    low, high = 0, 1 << 62
    for bound in bounds:
        if bound.column == "offset":
            values: Any = bound.value if bound.operator == "in" else (bound.value,)
            if bound.operator in {"==", ">=", ">", "in"}:
                low = max(low, min(values))
            if bound.operator in {"==", "<=", "<", "in"}:
                high = min(high, max(values) + 1)
    return low, high


def _whole_segments(log: Log, start: int, end: int) -> int:
    ends = [segment.last + 1 for segment in log.segments(start, end)]
    fitting = [stop for stop in ends if start < stop <= end]
    return max(fitting, default=end)
