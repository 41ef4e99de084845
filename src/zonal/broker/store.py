"""Sessions, retained messages and queued messages in SQLite, so that they outlive the process.

What is promised: everything a client was told (an acknowledgement, a CONNACK) was committed to the
write-ahead log before the bytes were handed to its socket. With `synchronous="normal"` that holds
when the process is killed; with `"full"` each commit also waits for the disk, and it holds when the
power fails. Changes of one turn of the event loop share a commit.
"""

from __future__ import annotations

import sqlite3
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal

from zonal.broker.sql_journal import KEYS, SqlJournal
from zonal.errors import BrokerError, StoreInUseError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FORMAT = 2

SCHEMA = """
CREATE TABLE session (
    client_id TEXT PRIMARY KEY, user_name TEXT, expiry INTEGER, expires_at REAL,
    connected INTEGER, latitude REAL, longitude REAL, will BLOB, will_at REAL
) WITHOUT ROWID;
CREATE TABLE subscription (
    client_id TEXT, pattern TEXT, qos INTEGER, no_local INTEGER, retain_as_published INTEGER,
    identifier INTEGER, area TEXT, PRIMARY KEY (client_id, pattern)
) WITHOUT ROWID;
CREATE TABLE retained (
    topic TEXT PRIMARY KEY, packet BLOB, expires_at REAL, source TEXT, retained_at REAL, places TEXT
);
CREATE TABLE message (
    key INTEGER PRIMARY KEY, packet BLOB, expires_at REAL, source TEXT, places TEXT
);
CREATE TABLE outgoing (
    client_id TEXT, number INTEGER, message INTEGER, qos INTEGER, retain INTEGER,
    identifiers TEXT, share TEXT, packet_id INTEGER, state INTEGER,
    PRIMARY KEY (client_id, number)
) WITHOUT ROWID;
CREATE TABLE incoming (
    client_id TEXT, packet_id INTEGER, code INTEGER, PRIMARY KEY (client_id, packet_id)
) WITHOUT ROWID;
CREATE TABLE aside (kind TEXT, contents TEXT, reason TEXT);
"""
UPGRADE = """
ALTER TABLE retained ADD COLUMN places TEXT;
ALTER TABLE message ADD COLUMN places TEXT;
CREATE TABLE aside (kind TEXT, contents TEXT, reason TEXT);
"""
"""From format 1, which had the places of messages in their user properties alone."""


class StoredJournal(SqlJournal):
    """A journal on one SQLite file; one process at a time may have it open."""

    def __init__(
        self, directory: Path, *, synchronous: Literal["normal", "full"] = "normal"
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.path = directory / "broker.sqlite"
        super().__init__()
        self._database = sqlite3.connect(self.path, isolation_level=None, timeout=0.2)
        try:
            self._open(synchronous)
        except sqlite3.OperationalError as error:
            self._database.close()
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                raise StoreInUseError(f"{self.path} is in use by another broker") from error
            raise BrokerError(f"{self.path} cannot be used: {error}") from error
        except sqlite3.DatabaseError as error:
            self._database.close()
            raise BrokerError(f"{self.path} is no broker's store: {error}") from error

    def _open(self, synchronous: str) -> None:
        run = self._database.execute
        run("PRAGMA locking_mode = EXCLUSIVE")
        run("PRAGMA journal_mode = WAL")
        run(f"PRAGMA synchronous = {synchronous}")
        run("BEGIN EXCLUSIVE")
        (known,) = run("PRAGMA user_version").fetchone()
        if known == 0:
            self._make(SCHEMA)
        elif known == 1:
            self._make(UPGRADE)
        run("COMMIT")
        if known > FORMAT:
            raise BrokerError(f"{self.path} has format {known}; this broker reads {FORMAT}")

    def _make(self, statements: str) -> None:
        for statement in statements.split(";"):
            self._database.execute(statement)
        self._database.execute(f"PRAGMA user_version = {FORMAT}")

    def close(self) -> None:
        """Commits and closes."""
        try:
            self.commit()
        except sqlite3.Error as error:
            raise BrokerError(f"{self.path} cannot be written: {error}") from error
        finally:
            self._database.close()

    def rows(self, table: str, clients: Sequence[str] | None = None) -> list[Any]:
        """What is stored, in the order of the table's key; one broker has all of it."""
        assert clients is None
        order = ", ".join(KEYS[table])
        query = f"SELECT * FROM {table} ORDER BY {order}"  # noqa: S608 - names of our own
        return self._database.execute(query).fetchall()

    def commit(self) -> None:
        """Writes all changes in one transaction."""
        if not self._changes:
            return
        changes, self._changes = self._changes, []
        database = self._database
        database.execute("BEGIN IMMEDIATE")
        try:
            for statement, group in groupby(changes, key=itemgetter(0)):
                database.executemany(statement, [row for _, row in group])
        except sqlite3.Error:
            database.execute("ROLLBACK")
            raise
        database.execute("COMMIT")

    def size(self) -> int:
        """Bytes of the database that are in use."""
        pages, free, page = (
            self._database.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * page)
