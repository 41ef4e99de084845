from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zonal.pipeline import Commit, Lake, Log, LogWriter
from zonal.pipeline.jobs.doubles import BatchNumbers, LakeNumbers
from zonal.pipeline.lake import DataFile
from zonal.pipeline.recorded_numbers import MAX_RANGES, RecordedNumbers
from zonal.pipeline.segment import _numbers_of

Messages = Callable[..., pa.Table]


def sources(log: Path, *tables: pa.Table) -> BatchNumbers:
    with LogWriter(log) as writer:
        for table in tables:
            writer.append(table)
    return BatchNumbers.of_segments(Log(log).segments())


numbered = st.tuples(st.sampled_from(["a", "b", None]), st.one_of(st.none(), st.integers(0, 30)))


@settings(max_examples=100, deadline=None)
@given(st.lists(numbered, max_size=60))
def test_a_footer_holds_the_numbers_of_each_source(
    rows: list[tuple[str | None, int | None]],
) -> None:
    seen = RecordedNumbers()
    for source, number in rows:
        if source is not None and number is not None:
            seen.add(source, number)
    columns = {
        "source": pa.array([source for source, _ in rows], pa.string()),
        "sequence": pa.array([number for _, number in rows], pa.int64()),
    }
    assert _numbers_of(pa.table(columns)) == seen.to_dict()


def test_a_footer_with_very_many_gaps_keeps_the_newest_apart() -> None:
    count = MAX_RANGES + 5
    numbers = pa.array([2 * number for number in range(count)], pa.int64())
    ranges = _numbers_of(pa.table({"source": ["a"] * count, "sequence": numbers}))["a"]
    assert len(ranges) == MAX_RANGES
    assert ranges[:2] == [[0, 10], [12, 12]]
    assert ranges[-1] == [2 * count - 2] * 2


def test_footers_say_that_all_messages_are_different(tmp_path: Path, messages: Messages) -> None:
    found = sources(tmp_path, messages(20), messages(20, first=20), messages(5, source="other"))
    assert found.are_unique
    assert found.to_note() == {"a1:1": [[0, 39]], "other": [[0, 4]]}


@pytest.mark.parametrize(
    "doubtful",
    [{"first": 19}, {"first": 50, "sequence": [None] * 3}, {"first": 50, "source": None}],
    ids=["number twice", "no number", "no source"],
)
def test_a_number_twice_or_none_at_all_leaves_a_doubt(
    tmp_path: Path, messages: Messages, doubtful: dict[str, object]
) -> None:
    assert not sources(tmp_path, messages(20), messages(3, **doubtful)).are_unique


def test_a_lake_knows_what_its_commits_noted(tmp_path: Path, messages: Messages) -> None:
    lake = Lake(tmp_path / "lake", create=True)
    known = LakeNumbers(lake)
    first, second = sources(tmp_path / "a", messages(20)), sources(tmp_path / "b", messages(2))
    assert not known.may_have(second)
    file = DataFile("data/x.parquet", 20, 1)
    lake.commit(Commit(added={"silver": [file]}, sources=first.to_note()))
    assert known.may_have(second)
    assert LakeNumbers(lake).may_have(second)
    assert not known.may_have(sources(tmp_path / "c", messages(2, first=20)))


def test_a_commit_without_a_note_leaves_a_doubt(tmp_path: Path, messages: Messages) -> None:
    lake = Lake(tmp_path / "lake", create=True)
    lake.commit(Commit(added={"quarantine": [DataFile("data/x.parquet", 20, 1)]}))
    assert LakeNumbers(lake).may_have(sources(tmp_path / "log", messages(2)))
