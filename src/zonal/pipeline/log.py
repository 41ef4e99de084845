"""The log: a Delta table that recorders append to, each with offsets of its own.

A commit of a recorder carries a transaction identifier: its name, and the offset that its next
message will get. So a commit is there once or not at all, whoever was killed when.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import (
    CommitProperties,
    DeltaTable,
    Schema,
    Transaction,
    WriterProperties,
    write_deltalake,
)
from deltalake.exceptions import DeltaError

from zonal.errors import LogError
from zonal.pipeline.delta import (
    STATISTICS_TICK,
    find_table,
    is_local,
    storage_options,
    url_of,
)
from zonal.pipeline.recorded_numbers import LAST_NUMBER, MAX_SOURCES, RecordedNumbers
from zonal.pipeline.schema import BRONZE_SCHEMA, LOG_COLUMNS, LOG_SCHEMA, MESSAGE_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

_LOGGER = logging.getLogger(__name__)
DEFAULT_RECORDER = "recorder"
_SMALL_FILES, _SMALL_BYTES = 16, 32 * 1024 * 1024
# Row groups small enough that a reader of a large file leaves most of them out.
_WRITER = WriterProperties(compression="ZSTD", compression_level=1, max_row_group_size=16_384)


@dataclass(frozen=True)
class Retention:
    """How much log is kept; None keeps everything. The newest file always stays."""

    max_age_s: float | None = None
    max_bytes: int | None = None
    vacuum_hours: int = 24
    """Files that were replaced or whose rows are gone are deleted after this time, not before:
    whoever reads an older version has as long to finish."""


class Log:
    """A log to read: a Delta table at a local path or at a URL such as `s3://bucket/log`."""

    def __init__(self, path: str | Path) -> None:
        self.url = url_of(path)

    def table(self, version: int | None = None) -> DeltaTable:
        """The table as it is now, or was at a version."""
        table = find_table(self.url, version)
        if table is None:
            raise LogError(f"{self.url} is no log: nothing was recorded there (zonal record)")
        return table

    @property
    def id(self) -> str:
        """What tells this log from others, wherever it is moved to."""
        return str(self.table().metadata().id)

    def next_offset(self, recorder: str = DEFAULT_RECORDER) -> int:
        """The offset that a recorder's next message will get."""
        return self.table().transaction_version(_app_id(recorder)) or 0

    def beyond(self, offsets: RecordedNumbers) -> int:
        """How many messages of these recorders are later than all of these offsets."""
        table = self.table()
        lasts = {name: ranges[-1][1] for name, ranges in offsets.to_dict().items()}
        ends = {name: table.transaction_version(_app_id(name)) or 0 for name in lasts}
        return sum(max(0, ends[name] - last - 1) for name, last in lasts.items())

    def to_table(self) -> pa.Table:
        """All rows in memory, each recorder's in the order of its offsets."""
        rows = self.table().to_pyarrow_dataset().to_table(columns=list(LOG_COLUMNS))
        return rows.cast(LOG_SCHEMA).sort_by([("recorder", "ascending"), ("offset", "ascending")])


