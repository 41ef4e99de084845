"""The recorder: a location-aware subscriber that appends every message to the log.

What it cannot take in time holds publishers up; dropping instead is a choice (`Overflow`), and what
is dropped is counted and logged. It asks publishers with a memory for what it missed, and the log
knows what it has, so a recorder that was killed continues without a loss and without a double (for
such publishers).
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from zonal.errors import AttachmentError, LogError
from zonal.pipeline.log import DEFAULT_RECORDER, LogWriter, Retention
from zonal.pipeline.recorded_messages import RecordedMessages
from zonal.pipeline.rows import MessageColumns, columns_of
from zonal.session import Overflow, PastMessages, Recovery

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pyarrow as pa

    from zonal.geo import GivenArea
    from zonal.session import Sample, Session, Subscriber

_LOGGER = logging.getLogger(__name__)
_TIDY_EVERY_S = 600.0
_ROW_BYTES = 100
# Messages that are taken over at a time: a lock for each would cost more than the message.
_CHUNK = 1024
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 5.0
_NONE = MessageColumns.empty()


@dataclass(frozen=True)
class RecorderPlan:
    """How much is gathered before it is written, and how much is kept."""

    flush_s: float = 1.0
    """The longest time that a message waits to be durable."""
    commit_rows: int = 50_000
    commit_bytes: int = 64 * 1024 * 1024
    buffer_rows: int = 250_000
    """Messages in memory, at most; beyond it the subscriber's mailbox fills, then overflows."""
    buffer_bytes: int = 256 * 1024 * 1024
    """And bytes of theirs, about; whatever their size, a thousand are taken at a time."""
    mailbox: int = 250_000
    overflow: Overflow = Overflow.BLOCK
    """What happens when the mailbox is full, too: by default publishers are held up."""
    name: str = DEFAULT_RECORDER
    """Whose offsets these are: recorders of different names may share a log."""
    retention: Retention = Retention()  # noqa: RUF009 - frozen
    recover: bool = True
    """Ask publishers with a memory for what was missed."""


@dataclass(frozen=True)
class RecorderCounters:
    """What happened so far; every received message is in exactly one of the others."""

    received: int
    written: int
    waiting: int
    doubles: int
    overflowed: int
    malformed: int
    commits: int
    retired: int
    write_errors: int


