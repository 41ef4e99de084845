"""Things in an SQLite database: one file and its write-ahead log, nothing to set up."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import threading
from typing import TYPE_CHECKING

from zonal.errors import StoreError
from zonal.store.table import COLUMNS, questions, upsert
from zonal.store.thing import StoredThing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from zonal.store.table import Name
    from zonal.store.thing_filter import ThingFilter

FILE = "newest.sqlite"
VERSION = 1
_CACHE_KB = 64 * 1024
_CHECKPOINT_PAGES = 4000
_AT_A_TIME = 256
_BUSY_S = 5.0

_SCHEMA = """
CREATE TABLE IF NOT EXISTS things (
    key TEXT NOT NULL, part TEXT NOT NULL, latitude REAL, longitude REAL, cell INTEGER,
    ntp64 INTEGER NOT NULL, clock TEXT NOT NULL, deleted INTEGER NOT NULL, payload BLOB NOT NULL,
    content_encoding TEXT NOT NULL, location_encoding TEXT NOT NULL, geofence BLOB,
    attachment BLOB, source TEXT, sequence INTEGER, PRIMARY KEY (key, part)
);
CREATE INDEX IF NOT EXISTS things_by_cell ON things (cell);
"""


class SqliteTable:
    """A table in a folder.

    What was written survives the process (`kill -9`). A machine that loses its power may lose the
    last seconds, never the table.
    """

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._path = folder / FILE
            self._writer = self._connect()
            self._writer.execute("PRAGMA journal_mode = WAL")
            self._writer.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
            self._set_up()
            self._reader = self._connect()
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"cannot keep things in {folder}: {error}") from error
        self._writing = threading.Lock()
        self._reading = threading.Lock()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, isolation_level=None, check_same_thread=False, timeout=_BUSY_S
        )
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KB}")
        return connection

    def _set_up(self) -> None:
        (version,) = self._writer.execute("PRAGMA user_version").fetchone()
        if version not in {0, VERSION}:
            raise StoreError(f"{self._path} has version {version}, known is {VERSION}")
        self._writer.executescript(_SCHEMA)
        self._writer.execute(f"PRAGMA user_version = {VERSION}")

    def write(self, things: Sequence[StoredThing]) -> None:
        """Keep these where they are newer than what is kept; durable when it returns."""
        with self._writing, _errors():
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                self._writer.executemany(upsert("?"), things)
                self._writer.execute("COMMIT")
            except (sqlite3.Error, OverflowError):
                self._writer.execute("ROLLBACK")
                raise

    def find(self, wanted: ThingFilter) -> Iterator[StoredThing]:
        """The wanted things, in no order."""
        for statement, values in questions(wanted, "?"):
            with self._reading, _errors():
                rows = self._reader.execute(statement, values).fetchall()
            yield from wanted.sift([_thing(row) for row in rows])

    def named(self, names: Iterable[Name]) -> dict[Name, StoredThing]:
        """Those of these that are kept, deleted ones too."""
        found: dict[Name, StoredThing] = {}
        start = f"SELECT {', '.join(COLUMNS)} FROM things WHERE (key, part) IN (VALUES "  # noqa: S608
        left = iter(names)
        while some := list(itertools.islice(left, _AT_A_TIME)):
            statement = f"{start}{', '.join('(?, ?)' for _ in some)})"
            with self._reading, _errors():
                rows = self._reader.execute(statement, [*itertools.chain(*some)]).fetchall()
            found |= {(row[0], row[1]): _thing(row) for row in rows}
        return found

    def newest(self) -> int:
        """The latest time (NTP64) of any; 0 where there are none."""
        return self._number("SELECT coalesce(max(ntp64), 0) FROM things")

    def forget(self, before: int, *, deleted: bool) -> int:
        """Let go of things with an earlier time: of all, or only `deleted` ones; how many."""
        only = " AND deleted" if deleted else ""
        with self._writing, _errors():
            statement = f"DELETE FROM things WHERE ntp64 < ?{only}"  # noqa: S608
            return self._writer.execute(statement, (before,)).rowcount

    def __len__(self) -> int:
        return self._number("SELECT count(*) FROM things WHERE NOT deleted")

    def _number(self, statement: str) -> int:
        with self._reading, _errors():
            (number,) = self._reader.execute(statement).fetchone()
        return int(number)

    def close(self) -> None:
        """Let go of the file."""
        with self._writing, self._reading:
            self._reader.close()
            self._writer.close()


def _thing(row: tuple[object, ...]) -> StoredThing:
    thing = StoredThing(*row)  # type: ignore[arg-type]
    return thing._replace(deleted=True) if thing.deleted else thing


@contextlib.contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OverflowError) as error:
        raise StoreError(f"the store's database: {error}") from error