class LogWriter(Log):
    """A recorder's way into a log: gives offsets, keeps doubles out, retires what is old.

    What `append` returned is in the table. Writers of different names may share a table; one name
    is for one writer at a time: a second on the same machine is refused at once, one elsewhere
    when it appends.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        recorder: str = DEFAULT_RECORDER,
        retention: Retention | None = None,
    ) -> None:
        super().__init__(path)
        self.recorder = recorder
        self.retention = retention or Retention()
        self._lock = _lock(self.url, recorder) if is_local(self.url) else None
        try:
            self._table = self._open()
            self._next = self._written()
            self.numbers = _numbers_in(self._table)
        except BaseException:
            self.close()
            raise

    def append(self, messages: pa.Table) -> range:
        """Make rows (the columns of MESSAGE_SCHEMA) durable in one commit; returns their offsets.

        May be called again with the same rows when it failed: should the commit have succeeded
        without a word of it coming back, nothing is written twice.
        """
        offsets = range(self._next, self._next + messages.num_rows)
        rows = self._rows(messages, offsets)
        try:
            self._table.update_incremental()
            written = self._written()
            if written == self._next:
                self._commit(rows, offsets.stop)
            elif written != offsets.stop:
                raise LogError(
                    f"{self.url}: another recorder is named {self.recorder!r} and wrote up to "
                    f"offset {written}, this one up to {self._next}; give each its own name"
                )
        except DeltaError as error:
            raise LogError(f"{self.url} cannot be written: {error}") from error
        self._next = offsets.stop
        return offsets

    def next_offset(self, recorder: str | None = None) -> int:
        """The offset that the next message will get (of another recorder, if one is named)."""
        return self._next if recorder is None else super().next_offset(recorder)

    def newest_stamps(self, rows: int = 100_000) -> Iterator[tuple[str, int, int, str]]:
        """Of about the last so many messages that have them: source, number, time stamp, clock."""
        files = pa.table(self._table.get_add_actions(flatten=True)).to_pylist()
        since = None
        for one in sorted(files, key=lambda one: one["max.received"], reverse=True):
            if rows <= 0:
                break
            rows -= one["num_records"]
            since = one["min.received"] if since is None else min(since, one["min.received"])
        if since is None:
            return
        scanner = self._table.to_pyarrow_dataset().scanner(
            columns=["source", "sequence", "ntp64", "clock"], filter=ds.field("received") >= since
        )
        for batch in scanner.to_batches():
            columns = [column.to_pylist() for column in batch.columns]
            for source, sequence, ntp64, clock in zip(*columns, strict=True):
                if source is not None and ntp64 is not None and sequence <= LAST_NUMBER:
                    yield source, sequence, ntp64, clock

    def retire(self, *, now_s: float | None = None) -> int:
        """Delete the oldest rows that retention no longer wants; returns how many."""
        now = time.time() if now_s is None else now_s
        table = self.table()
        cutoff = _cutoff(table, self.retention, now)
        if cutoff is None:
            return 0
        text = cutoff.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        try:
            done = table.delete(
                f"received < arrow_cast('{text}', 'Timestamp(Microsecond, Some(\"UTC\"))')"
            )
            self._vacuum(table)
        except DeltaError as error:
            raise LogError(f"{self.url}: retention failed: {error}") from error
        return int(done.get("num_deleted_rows") or 0)

    def compact(self) -> None:
        """Merge the small files of each day; readers and streams do not notice."""
        table = self.table()
        sizes = pa.table(table.get_add_actions(flatten=True))["size_bytes"].to_pylist()
        if sum(size < _SMALL_BYTES for size in sizes) < _SMALL_FILES:
            return
        try:
            table.optimize.compact(writer_properties=_WRITER)
            self._vacuum(table)
        except DeltaError as error:
            raise LogError(f"{self.url} could not be compacted: {error}") from error

    def close(self) -> None:
        """Let another writer take this one's name."""
        if self._lock is not None:
            self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> DeltaTable:
        table = find_table(self.url)
        if table is not None:
            return table
        try:
            return DeltaTable.create(
                self.url,
                schema=Schema.from_arrow(BRONZE_SCHEMA),
                mode="ignore",
                partition_by=["date"],
                name="bronze",
                storage_options=storage_options(self.url),
            )
        except (DeltaError, OSError) as error:
            raise LogError(f"{self.url} cannot be made a log: {error}") from error

    def _written(self) -> int:
        return self._table.transaction_version(_app_id(self.recorder)) or 0

    def _rows(self, messages: pa.Table, offsets: range) -> pa.Table:
        if not offsets:
            raise LogError("nothing to append: at least one message")
        try:
            columns = messages.select(MESSAGE_SCHEMA.names).cast(MESSAGE_SCHEMA).columns
        except (KeyError, ValueError) as error:
            raise LogError(f"these rows are no messages: {error}") from error
        names = pa.array([self.recorder] * len(offsets), pa.string())
        days = columns[-1].cast(pa.date32())
        numbers = pa.array(offsets, pa.int64())
        return pa.table([names, numbers, *columns, days], schema=BRONZE_SCHEMA)

    def _commit(self, rows: pa.Table, next_offset: int) -> None:
        transaction = Transaction(_app_id(self.recorder), next_offset)
        write_deltalake(
            self._table,
            rows,
            mode="append",
            writer_properties=_WRITER,
            commit_properties=CommitProperties(app_transactions=[transaction]),
        )

    def _vacuum(self, table: DeltaTable) -> None:
        table.vacuum(
            retention_hours=self.retention.vacuum_hours,
            enforce_retention_duration=False,
            dry_run=False,
        )


def _app_id(recorder: str) -> str:
    return f"zonal-recorder:{recorder}"


def _numbers_in(table: DeltaTable) -> RecordedNumbers:
    """What was recorded already, by whichever recorder."""
    numbers = RecordedNumbers(most=MAX_SOURCES)
    scanner = table.to_pyarrow_dataset().scanner(columns=["source", "sequence"])
    for batch in scanner.to_batches():
        numbers.merge_columns(batch.column(0), batch.column(1))
    return numbers


def _cutoff(table: DeltaTable, retention: Retention, now_s: float) -> datetime | None:
    """The reception time before which everything goes, or None: by age, or whole files by size."""
    files = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    by_time = sorted(files, key=lambda one: one["max.received"])
    cutoffs = []
    if retention.max_age_s is not None and by_time:
        oldest = datetime.fromtimestamp(now_s - retention.max_age_s, UTC)
        if min(one["min.received"] for one in by_time) < oldest:
            cutoffs.append(oldest)
    if retention.max_bytes is not None:
        kept = sum(one["size_bytes"] for one in by_time)
        for one in by_time[:-1]:
            if kept <= retention.max_bytes:
                break
            kept -= one["size_bytes"]
            cutoffs.append(min(one["max.received"] + STATISTICS_TICK, by_time[-1]["min.received"]))
    return max(cutoffs, default=None)


def _lock(url: str, recorder: str) -> IO[str]:
    """One writer of a name; the lock is the operating system's, so it ends with the process."""
    name = hashlib.sha256(f"{Path(url).resolve()}\n{recorder}".encode()).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / f"zonal-recorder-{name}.lock"
    file = path.open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise LogError(
            f"{url} has a recorder named {recorder!r} already: stop it, or take another name"
        ) from error
    return file
