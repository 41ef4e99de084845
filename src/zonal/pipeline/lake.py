"""The lake: Parquet files, and a log of commits that says which of them a table consists of.

A commit changes several tables at once, atomically. Readers take a snapshot and never see half a
batch; files that a commit removes stay on disk until `vacuum`, so no reader is stopped. A commit
says up to which offset of a log its rows reach, so that a batch that runs again is not doubled.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from zonal.errors import LakeError
from zonal.pipeline.segment import sync_folder
from zonal.pipeline.selection import statistics_of
from zonal.pipeline.times import micros

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from zonal.pipeline.selection import GroupStatistics

_CHECKPOINT_EVERY = 32


@dataclass(frozen=True)
class DataFile:
    """One Parquet file of a table, with what is needed to decide whether to open it."""

    path: str
    rows: int
    size: int
    # Event times in microseconds since 1970, and places in degrees; None where there is none.
    min_time: int | None = None
    max_time: int | None = None
    min_lat: float | None = None
    max_lat: float | None = None
    min_lon: float | None = None
    max_lon: float | None = None


@dataclass(frozen=True)
class ViewState:
    """How far a table that is computed from `silver` has come."""

    plan: str
    """What it was computed by, as JSON."""
    version: int
    """The version of the lake whose silver is in it."""


@dataclass(frozen=True)
class Snapshot:
    """The lake at one version."""

    version: int = -1
    tables: Mapping[str, tuple[DataFile, ...]] = field(default_factory=dict)
    schemas: Mapping[str, str] = field(default_factory=dict)
    views: Mapping[str, ViewState] = field(default_factory=dict)
    offsets: Mapping[str, int] = field(default_factory=dict)
    """The offset of each log up to which (exclusive) its messages are in here."""

    def files(self, table: str) -> tuple[DataFile, ...]:
        """The files of a table; none where it does not exist yet."""
        return self.tables.get(table, ())


@dataclass(frozen=True)
class Commit:
    """A change of the lake."""

    added: Mapping[str, Iterable[DataFile]] = field(default_factory=dict)
    removed: Mapping[str, Iterable[DataFile]] = field(default_factory=dict)
    schemas: Mapping[str, str] = field(default_factory=dict)
    views: Mapping[str, ViewState] = field(default_factory=dict)
    offset: tuple[str, int] | None = None
    sources: Mapping[str, list[list[int]]] | None = None
    """The sequence numbers (ranges) per source of the messages that it adds; None: not known."""
    info: Mapping[str, Any] = field(default_factory=dict)


class Lake:
    """A folder with tables in it."""

    def __init__(self, path: str | Path, *, create: bool = False) -> None:
        self.path = Path(path).absolute()
        self._commits = self.path / "_commits"
        if create:
            self._commits.mkdir(parents=True, exist_ok=True)
        if not self._commits.is_dir():
            raise LakeError(f"{self.path} is no lake: it has no folder _commits/")
        self._known = Snapshot()

    def snapshot(self) -> Snapshot:
        """The lake as it is now; only commits that are new since the last call are read."""
        versions = sorted(int(path.stem) for path in self._commits.glob("[0-9]*.json"))
        newest = versions[-1] if versions else -1
        state = self._known
        for checkpoint in range(newest - newest % _CHECKPOINT_EVERY, state.version, -1):
            path = self._commits / f"checkpoint-{checkpoint:020d}.json"
            if checkpoint % _CHECKPOINT_EVERY == 0 and path.exists():
                state = _snapshot_from_json(json.loads(path.read_text()))
                break
        for version in range(state.version + 1, newest + 1):
            content = json.loads(self._commit_path(version).read_text())
            state = _applied(state, version, content)
        self._known = state
        return state

    def commit(self, change: Commit) -> Snapshot:
        """Make a change the next version; raise LakeError where it no longer fits."""
        while True:
            before = self.snapshot()
            _check_removals(before, change)
            version = before.version + 1
            if self._publish(self._commit_path(version), _commit_to_json(change)):
                after = self.snapshot()
                if version % _CHECKPOINT_EVERY == 0:
                    path = self._commits / f"checkpoint-{version:020d}.json"
                    self._publish(path, _snapshot_to_json(after))
                return after

    def new_folder(self) -> Path:
        """A folder for the files of a commit to come."""
        return self.path / "data" / f"{int(time.time() * 1000):013d}-{uuid.uuid4().hex[:8]}"

    def data_files(self, folder: Path) -> list[DataFile]:
        """What a writer left in a folder, synced and with statistics from the footers."""
        found = []
        for path in sorted(folder.rglob("*.parquet")):
            with path.open("rb") as file:
                os.fsync(file.fileno())
            found.append(_data_file(path, self.path))
        return [one for one in found if one.rows]

    def absolute(self, files: Iterable[DataFile]) -> list[str]:
        """Where files lie, for a reader."""
        return [str(self.path / one.path) for one in files]

    def added_since(self, version: int, table: str) -> tuple[DataFile, ...]:
        """The files that later commits brought with new rows: compaction brings none."""
        return tuple(
            DataFile(**one)
            for content in self._since(version)
            if not content["removed"].get(table)
            for one in content["added"].get(table, [])
        )

    def sources_since(self, version: int) -> Iterator[Mapping[str, list[list[int]]] | None]:
        """What later commits noted of the messages that they brought."""
        for content in self._since(version):
            brings = content["added"].get("silver") or content["added"].get("quarantine")
            if brings and not any(content["removed"].values()):
                yield content.get("sources")

    def history(self) -> list[dict[str, Any]]:
        """Every commit's own notes, oldest first."""
        return [content["info"] for content in self._since(-1)]

    def vacuum(self, *, older_than_s: float = 24 * 3600.0) -> list[Path]:
        """Delete files that no version refers to any more and that are old enough."""
        alive = {one.path for files in self.snapshot().tables.values() for one in files}
        limit = time.time() - older_than_s
        dead = [
            path
            for path in (self.path / "data").rglob("*.parquet")
            if str(path.relative_to(self.path)) not in alive and path.stat().st_mtime < limit
        ]
        for path in dead:
            path.unlink()
        return dead

    def _since(self, version: int) -> Iterator[dict[str, Any]]:
        """The commits after a version, oldest first."""
        for later in range(version + 1, self.snapshot().version + 1):
            yield json.loads(self._commit_path(later).read_text())

    def _commit_path(self, version: int) -> Path:
        return self._commits / f"{version:020d}.json"

    def _publish(self, path: Path, content: Mapping[str, Any]) -> bool:
        """Write a file that must not exist yet, whole or not at all; False where it does."""
        partial = self._commits / f".{uuid.uuid4().hex}.partial"
        try:
            with partial.open("w") as file:
                json.dump(content, file)
                file.flush()
                os.fsync(file.fileno())
            path.hardlink_to(partial)
        except FileExistsError:
            return False
        finally:
            partial.unlink(missing_ok=True)
        sync_folder(self._commits)
        return True


