"""`readStream.format("zonal")`: the live network as a stream that can be read again.

The process that plans the stream records what it hears into a log, and a micro-batch is a range of
that log's offsets: the same range gives the same rows, to any executor, however often it is asked.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows

from zonal.errors import DeclarationError, LogError
from zonal.geo import area_from_wkt
from zonal.pipeline.jobs.options import NETWORK_OPTIONS, known_options, open_session
from zonal.pipeline.log import Log
from zonal.pipeline.recorder import Recorder, RecorderPlan
from zonal.pipeline.schema import LOG_COLUMNS, LOG_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa

READ_OPTIONS = {
    **NETWORK_OPTIONS,
    "topic": "a key expression, such as city/**; without it, all",
    "area": "well-known text: only what is sent from there",
    "path": "where the log is that stands behind the stream; without it, a temporary folder",
    "name": "whose offsets in that log these are; spark, unless recorders share it",
    "startingoffset": "earliest or latest: where in the log a new query begins",
    "maxrowspertrigger": "the most rows of one micro-batch",
}
_FLUSH_S = 0.2
Offset = dict[str, int]


@dataclass
class OffsetRange(InputPartition):
    """What one task reads: offsets start <= offset < end of a recorder."""

    log: str
    recorder: str
    start: int
    end: int


class ZonalStreamReader(DataSourceStreamReader):
    """Subscribes while the query runs; its offset is that of the next message in the log."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self.options = known_options(given, READ_OPTIONS, "source")
        self._name = self.options.get("name", "spark")
        self._most = _rows(self.options.get("maxrowspertrigger"))
        begin = self.options.get("startingoffset", "earliest")
        if begin not in {"earliest", "latest"}:
            raise DeclarationError(f"startingOffset {begin!r} is not earliest or latest")
        area = self.options.get("area")
        self._area = None if area is None else area_from_wkt(area)
        self._open: ExitStack | None = None
        self._recorder: Recorder | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What executors get: no session, which would not survive the way."""
        return {**vars(self), "_open": None, "_recorder": None}

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        """Where a new query begins."""
        latest = self.options.get("startingoffset") == "latest"
        return {"offset": self._recording().log.next_offset() if latest else 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Admission control: maxRowsPerTrigger."""
        return ReadMaxRows(self._most) if self._most else ReadAllAvailable()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802 - Spark's name
        """The end of the next micro-batch."""
        begin, log = start["offset"], self._recording().log
        end = log.next_offset()
        if end < begin:
            raise LogError(
                f"the query has read up to offset {begin}, and {log.url} ends at {end}: give it "
                "the log that it began with (the option path), or a new checkpoint"
            )
        if isinstance(limit, ReadMaxRows):
            end = min(end, begin + limit.max_rows)
        return {"offset": end}

    def partitions(self, start: Offset, end: Offset) -> list[OffsetRange]:
        """One task: what a recorder takes, a task can read."""
        url = self._recording().log.url
        return [OffsetRange(url, self._name, start["offset"], end["offset"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a range, from the log."""
        assert isinstance(partition, OffsetRange)
        offset = pc.field("offset")
        wanted = (offset >= partition.start) & (offset < partition.end)
        wanted &= pc.field("recorder") == partition.recorder
        rows = Log(partition.log).table().to_pyarrow_dataset()
        for batch in rows.to_batches(columns=list(LOG_COLUMNS), filter=wanted):
            if batch.num_rows:
                yield batch.cast(LOG_SCHEMA)

    def commit(self, end: Offset) -> None:
        """Nothing: the log keeps what was read."""

    def stop(self) -> None:
        """Make durable what arrived, and leave the network."""
        if self._open is not None:
            self._open.close()

    def _recording(self) -> Recorder:
        if self._recorder is None:
            self._open = ExitStack()
            path = self.options.get("path")
            if path is None:
                path = tempfile.mkdtemp(prefix="zonal-stream-")
                self._open.callback(shutil.rmtree, path, ignore_errors=True)
            session = self._open.enter_context(open_session(self.options))
            self._recorder = self._open.enter_context(
                Recorder(
                    session,
                    path,
                    [self.options.get("topic", "**")],
                    area=self._area,
                    plan=RecorderPlan(flush_s=_FLUSH_S, name=self._name),
                )
            )
        return self._recorder


def _rows(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdecimal() or int(text) == 0:
        raise DeclarationError(f"maxRowsPerTrigger is {text!r}, not a whole number above 0")
    return int(text)
