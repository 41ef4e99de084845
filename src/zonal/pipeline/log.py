"""The durable log: a folder of ordered segments that one writer extends and many readers follow."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pyarrow as pa

from zonal.errors import LogError, SegmentError
from zonal.pipeline.recorded_numbers import RecordedNumbers
from zonal.pipeline.schema import LOG_SCHEMA, MESSAGE_SCHEMA
from zonal.pipeline.segment import (
    Segment,
    check_segment,
    numbers_in,
    read_segment,
    sync_folder,
    write_segment,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Self

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True)
class Retention:
    """How much log is kept; None keeps everything. The newest segment always stays."""

    max_age_s: float | None = None
    max_bytes: int | None = None


class Log:
    """A log to read: which offsets there are, and the segments that hold them."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.folder = self.path / "segments"
        self.corrupt_folder = self.path / "corrupt"

    @property
    def id(self) -> str:
        """What tells this log from others, wherever it is moved to."""
        try:
            return (self.path / "id").read_text().strip()
        except FileNotFoundError as error:
            raise LogError(f"{self.path} is no log: no writer has opened it yet") from error

    def segments(self, start: int = 0, end: int | None = None) -> list[Segment]:
        """The closed segments with an offset in start <= offset < end, in order."""
        if not self.folder.is_dir():
            raise LogError(f"{self.path} is no log: it has no folder segments/ (zonal record)")
        found = (Segment.from_path(path) for path in self.folder.iterdir())
        return sorted(
            segment
            for segment in found
            if segment and segment.last >= start and (end is None or segment.first < end)
        )

    def first_offset(self) -> int:
        """The oldest offset that is still there (the next one to come, where there is none)."""
        segments = self.segments()
        return segments[0].first if segments else self.next_offset()

    def next_offset(self) -> int:
        """The offset that the next message will get."""
        segments = self.segments()
        past = [segment.last + 1 for segment in (*segments[-1:], *self.corrupt())]
        return max((self._retired().next_offset, *past))

    def corrupt(self) -> list[Segment]:
        """The segments that a writer found unreadable and set aside; nothing is ever deleted."""
        if not self.corrupt_folder.is_dir():
            return []
        found = (Segment.from_path(path) for path in self.corrupt_folder.iterdir())
        return sorted(segment for segment in found if segment)

    def read(
        self, start: int = 0, end: int | None = None, *, columns: Sequence[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows from one offset to before another, in order."""
        stop = self.next_offset() if end is None else end
        for segment in self.segments(start, stop):
            yield from read_segment(segment, start, stop, columns=columns)

    def to_table(self, start: int = 0, end: int | None = None) -> pa.Table:
        """The rows from one offset to before another, in memory."""
        return pa.Table.from_batches(list(self.read(start, end)), schema=LOG_SCHEMA)

    def _retired(self) -> _Retired:
        return _Retired.read(self.path / "retired.json")


class LogWriter(Log):
    """The one writer of a log: gives offsets, closes segments, keeps doubles out, retires old ones.

    What `append` returned is on disk: it survives `kill -9` and a power cut.
    """

    def __init__(self, path: str | Path, *, retention: Retention | None = None) -> None:
        super().__init__(path)
        self.retention = retention or Retention()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = _lock(self.path)
        if not (self.path / "id").exists():
            (self.path / "id").write_text(f"{uuid.uuid4().hex}\n")
        self.numbers = RecordedNumbers()
        try:
            self._remove_partials()
            self._set_corrupt_aside()
            self._recall()
            self._next = super().next_offset()
        except BaseException:
            self._lock.close()
            raise

    def append(self, messages: pa.Table | pa.RecordBatch) -> Segment:
        """Make rows (the columns of MESSAGE_SCHEMA) durable as one segment, and return it."""
        if messages.num_rows == 0:
            raise LogError("an empty segment cannot be: append at least one message")
        rows = pa.table(messages) if isinstance(messages, pa.RecordBatch) else messages
        offsets = pa.array(range(self._next, self._next + rows.num_rows), pa.int64())
        try:
            columns = [offsets, *rows.select(MESSAGE_SCHEMA.names).cast(MESSAGE_SCHEMA).columns]
        except (KeyError, ValueError) as error:
            raise LogError(f"these rows are no messages: {error}") from error
        segment = write_segment(self.folder, pa.table(columns, schema=LOG_SCHEMA))
        self._next = segment.last + 1
        return segment

    def next_offset(self) -> int:
        """The offset that the next message will get."""
        return self._next

    def retire(self, *, now_s: float | None = None) -> list[Segment]:
        """Remove the oldest segments that retention no longer wants, and return them."""
        segments = self.segments()
        old = _expired(segments, self.retention, time.time() if now_s is None else now_s)
        if old:
            # What was in them is noted first: a crash in between forgets nothing.
            retired = self._retired()
            for segment in old:
                retired.numbers.merge(numbers_in(segment))
            _Retired(self._next, retired.numbers).write(self.path / "retired.json")
            for segment in old:
                segment.path.unlink()
            sync_folder(self.folder)
        return old

    def close(self) -> None:
        """Let another writer take over."""
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _remove_partials(self) -> None:
        for partial in self.folder.glob(".*.partial"):
            partial.unlink()

    def _set_corrupt_aside(self) -> None:
        for segment in self.segments():
            try:
                check_segment(segment)
            except SegmentError as error:
                self.corrupt_folder.mkdir(exist_ok=True)
                segment.path.rename(self.corrupt_folder / segment.path.name)
                sync_folder(self.corrupt_folder)
                sync_folder(self.folder)
                _LOGGER.warning("%s; set aside in %s", error, self.corrupt_folder)

    def _recall(self) -> None:
        self.numbers.merge(self._retired().numbers.to_dict())
        for segment in self.segments():
            self.numbers.merge(numbers_in(segment))


@dataclass(frozen=True)
class _Retired:
    """What is remembered of segments that retention removed."""

    next_offset: int
    numbers: RecordedNumbers

    @classmethod
    def read(cls, path: Path) -> _Retired:
        try:
            content = json.loads(path.read_text())
        except FileNotFoundError:
            return cls(0, RecordedNumbers())
        return cls(content["next"], RecordedNumbers(content["sources"]))

    def write(self, path: Path) -> None:
        partial = path.with_suffix(".partial")
        with partial.open("w") as file:
            json.dump({"next": self.next_offset, "sources": self.numbers.to_dict()}, file)
            file.flush()
            os.fsync(file.fileno())
        partial.rename(path)
        sync_folder(path.parent)


def _expired(segments: list[Segment], retention: Retention, now_s: float) -> list[Segment]:
    sizes = [segment.path.stat() for segment in segments]
    kept = sum(stat.st_size for stat in sizes)
    old = []
    for segment, stat in list(zip(segments, sizes, strict=True))[:-1]:
        # A segment is never changed after it was closed: its file time is its newest message's.
        aged = retention.max_age_s is not None and now_s - stat.st_mtime > retention.max_age_s
        large = retention.max_bytes is not None and kept > retention.max_bytes
        if not (aged or large):
            break
        kept -= stat.st_size
        old.append(segment)
    return old


def _lock(path: Path) -> IO[str]:
    file = (path / "lock").open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise LogError(f"{path} has a writer already: stop it, or record into another") from error
    return file
