from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from zonal.errors import LakeError
from zonal.pipeline.lake import Commit, DataFile, Lake, ViewState, overlapping


def file(name: str, low: int | None = None, high: int | None = None) -> DataFile:
    return DataFile(f"data/{name}.parquet", 1, 1, low, high)


def names(lake: Lake, table: str = "t") -> list[str]:
    return sorted(Path(one.path).stem for one in lake.snapshot().files(table))


def test_a_folder_without_commits_is_no_lake(tmp_path: Path) -> None:
    with pytest.raises(LakeError, match="no lake"):
        Lake(tmp_path)


def test_a_commit_changes_several_tables_at_once(tmp_path: Path) -> None:
    lake = Lake(tmp_path, create=True)
    lake.commit(Commit(added={"t": [file("a")], "u": [file("b")]}, offset=("log", 7)))
    after = Lake(tmp_path).snapshot()
    assert (len(after.files("t")), len(after.files("u")), after.offsets["log"]) == (1, 1, 7)


def test_a_snapshot_is_the_same_from_a_checkpoint_and_from_every_commit(tmp_path: Path) -> None:
    lake = Lake(tmp_path, create=True)
    for number in range(70):
        lake.commit(Commit(added={"t": [file(f"f{number}")]}, views={"q": ViewState("{}", number)}))
    assert list(tmp_path.glob("_commits/checkpoint-*"))
    fresh = Lake(tmp_path).snapshot()
    assert fresh == lake.snapshot()
    assert len(fresh.files("t")) == 70
    assert fresh.views["q"] == ViewState("{}", 69)


def test_writers_at_the_same_time_all_get_their_commit(tmp_path: Path) -> None:
    Lake(tmp_path, create=True)

    def write(writer: int) -> None:
        lake = Lake(tmp_path)
        for number in range(10):
            lake.commit(Commit(added={"t": [file(f"{writer}-{number}")]}))

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(names(Lake(tmp_path))) == 40
    assert Lake(tmp_path).snapshot().version == 39


def test_removing_what_another_job_removed_is_refused(tmp_path: Path) -> None:
    lake = Lake(tmp_path, create=True)
    lake.commit(Commit(added={"t": [file("a")]}))
    lake.commit(Commit(added={"t": [file("b")]}, removed={"t": [file("a")]}))
    with pytest.raises(LakeError, match="another job changed it"):
        lake.commit(Commit(added={"t": [file("c")]}, removed={"t": [file("a")]}))
    assert names(lake) == ["b"]


def test_files_added_by_a_rewrite_are_no_news(tmp_path: Path) -> None:
    lake = Lake(tmp_path, create=True)
    lake.commit(Commit(added={"t": [file("a")]}))
    lake.commit(Commit(added={"t": [file("b")]}, removed={"t": [file("a")]}))
    lake.commit(Commit(added={"t": [file("c")]}))
    assert [one.path for one in lake.added_since(0, "t")] == ["data/c.parquet"]


def test_vacuum_deletes_only_what_no_table_has(tmp_path: Path) -> None:
    lake = Lake(tmp_path, create=True)
    folder = lake.new_folder()
    folder.mkdir(parents=True)
    for name in ("a", "b"):
        pq.write_table(pa.table({"x": [1]}), folder / f"{name}.parquet")
    kept, dropped = lake.data_files(folder)
    lake.commit(Commit(added={"t": [kept]}))
    assert lake.vacuum(older_than_s=3600) == []
    assert lake.vacuum(older_than_s=-1) == [tmp_path / dropped.path]
    assert (tmp_path / kept.path).exists()


def test_files_are_chosen_by_time() -> None:
    files = [file("a", 0, 10), file("b", 11, 20), file("unknown")]
    assert [one.path for one in overlapping(files, 10, 10)] == [
        "data/a.parquet",
        "data/unknown.parquet",
    ]
    assert len(overlapping(files, None, None)) == 3
