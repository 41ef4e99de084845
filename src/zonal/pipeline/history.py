"""What was said where and when: answered from the lake and the part of the log not yet in it.

No Spark is started: commits say which files to open, footers which row groups to read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from zonal.errors import DeclarationError, LakeError
from zonal.pipeline.lake import DataFile, Lake, overlapping
from zonal.pipeline.log import Log
from zonal.pipeline.schema import LOG_COLUMNS, LOG_SCHEMA
from zonal.pipeline.segment import metadata_of, read_segment
from zonal.pipeline.selection import Selection, overlaps
from zonal.pipeline.times import micros

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pandas as pd


@dataclass(frozen=True)
class Scan:
    """How much a query had to look at."""

    files: int
    files_opened: int
    row_groups_read: int
    rows: int


class History:
    """Messages of the past, from a lake, a log, or both."""

    def __init__(self, *, lake: str | Path | None = None, log: str | Path | None = None) -> None:
        if lake is None and log is None:
            raise DeclarationError("a history needs a lake, a log, or both")
        self.lake = Lake(lake) if lake is not None else None
        self.log = Log(log) if log is not None else None
        self.last_scan = Scan(0, 0, 0, 0)

    def batches(
        self, selection: Selection, *, limit: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The wanted messages (columns of the log), file by file; at most `limit` of them."""
        left = limit
        self.last_scan = Scan(0, 0, 0, 0)
        for batch in self._all(selection):
            if left is not None:
                batch = batch.slice(0, left)  # noqa: PLW2901 - the same rows, fewer
                left -= batch.num_rows
            if batch.num_rows:
                yield batch
            if left == 0:
                return

    def table(self, selection: Selection, *, limit: int | None = None) -> pa.Table:
        """The wanted messages, oldest first."""
        found = pa.Table.from_batches(self.batches(selection, limit=limit), schema=LOG_SCHEMA)
        return found.sort_by([("timestamp", "ascending"), ("received", "ascending")])

    def dataframe(self, selection: Selection, *, limit: int | None = None) -> pd.DataFrame:
        """The wanted messages as a pandas DataFrame, oldest first."""
        return self.table(selection, limit=limit).to_pandas()

    def _all(self, selection: Selection) -> Iterator[pa.RecordBatch]:
        start = 0
        if self.lake is not None:
            snapshot = self.lake.snapshot()
            if self.log is not None:
                # The snapshot is taken first: what is processed meanwhile is still in the log.
                start = snapshot.offsets.get(self.log.id, 0)
            files = snapshot.files("silver")
            yield from self._from_lake(self.lake, files, selection)
        if self.log is not None:
            yield from self._from_log(self.log, start, selection)

    def _from_lake(
        self, lake: Lake, files: tuple[DataFile, ...], selection: Selection
    ) -> Iterator[pa.RecordBatch]:
        since = micros(selection.since) if selection.since else None
        until = micros(selection.until) if selection.until else None
        near = [one for one in overlapping(files, since, until) if _near(one, selection)]
        self._count(files=len(files), files_opened=len(near))
        for one in sorted(near, key=lambda file: file.min_time or 0):
            yield from self._from_file(lake.path / one.path, selection)

    def _from_file(self, path: Path, selection: Selection) -> Iterator[pa.RecordBatch]:
        try:
            with pq.ParquetFile(path) as file:
                groups = selection.groups_of(file.metadata)
                self._count(row_groups_read=len(groups))
                for batch in file.iter_batches(row_groups=groups, columns=list(LOG_COLUMNS)):
                    yield from self._wanted(batch.cast(LOG_SCHEMA), selection)
        except (OSError, pa.ArrowException) as error:
            raise LakeError(f"{path} cannot be read: {error}") from error

    def _from_log(self, log: Log, start: int, selection: Selection) -> Iterator[pa.RecordBatch]:
        segments = log.segments(start)
        self._count(files=len(segments))
        for segment in segments:
            groups = selection.groups_of(metadata_of(segment))
            self._count(files_opened=bool(groups), row_groups_read=len(groups))
            for batch in read_segment(segment, start, segment.last + 1, row_groups=groups):
                yield from self._wanted(batch, selection)

    def _wanted(self, batch: pa.RecordBatch, selection: Selection) -> Iterator[pa.RecordBatch]:
        found = selection.filter(batch)
        self._count(rows=found.num_rows)
        if found.num_rows:
            yield found

    def _count(self, **more: int) -> None:
        known = vars(self.last_scan)
        self.last_scan = Scan(**{name: known[name] + more.get(name, 0) for name in known})


def _near(one: DataFile, selection: Selection) -> bool:
    """Whether a file's bounding box meets the area."""
    if selection.area is None:
        return True
    if one.min_lat is None or one.max_lat is None or one.min_lon is None or one.max_lon is None:
        return False  # nothing in it has a place
    return overlaps(selection.area, (one.min_lat, one.max_lat), (one.min_lon, one.max_lon))
