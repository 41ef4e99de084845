from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from hypothesis import given
from hypothesis import strategies as st

from pipeline_rows import START
from property_examples import examples
from zonal.errors import LakeError, LogError
from zonal.pipeline import Log, LogWriter, Retention
from zonal.pipeline.recorded_numbers import RecordedNumbers

Messages = Callable[..., pa.Table]


def offsets(log: Log) -> list[int]:
    return log.to_table()["offset"].to_pylist()


def test_offsets_increase_across_commits_and_restarts(tmp_path: Path, messages: Messages) -> None:
    with LogWriter(tmp_path) as writer:
        assert writer.append(messages(10)) == range(10)
        assert writer.append(messages(5, first=10)) == range(10, 15)
    with LogWriter(tmp_path) as writer:
        assert writer.next_offset() == 15
        writer.append(messages(1, first=15))
    assert offsets(Log(tmp_path)) == list(range(16))


def test_reading_gives_back_what_was_appended(tmp_path: Path, messages: Messages) -> None:
    table = messages(100)
    with LogWriter(tmp_path) as writer:
        writer.append(table)
    assert Log(tmp_path).to_table().drop_columns(["recorder", "offset"]).equals(table)


def test_recorders_share_a_table_each_with_offsets_of_its_own(
    tmp_path: Path, messages: Messages
) -> None:
    with LogWriter(tmp_path, recorder="a") as a, LogWriter(tmp_path, recorder="b") as b:
        for start in range(0, 30, 10):
            a.append(messages(10, first=start))
            b.append(messages(5, first=start, source="other"))
    rows = Log(tmp_path).to_table()
    found = list(zip(rows["recorder"].to_pylist(), rows["offset"].to_pylist(), strict=True))
    assert found == [*(("a", n) for n in range(30)), *(("b", n) for n in range(15))]
    assert (Log(tmp_path).next_offset("a"), Log(tmp_path).next_offset("b")) == (30, 15)


def test_a_second_writer_of_a_name_is_refused(tmp_path: Path) -> None:
    with LogWriter(tmp_path), pytest.raises(LogError, match="has a recorder named 'recorder'"):
        LogWriter(tmp_path)
    LogWriter(tmp_path).close()


