"""One segment of the log: a Parquet file that is either whole and synced, or not there."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from zonal.errors import SegmentError
from zonal.pipeline.recorded_numbers import MAX_RANGES
from zonal.pipeline.schema import LOG_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from zonal.pipeline.recorded_numbers import Ranges

_NAME = re.compile(r"(\d{20})-(\d{20})\.parquet")
_SOURCES_KEY = b"zonal.sources"
_ROW_GROUP = 64 * 1024


@dataclass(frozen=True, order=True)
class Segment:
    """A closed segment; its name alone says which offsets it holds (both ends included)."""

    first: int
    last: int
    path: Path

    @property
    def rows(self) -> int:
        """How many messages it holds."""
        return self.last - self.first + 1

    @classmethod
    def from_path(cls, path: Path) -> Segment | None:
        """The segment that a file is, or None for any other file."""
        found = _NAME.fullmatch(path.name)
        return cls(int(found[1]), int(found[2]), path) if found else None


def write_segment(folder: Path, table: pa.Table) -> Segment:
    """Write a table of log rows as a segment: temporary file, sync, rename, sync the folder."""
    first, last = table["offset"][0].as_py(), table["offset"][-1].as_py()
    final = folder / f"{first:020d}-{last:020d}.parquet"
    partial = folder / f".{final.name}.{os.getpid()}.partial"
    sources = json.dumps(_numbers_of(table)).encode()
    table = table.replace_schema_metadata({_SOURCES_KEY: sources})
    try:
        with partial.open("wb") as file:
            # Checksums per page: a flipped bit is found when read, not believed.
            pq.write_table(
                table, file, compression="zstd", row_group_size=_ROW_GROUP, write_page_checksum=True
            )
            file.flush()
            os.fsync(file.fileno())
        partial.rename(final)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    sync_folder(folder)
    return Segment(first, last, final)


def sync_folder(folder: Path) -> None:
    """Make renames and removals in a folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def check_segment(segment: Segment, *, deep: bool = False) -> None:
    """Raise SegmentError unless the file is what its name says; `deep` verifies every page."""
    try:
        with _open(segment.path) as file:
            rows = file.metadata.num_rows
            offsets = file.read(columns=None if deep else ["offset"])["offset"] if rows else []
    except (OSError, pa.ArrowException) as error:
        raise SegmentError(f"segment {segment.path.name} cannot be read: {error}") from error
    if rows != segment.rows or (offsets[0].as_py(), offsets[-1].as_py()) != (
        segment.first,
        segment.last,
    ):
        raise SegmentError(f"segment {segment.path.name} holds {rows} rows, not {segment.rows}")


def metadata_of(segment: Segment) -> pq.FileMetaData:
    """A segment's footer: row groups with their statistics, and what the writer noted."""
    try:
        return pq.read_metadata(segment.path)
    except (OSError, pa.ArrowException) as error:
        raise SegmentError(f"segment {segment.path.name} cannot be read: {error}") from error


def numbers_in(segment: Segment) -> dict[str, Ranges]:
    """The sequence numbers per source that a segment holds, from its footer alone."""
    noted = metadata_of(segment).metadata or {}
    ranges: dict[str, Ranges] = json.loads(noted.get(_SOURCES_KEY, b"{}"))
    return ranges


def read_segment(
    segment: Segment,
    start: int,
    end: int,
    *,
    columns: Sequence[str] | None = None,
    row_groups: Sequence[int] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows with start <= offset < end, in order, with the columns of the log."""
    wanted = list(columns) if columns is not None else LOG_SCHEMA.names
    try:
        with _open(segment.path) as file:
            present = [name for name in wanted if name in file.schema_arrow.names]
            groups = range(file.num_row_groups) if row_groups is None else row_groups
            for group in groups:
                offset = segment.first + sum(
                    file.metadata.row_group(before).num_rows for before in range(group)
                )
                if offset >= end or offset + file.metadata.row_group(group).num_rows <= start:
                    continue
                for batch in file.iter_batches(row_groups=[group], columns=present):
                    low = max(0, start - offset)
                    high = min(batch.num_rows, end - offset)
                    offset += batch.num_rows
                    if low < high:
                        yield _as_log(batch.slice(low, high - low), wanted)
    except (OSError, pa.ArrowException) as error:
        raise SegmentError(f"segment {segment.path.name} cannot be read: {error}") from error


def _open(path: Path) -> pq.ParquetFile:
    return pq.ParquetFile(path, page_checksum_verification=True)


def _as_log(batch: pa.RecordBatch, wanted: Sequence[str]) -> pa.RecordBatch:
    """Give rows of an older or newer version the columns of this one: absent ones are null."""
    arrays = []
    for name in wanted:
        field = LOG_SCHEMA.field(name)
        known = name in batch.schema.names
        arrays.append(
            batch.column(name).cast(field.type) if known else pa.nulls(len(batch), field.type)
        )
    return pa.RecordBatch.from_arrays(arrays, names=list(wanted))


def _numbers_of(table: pa.Table) -> dict[str, Ranges]:
    numbered = table.select(["source", "sequence"]).drop_null()
    if not numbered.num_rows:
        return {}
    names = numbered["source"].combine_chunks().dictionary_encode()
    codes, numbers = names.indices.to_numpy(), numbered["sequence"].to_numpy()
    order = np.lexsort((numbers, codes))
    codes, numbers = codes[order], numbers[order]
    begins = np.append(True, (np.diff(codes) != 0) | (np.diff(numbers) > 1))
    ends = np.append(begins[1:], True)
    found: dict[str, Ranges] = {name: [] for name in names.dictionary.to_pylist()}
    labels = names.dictionary.take(pa.array(codes[begins])).to_pylist()
    for label, low, high in zip(
        labels, numbers[begins].tolist(), numbers[ends].tolist(), strict=True
    ):
        found[label].append([low, high])
    return {label: _newest(ranges) for label, ranges in found.items()}


def _newest(ranges: Ranges) -> Ranges:
    """As `RecordedNumbers` keeps them: of very many, the oldest become one."""
    extra = len(ranges) - MAX_RANGES
    return ranges if extra <= 0 else [[ranges[0][0], ranges[extra][1]], *ranges[extra + 1 :]]
