"""What was said where and when: answered from the lake and the part of the log not yet in it.

No Spark is started. Delta's statistics say which files to open, Parquet's which row groups to read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake.exceptions import DeltaError

from zonal.errors import DeclarationError, LakeError
from zonal.pipeline.lake import Lake
from zonal.pipeline.log import Log
from zonal.pipeline.recorded_numbers import RecordedNumbers
from zonal.pipeline.schema import LOG_COLUMNS, LOG_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pandas as pd
    import pyarrow.dataset as ds
    from deltalake import DeltaTable

    from zonal.pipeline.selection import Selection

# Columns of words are read as numbers of words: texts are made of the rows that are wanted alone.
_WORDS = [field.name for field in LOG_SCHEMA if field.type == pa.string()]
_ROWS_AT_ONCE = 262_144


@dataclass(frozen=True)
class Scan:
    """How much a query had to look at."""

    files: int = 0
    files_opened: int = 0
    rows: int = 0


class History:
    """Messages of the past, from a lake, a log, or both; at a version of silver, from that alone.

    Args:
        lake: where the lake is; its table `silver` is read.
        log: where the log is; of it what the lake does not have yet, in as far as there is a lake.
        version: of silver (or of the log, without a lake): the past as it was known then.
    """

    def __init__(
        self,
        *,
        lake: str | Path | None = None,
        log: str | Path | None = None,
        version: int | None = None,
    ) -> None:
        if lake is None and log is None:
            raise DeclarationError("a history needs a lake, a log, or both")
        self.lake = Lake(lake) if lake is not None else None
        self.log = Log(log) if log is not None and (lake is None or version is None) else None
        self.version = version
        self.last_scan = Scan()
        if self.log is None:
            self._silver()

    def batches(
        self, selection: Selection, *, limit: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The wanted messages (columns of the log), file by file; at most `limit` of them."""
        left = limit
        self.last_scan = Scan()
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
        known = RecordedNumbers()
        if self.lake is not None:
            # Silver is opened first: what is processed meanwhile is still in the log.
            silver = self._silver()
            known = self.lake.offsets(silver)
            if silver is not None:
                yield from self._read(silver, selection, has_time=True, known=RecordedNumbers())
        if self.log is not None:
            log = self.log.table(self.version if self.lake is None else None)
            yield from self._read(log, selection, has_time=False, known=known)

    def _silver(self) -> DeltaTable | None:
        assert self.lake is not None
        silver = self.lake.find("silver", self.version)
        if silver is None and self.log is None:
            raise LakeError(f"{self.lake.url} is no lake: it has no table silver")
        return silver

    def _read(
        self, table: DeltaTable, selection: Selection, *, has_time: bool, known: RecordedNumbers
    ) -> Iterator[pa.RecordBatch]:
        at = table.table_uri
        new = _not_in(known)
        # By bounds, not by cells: to ask about many ranges takes longer than to read what is near.
        wanted = _both(selection.expression(has_time=has_time, by_cell=False), new)
        try:
            dataset = table.to_pyarrow_dataset()
            near = list(dataset.get_fragments(filter=wanted))
            self._count(files=len(table.file_uris()), files_opened=len(near))
            for fragment in near:
                at = f"{table.table_uri.rstrip('/')}/{fragment.path}"
                for batch in _rows_near(fragment, selection, wanted):
                    unknown = batch if new is None else batch.filter(new)
                    found = selection.filter(unknown)
                    self._count(rows=found.num_rows)
                    if found.num_rows:
                        yield found
        except (DeltaError, OSError, pa.ArrowException) as error:
            raise LakeError(f"{at} cannot be read: {error}") from error

    def _count(self, **more: int) -> None:
        known = vars(self.last_scan)
        self.last_scan = replace(
            self.last_scan, **{name: known[name] + count for name, count in more.items()}
        )


def _rows_near(
    fragment: ds.ParquetFileFragment, selection: Selection, wanted: pc.Expression | None
) -> Iterator[pa.RecordBatch]:
    """The rows of a file (columns of the log) within the wanted time and bounds."""
    near = _groups_near(fragment, selection.ranges)
    near = near if wanted is None else near.subset(filter=wanted)
    with near.open() as source:
        file = pq.ParquetFile(
            source, metadata=near.metadata, read_dictionary=_WORDS, pre_buffer=True
        )
        for groups in _portions(near):
            rows = file.read_row_groups(groups, columns=list(LOG_COLUMNS))
            parts = [selection.near(batch) for batch in rows.to_batches()]
            # Together, because each exact test costs as much as some thousand rows of it.
            logged = [_as_logged(part) for part in parts if part.num_rows]
            found = pa.Table.from_batches(logged, schema=LOG_SCHEMA)
            yield from found.combine_chunks().to_batches()


def _portions(fragment: ds.ParquetFileFragment) -> Iterator[list[int]]:
    """Row groups to read at once: one request to an object store, and memory for so many rows."""
    portion: list[int] = []
    rows = 0
    for group in fragment.row_groups:
        if portion and rows + group.num_rows > _ROWS_AT_ONCE:
            yield portion
            portion, rows = [], 0
        portion.append(group.id)
        rows += group.num_rows
    if portion:
        yield portion


def _as_logged(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The columns of the log; one that a file does not have is null."""
    there = set(batch.schema.names)
    columns = [
        batch.column(field.name).cast(field.type)
        if field.name in there
        else pa.nulls(batch.num_rows, field.type)
        for field in LOG_SCHEMA
    ]
    return pa.RecordBatch.from_arrays(columns, schema=LOG_SCHEMA)


def _groups_near(
    fragment: ds.ParquetFileFragment, ranges: list[tuple[int, int]]
) -> ds.ParquetFileFragment:
    """The row groups of a file that may have cells in some ranges; all where there are none.

    Arrow would find the same by an expression, and take longer for that than to read them.
    """
    if not ranges:
        return fragment
    file = fragment.metadata
    column = file.schema.names.index("cell")
    groups = (
        (number, file.row_group(number).column(column).statistics)
        for number in range(file.num_row_groups)
    )
    near = [
        number
        for number, known in groups
        if known is None
        or not known.has_min_max
        or any(low <= known.max and known.min <= high for low, high in ranges)
    ]
    return fragment.subset(row_group_ids=near)


def _both(one: pc.Expression | None, other: pc.Expression | None) -> pc.Expression | None:
    if one is None or other is None:
        return one if other is None else other
    return one & other


def _not_in(known: RecordedNumbers) -> pc.Expression | None:
    """The messages of the log that are not in the lake yet."""
    wanted = None
    for recorder, ranges in known.to_dict().items():
        for low, high in ranges:
            offset = pc.field("offset")
            # Not `!=`: of that, the statistics of a file prove nothing to Arrow.
            other = (pc.field("recorder") < recorder) | (pc.field("recorder") > recorder)
            wanted = _both(wanted, other | (offset < low) | (offset > high))
    return wanted
