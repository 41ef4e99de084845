from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from zonal.errors import LogError, SegmentError
from zonal.pipeline import Log, LogWriter, Retention
from zonal.pipeline.segment import check_segment

Messages = Callable[..., pa.Table]


def offsets(log: Log) -> list[int]:
    return log.to_table()["offset"].to_pylist()


def test_offsets_increase_across_segments_and_restarts(tmp_path: Path, messages: Messages) -> None:
    with LogWriter(tmp_path) as writer:
        assert writer.append(messages(10)).last == 9
        assert writer.append(messages(5, first=10)).first == 10
    with LogWriter(tmp_path) as writer:
        assert writer.next_offset() == 15
        writer.append(messages(1, first=15))
    assert offsets(Log(tmp_path)) == list(range(16))


def test_reading_gives_back_what_was_appended(tmp_path: Path, messages: Messages) -> None:
    table = messages(100)
    with LogWriter(tmp_path) as writer:
        writer.append(table)
    assert Log(tmp_path).to_table().drop_columns("offset").equals(table)


def test_a_range_of_offsets_is_read_exactly(tmp_path: Path, messages: Messages) -> None:
    with LogWriter(tmp_path) as writer:
        for start in range(0, 30, 10):
            writer.append(messages(10, first=start))
    batches = Log(tmp_path).read(7, 22, columns=["offset"])
    read = [offset for batch in batches for offset in batch["offset"].to_pylist()]
    assert read == list(range(7, 22))


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    with LogWriter(tmp_path), pytest.raises(LogError, match="has a writer already"):
        LogWriter(tmp_path)
    LogWriter(tmp_path).close()


def test_a_folder_without_segments_is_no_log(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="no log"):
        Log(tmp_path / "nothing").segments()


def test_rows_that_are_no_messages_are_refused(tmp_path: Path) -> None:
    with LogWriter(tmp_path) as writer:
        with pytest.raises(LogError, match="no messages"):
            writer.append(pa.table({"topic": ["t"]}))
        with pytest.raises(LogError, match="empty"):
            writer.append(pa.table({"topic": pa.array([], pa.string())}))
        assert writer.next_offset() == 0


@pytest.mark.parametrize("damage", ["truncated", "emptied", "flipped footer"])
def test_a_damaged_segment_is_set_aside_and_its_offsets_are_not_given_again(
    tmp_path: Path, messages: Messages, damage: str
) -> None:
    with LogWriter(tmp_path) as writer:
        writer.append(messages(10))
        hurt = writer.append(messages(10, first=10))
    content = hurt.path.read_bytes()
    changed = {
        "truncated": content[:-20],
        "emptied": b"",
        "flipped footer": content[:-8] + b"0" * 8,
    }
    hurt.path.write_bytes(changed[damage])
    with LogWriter(tmp_path) as writer:
        assert [segment.first for segment in writer.corrupt()] == [10]
        assert writer.next_offset() == 20
        writer.append(messages(3, first=20))
    assert offsets(Log(tmp_path)) == [*range(10), *range(20, 23)]
    assert (tmp_path / "corrupt" / hurt.path.name).read_bytes() == changed[damage]


def test_a_flipped_bit_in_the_data_is_found_by_its_checksum(
    tmp_path: Path, messages: Messages
) -> None:
    with LogWriter(tmp_path) as writer:
        segment = writer.append(messages(5000))
    content = bytearray(segment.path.read_bytes())
    content[len(content) // 3] ^= 0x10
    segment.path.write_bytes(content)
    with pytest.raises(SegmentError, match="cannot be read"):
        check_segment(segment, deep=True)
    with pytest.raises(SegmentError, match=segment.path.name):
        list(Log(tmp_path).read())


def test_retention_by_size_removes_the_oldest_and_keeps_the_newest(
    tmp_path: Path, messages: Messages
) -> None:
    with LogWriter(tmp_path) as writer:
        for start in range(0, 50, 10):
            size = writer.append(messages(10, first=start)).path.stat().st_size
        writer.retention = Retention(max_bytes=int(size * 2.5))
        assert [segment.first for segment in writer.retire()] == [0, 10, 20]
        writer.retention = Retention(max_bytes=0)
        assert [segment.first for segment in writer.retire()] == [30]
    assert Log(tmp_path).first_offset() == 40


def test_retention_by_age(tmp_path: Path, messages: Messages) -> None:
    with LogWriter(tmp_path, retention=Retention(max_age_s=60)) as writer:
        for start in range(0, 30, 10):
            writer.append(messages(10, first=start))
        assert writer.retire() == []
        old = writer.segments()[0].path
        os.utime(old, (time.time() - 100, time.time() - 100))
        assert [segment.path for segment in writer.retire()] == [old]


def test_a_log_emptied_by_hand_still_remembers_offsets_and_doubles(
    tmp_path: Path, messages: Messages
) -> None:
    with LogWriter(tmp_path, retention=Retention(max_bytes=0)) as writer:
        writer.append(messages(10))
        writer.append(messages(10, first=10))
        writer.retire()
    for segment in Log(tmp_path).segments():
        segment.path.unlink()
    with LogWriter(tmp_path) as writer:
        assert writer.next_offset() == 20
        assert not writer.numbers.add("a1:1", 5)
        assert writer.numbers.add("a1:1", 20)


_WRITER = """
import sys
sys.path.insert(0, {tests!r})
from pipeline_rows import make_messages
from zonal.pipeline import LogWriter
with LogWriter({path!r}) as writer:
    while True:
        segment = writer.append(make_messages(50, first=writer.next_offset()))
        print(segment.last, flush=True)
"""


def test_nothing_that_append_returned_is_lost_by_kill_9(tmp_path: Path) -> None:
    """Killed at many moments, started again: acknowledged offsets are all there, none twice."""
    code = _WRITER.format(tests=str(Path(__file__).parents[1] / "support"), path=str(tmp_path))
    acknowledged = -1
    for round_ in range(6):
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            for _ in range(2 + round_ * 3):
                acknowledged = int(process.stdout.readline())
            time.sleep(0.0007 * round_)  # no condition: the moment of the kill shall differ
            process.send_signal(signal.SIGKILL)
            rest = process.stdout.read().split()
            acknowledged = int(rest[-1]) if rest else acknowledged
        with LogWriter(tmp_path) as writer:
            found = offsets(writer)
        assert found == list(range(len(found)))
        assert len(found) > acknowledged
        assert not list((tmp_path / "segments").glob(".*"))