def test_a_second_writer_elsewhere_is_refused_when_it_appends(
    tmp_path: Path, messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another machine shares no lock: the transaction identifier keeps the offsets apart."""
    monkeypatch.setattr("zonal.pipeline.log.is_local", lambda _: False)
    with LogWriter(tmp_path) as one, LogWriter(tmp_path) as other:
        one.append(messages(10))
        with pytest.raises(LogError, match="give each its own name"):
            other.append(messages(3))
    assert offsets(Log(tmp_path)) == list(range(10))


def test_a_commit_whose_answer_was_lost_is_not_written_again(
    tmp_path: Path, messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = LogWriter._commit

    def lose_the_answer(self: LogWriter, *arguments: object) -> None:
        real(self, *arguments)  # type: ignore[arg-type]
        raise OSError("connection reset")

    with LogWriter(tmp_path) as writer:
        with monkeypatch.context() as patched:
            patched.setattr(LogWriter, "_commit", lose_the_answer)
            with pytest.raises(OSError, match="connection reset"):
                writer.append(messages(10))
        assert writer.append(messages(10)) == range(10)
        writer.append(messages(5, first=10))
    assert offsets(Log(tmp_path)) == list(range(15))


def test_a_folder_without_a_table_is_no_log(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="is no log"):
        Log(tmp_path / "nothing").to_table()


@pytest.mark.parametrize("name", ["log[1]", "a^b", "a|b", "a\\b"])
def test_a_folder_that_delta_cannot_name_is_refused_before_anything_is_written(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(LakeError, match="choose another name"):
        LogWriter(tmp_path / name)
    assert not [*tmp_path.iterdir()]


def test_a_writer_knows_which_numbers_it_has(tmp_path: Path, messages: Messages) -> None:
    with LogWriter(tmp_path) as writer:
        writer.append(messages(10))
        writer.append(messages(5, first=20, source="b"))
        writer.append(messages(2, first=40, sequence=[None, None]))
    with LogWriter(tmp_path) as writer:
        assert writer.numbers.to_dict() == {"a1:1": [[0, 9]], "b": [[20, 24]]}


numbered = st.tuples(st.sampled_from(["a", "b", None]), st.one_of(st.none(), st.integers(0, 30)))


@examples(100)
@given(st.lists(numbered, max_size=60))
def test_numbers_of_columns_are_those_of_the_rows(
    rows: list[tuple[str | None, int | None]],
) -> None:
    one_by_one, at_once = RecordedNumbers(), RecordedNumbers()
    for source, number in rows:
        if source is not None and number is not None:
            one_by_one.add(source, number)
    sources = pa.array([source for source, _ in rows], pa.string())
    at_once.merge_columns(sources, pa.array([number for _, number in rows], pa.int64()))
    assert at_once.to_dict() == one_by_one.to_dict()


def test_retention_by_age_deletes_old_messages_and_keeps_offsets_and_numbers_going(
    tmp_path: Path, messages: Messages
) -> None:
    with LogWriter(tmp_path, retention=Retention(max_age_s=3600, vacuum_hours=0)) as writer:
        writer.append(messages(10))
        writer.append(messages(10, first=10, start=START + timedelta(hours=2)))
        now = START + timedelta(hours=2)
        assert writer.retire(now_s=now.timestamp()) == 10
        assert writer.retire(now_s=now.timestamp()) == 0
        assert writer.append(messages(1, first=20)) == range(20, 21)
    assert offsets(Log(tmp_path)) == list(range(10, 21))
    assert len(list(tmp_path.glob("date=*/*.parquet"))) == 2  # vacuum deleted the file


def test_retention_by_size_keeps_the_newest_file(tmp_path: Path, messages: Messages) -> None:
    with LogWriter(tmp_path, retention=Retention(max_bytes=1)) as writer:
        for start in range(0, 30, 10):
            writer.append(messages(10, first=start))
        assert writer.retire() == 20
    assert offsets(Log(tmp_path)) == list(range(20, 30))


def test_small_files_are_merged_without_a_change_of_rows(
    tmp_path: Path, messages: Messages
) -> None:
    with LogWriter(tmp_path) as writer:
        for start in range(0, 200, 10):
            writer.append(messages(10, first=start))
        writer.compact()
        assert writer.append(messages(1, first=200)) == range(200, 201)
    assert len(DeltaTable(tmp_path).file_uris()) == 2
    assert offsets(Log(tmp_path)) == list(range(201))


def test_days_are_partitions_and_statistics_prune(tmp_path: Path, messages: Messages) -> None:
    with LogWriter(tmp_path) as writer:
        writer.append(pa.concat_tables([messages(5), messages(5, start=START + timedelta(days=1))]))
    files = pa.table(DeltaTable(tmp_path).get_add_actions(flatten=True)).to_pylist()
    assert len(files) == 2
    for one in files:
        assert one["min.timestamp"] <= one["max.timestamp"]
        assert one["min.cell"] <= one["max.cell"]


def test_duckdb_and_polars_read_the_log(tmp_path: Path, messages: Messages) -> None:
    with LogWriter(tmp_path) as writer:
        writer.append(messages(10))
        writer.append(messages(5, first=10))
    rows = duckdb.from_arrow(DeltaTable(tmp_path).to_pyarrow_dataset())
    assert rows.aggregate('count(*), max("offset")').fetchall() == [(15, 14)]
    frame = pl.read_delta(str(tmp_path))
    assert (frame.height, frame["offset"].max()) == (15, 14)
    assert frame["timestamp"][0] <= datetime.now(UTC) + timedelta(days=365)


_APPEND = """
import sys
sys.path.insert(0, sys.argv[2])
from pipeline_rows import make_messages
from zonal.pipeline import LogWriter
with LogWriter(sys.argv[1]) as writer:
    first = writer.next_offset()
    print("ready", flush=True)
    while True:
        print(writer.append(make_messages(200, first=first)).stop, flush=True)
        first += 200
"""


def test_kill_9_leaves_whole_commits_and_the_next_writer_goes_on(tmp_path: Path) -> None:
    support = str(Path(__file__).parents[1] / "support")
    reported = 0
    for _ in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", _APPEND, str(tmp_path), support],
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            deadline = time.monotonic() + 0.5
            while time.monotonic() < deadline:
                reported = int(process.stdout.readline())
            process.send_signal(signal.SIGKILL)
            for line in process.stdout:
                reported = int(line)
    rows = Log(tmp_path).to_table()
    assert rows["offset"].to_pylist() == list(range(rows.num_rows))
    assert rows["sequence"].to_pylist() == list(range(rows.num_rows))
    assert rows.num_rows >= reported