def _data_file(path: Path, root: Path) -> DataFile:
    try:
        metadata = pq.read_metadata(path)
    except (OSError, pa.ArrowException) as error:
        raise LakeError(f"{path} cannot be read: {error}") from error
    groups = statistics_of(metadata)
    first, last = _range(groups, "time")
    return DataFile(
        str(path.relative_to(root)),
        metadata.num_rows,
        path.stat().st_size,
        first and micros(first),
        last and micros(last),
        *_range(groups, "latitude"),
        *_range(groups, "longitude"),
    )


def _range(groups: list[GroupStatistics], column: str) -> tuple[Any, Any]:
    ranges = [known for known in (group.range_of(column) for group in groups) if known]
    if not ranges:
        return None, None
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _check_removals(before: Snapshot, change: Commit) -> None:
    for table, files in change.removed.items():
        present = {one.path for one in before.files(table)}
        for one in files:
            if one.path not in present:
                raise LakeError(f"{one.path} is no longer in table {table}: another job changed it")


def _applied(state: Snapshot, version: int, content: Mapping[str, Any]) -> Snapshot:
    tables = dict(state.tables)
    for table in {*content["added"], *content["removed"]}:
        gone = set(content["removed"].get(table, []))
        new = tuple(DataFile(**one) for one in content["added"].get(table, []))
        tables[table] = tuple(one for one in tables.get(table, ()) if one.path not in gone) + new
    return Snapshot(
        version,
        tables,
        {**state.schemas, **content["schemas"]},
        {**state.views, **_views_from_json(content)},
        {**state.offsets, **content["offsets"]},
    )


def _commit_to_json(change: Commit) -> dict[str, Any]:
    return {
        "added": {table: [asdict(one) for one in files] for table, files in change.added.items()},
        "removed": {table: [one.path for one in files] for table, files in change.removed.items()},
        "schemas": dict(change.schemas),
        "views": {view: asdict(each) for view, each in change.views.items()},
        "offsets": dict([change.offset] if change.offset else []),
        "sources": change.sources,
        "info": {"at": datetime.now(UTC).isoformat(), **change.info},
    }


def _snapshot_to_json(state: Snapshot) -> dict[str, Any]:
    tables = {table: [asdict(one) for one in files] for table, files in state.tables.items()}
    views = {view: asdict(each) for view, each in state.views.items()}
    plain = {"version": state.version, "schemas": dict(state.schemas)}
    return {**plain, "tables": tables, "views": views, "offsets": state.offsets}


def _snapshot_from_json(content: Mapping[str, Any]) -> Snapshot:
    tables = {
        table: tuple(DataFile(**one) for one in files) for table, files in content["tables"].items()
    }
    views = _views_from_json(content)
    return Snapshot(content["version"], tables, content["schemas"], views, content["offsets"])


def _views_from_json(content: Mapping[str, Any]) -> dict[str, ViewState]:
    # A lake of an earlier version noted views elsewhere: it computes them anew.
    return {view: ViewState(**each) for view, each in content.get("views", {}).items()}


def overlapping(
    files: Iterable[DataFile], low: int | None, high: int | None
) -> tuple[DataFile, ...]:
    """The files that may hold a row with low <= event time <= high (microseconds)."""
    return tuple(
        one
        for one in files
        if one.min_time is None
        or one.max_time is None
        or ((low is None or one.max_time >= low) and (high is None or one.min_time <= high))
    )