class Recorder:
    """Records the messages of some topics (in an area, or from the whole network) into a log."""

    def __init__(
        self,
        session: Session,
        log: str | Path,
        topics: Sequence[str] = ("**",),
        *,
        area: GivenArea | None = None,
        plan: RecorderPlan | None = None,
    ) -> None:
        self.plan = plan or RecorderPlan()
        self.log = LogWriter(log, recorder=self.plan.name, retention=self.plan.retention)
        self._known = RecordedMessages(self.log.numbers, self.log.newest_stamps())
        self._rows = MessageColumns.empty()
        self._bytes = 0
        self._reading = self._writing = 0
        self._changed = threading.Condition()
        self._draining = self._closing = False
        self._written = self._doubles = self._malformed = self._commits = self._retired = (
            self._errors
        ) = 0
        self._dropped = 0
        self._last_error: OSError | None = None
        self._subscribers = [self._subscribe(session, topic, area) for topic in topics]
        self._threads = [
            threading.Thread(target=self._read, args=(one,), name="zonal-record", daemon=True)
            for one in self._subscribers
        ]
        self._writer = threading.Thread(target=self._write, name="zonal-log", daemon=True)
        self._ended = threading.Event()
        self._tidier = threading.Thread(target=self._tidy, name="zonal-tidy", daemon=True)
        for thread in (*self._threads, self._writer, self._tidier):
            thread.start()

    @property
    def counters(self) -> RecorderCounters:
        """What happened so far."""
        counted = [one.counters for one in self._subscribers]
        with self._changed:
            waiting = self._reading + self._rows.rows + self._writing
            waiting += sum(one.waiting for one in counted)
            return RecorderCounters(
                received=sum(one.received for one in counted),
                written=self._written,
                waiting=waiting,
                doubles=self._doubles + sum(one.duplicates for one in counted),
                overflowed=sum(one.overflowed for one in counted),
                malformed=self._malformed + sum(one.malformed for one in counted),
                commits=self._commits,
                retired=self._retired,
                write_errors=self._errors,
            )

    @property
    def declared_keys(self) -> tuple[str, ...]:
        """The key expressions that are declared to the network."""
        return tuple(key for one in self._subscribers for key in one.declared_keys)

    @property
    def last_error(self) -> OSError | None:
        """Why the log could not be written the last time it was tried; None when all is well."""
        return self._last_error

    def close(self) -> None:
        """Stop receiving, make everything that arrived durable, and let go of the log."""
        for subscriber in self._subscribers:
            subscriber.undeclare()
        with self._changed:
            self._draining = True  # no more can come than what the mailboxes hold
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._writer.join()
        self._ended.set()
        self._tidier.join()
        self.log.close()
        if self._last_error is not None:
            raise LogError(
                f"{self.counters.waiting} messages could not be written: {self._last_error}"
            ) from self._last_error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _subscribe(self, session: Session, topic: str, area: GivenArea | None) -> Subscriber:
        return session.declare_subscriber(
            topic,
            area=area,
            fenced=True,
            capacity=self.plan.mailbox,
            overflow=self.plan.overflow,
            history=PastMessages() if self.plan.recover else None,
            recovery=Recovery() if self.plan.recover else None,
        )

    def _read(self, subscriber: Subscriber) -> None:
        for samples in subscriber.batches():
            with self._changed:
                self._reading += len(samples)
            for start in range(0, len(samples), _CHUNK):
                self._take(self._rows_of(samples[start : start + _CHUNK]))

    def _rows_of(self, samples: Sequence[Sample]) -> MessageColumns:
        try:
            return columns_of(samples)
        except AttachmentError:  # a source that cannot be read; the others go on
            rows = MessageColumns.empty()
        for sample in samples:
            try:
                rows.extend(columns_of([sample]))
            except AttachmentError:
                with self._changed:
                    self._malformed += 1
                    self._reading -= 1
        return rows

    def _take(self, rows: MessageColumns) -> None:
        """Into the buffer, as room comes; the mailbox fills meanwhile, and counts what it drops."""
        while rows.rows:
            with self._changed:
                self._changed.wait_for(self._has_room)
                room = rows.rows if self._draining else self.plan.buffer_rows - self._rows.rows
                taken, rows = rows.split(room) if room < rows.rows else (rows, _NONE)
                are_new = self._known.add(taken)
                new = taken if all(are_new) else taken.where(are_new)
                self._rows.extend(new)
                self._bytes += new.weight + _ROW_BYTES * new.rows
                self._doubles += taken.rows - new.rows
                self._reading -= taken.rows
                if self._is_full():
                    self._changed.notify_all()

    def _has_room(self) -> bool:
        plan = self.plan
        has_room = self._rows.rows < plan.buffer_rows and self._bytes < plan.buffer_bytes
        return self._draining or has_room

    def _is_full(self) -> bool:
        plan = self.plan
        return self._rows.rows >= plan.commit_rows or self._bytes >= plan.commit_bytes

    def _write(self) -> None:
        while (rows := self._next_rows()) is not None:
            if rows.rows:
                self._append(rows.to_table())
            self._tell_of_drops()

    def _tell_of_drops(self) -> None:
        dropped = sum(one.counters.overflowed for one in self._subscribers)
        if dropped > self._dropped:
            _LOGGER.warning(
                "%d messages were dropped: they come faster than the log takes them",
                dropped - self._dropped,
            )
            self._dropped = dropped

    def _tidy(self) -> None:
        """Apply retention and merge small files, beside the writing."""
        while not self._ended.wait(_TIDY_EVERY_S):
            try:
                self._retired += self.log.retire()
                self.log.compact()
            except OSError as error:
                _LOGGER.warning("the log is tidied later: %s", error)

    def _next_rows(self) -> MessageColumns | None:
        """What is to be written next, after at most flush_s; None when all is written."""
        with self._changed:
            self._changed.wait_for(lambda: self._closing or self._is_full(), self.plan.flush_s)
            if self._closing and not self._rows.rows:
                return None
            rows, self._rows, self._bytes = self._rows, MessageColumns.empty(), 0
            self._writing += rows.rows
            self._changed.notify_all()
            return rows

    def _append(self, table: pa.Table) -> None:
        """Make rows durable, trying again until the disk takes them or the recorder closes."""
        pause = _FIRST_PAUSE_S
        while True:
            try:
                self.log.append(table)
                break
            except OSError as error:
                self._errors += 1
                self._last_error = error
                _LOGGER.error("%d messages wait, the log cannot be written: %s", len(table), error)  # noqa: TRY400
            with self._changed:
                if self._changed.wait_for(lambda: self._closing, timeout=pause) and pause > 1:
                    return
            pause = min(pause * 2, _LONGEST_PAUSE_S)
        with self._changed:
            self._last_error = None
            self._written += len(table)
            self._commits += 1
            self._writing -= len(table)
