"""Sessions, retained messages and queued messages in SQLite, so that they outlive the process.

What is promised: everything a client was told (an acknowledgement, a CONNACK) was committed to the
write-ahead log before the bytes were handed to its socket. With `synchronous="normal"` that holds
when the process is killed; with `"full"` each commit also waits for the disk, and it holds when the
power fails. Changes of one turn of the event loop share a commit.
"""

from __future__ import annotations

import json
import sqlite3
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal

import mqtt5

from zonal.broker.journal import Journal
from zonal.errors import BrokerError, StoreInUseError

if TYPE_CHECKING:
    from pathlib import Path

    from zonal.broker.message import Message
    from zonal.broker.outgoing import Outgoing
    from zonal.broker.session import ClientSession, ClientSubscription

FORMAT = 2
Row = tuple[object, ...]

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
KEYS = {
    "session": ("client_id",),
    "subscription": ("client_id", "pattern"),
    "retained": ("topic",),
    "message": ("key",),
    "outgoing": ("client_id", "number"),
    "incoming": ("client_id", "packet_id"),
}
"""The columns that name a row of each table; they are its first ones."""

PUT_SESSION = "INSERT OR REPLACE INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
PUT_SUBSCRIPTION = "INSERT OR REPLACE INTO subscription VALUES (?, ?, ?, ?, ?, ?, ?)"
PUT_RETAINED = "INSERT OR REPLACE INTO retained VALUES (?, ?, ?, ?, ?, ?)"
PUT_MESSAGE = "INSERT INTO message VALUES (?, ?, ?, ?, ?)"
PUT_OUTGOING = "INSERT INTO outgoing VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
PUT_INCOMING = "INSERT OR REPLACE INTO incoming VALUES (?, ?, ?)"
MARK = "UPDATE outgoing SET packet_id = ?, state = ? WHERE client_id = ? AND number = ?"
FORGET = "DELETE FROM outgoing WHERE client_id = ? AND number = ?"
FORGET_MESSAGE = "DELETE FROM message WHERE key = ?"
UNSUBSCRIBE = "DELETE FROM subscription WHERE client_id = ? AND pattern = ?"
CLEAR = "DELETE FROM retained WHERE topic = ?"
RELEASE = "DELETE FROM incoming WHERE client_id = ? AND packet_id = ?"
END = tuple(
    f"DELETE FROM {table} WHERE client_id = ?"  # noqa: S608 - the names stand in the next line
    for table in ("session", "subscription", "outgoing", "incoming")
)


class StoredJournal(Journal):
    """A journal on one SQLite file; one process at a time may have it open."""

    def __init__(
        self, directory: Path, *, synchronous: Literal["normal", "full"] = "normal"
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.path = directory / "broker.sqlite"
        self._changes: list[tuple[str, Row]] = []
        self._next_message = 1
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

    def rows(self, table: str) -> list[Any]:
        """What is stored, for recovery: each row a tuple, in the order of the table's key."""
        order = ", ".join(KEYS[table])
        query = f"SELECT * FROM {table} ORDER BY {order}"  # noqa: S608 - names of our own
        return self._database.execute(query).fetchall()

    def set_aside(self, table: str, row: Row, reason: str) -> None:
        """Moves a row that cannot be understood to where nothing reads it but a person."""
        contents = json.dumps(row, default=lambda value: bytes(value).hex())
        self._change("INSERT INTO aside VALUES (?, ?, ?)", table, contents, reason)
        keys = KEYS[table]
        chosen = " AND ".join(f"{key} IS ?" for key in keys)
        self._change(f"DELETE FROM {table} WHERE {chosen}", *row[: len(keys)])  # noqa: S608

    def resume_at(self, next_message: int) -> None:
        """Sets the number of the next message, after recovery."""
        self._next_message = next_message

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

    def _change(self, statement: str, *row: object) -> None:
        self._changes.append((statement, row))

    def _change_of(self, session: ClientSession, statement: str, *row: object) -> None:
        """A change of what belongs to a session, whose client identifier begins the row."""
        if session.durable:
            self._changes.append((statement, (session.client_id, *row)))

    # The journal.

    def session(self, session: ClientSession) -> None:
        """Keeps a session's own facts."""
        if not session.durable:
            return
        location = session.location
        will = session.will
        self._change(
            PUT_SESSION,
            session.client_id,
            session.user_name,
            session.expiry,
            session.expires_at,
            session.connection is not None,
            None if location is None else location.lat,
            None if location is None else location.lon,
            # A will is kept as it came: inside a CONNECT.
            None if will is None else mqtt5.ConnectPacket("", will=will.packet).write(),
            session.will_at,
        )

    def end(self, session: ClientSession) -> None:
        """Forgets a session."""
        for statement in END:
            self._change_of(session, statement)

    def subscribe(self, subscription: ClientSubscription) -> None:
        """Keeps a subscription."""
        session, area = subscription.session, subscription.area
        if not session.durable:
            return
        self._change(
            PUT_SUBSCRIPTION,
            session.client_id,
            subscription.pattern,
            subscription.qos,
            subscription.no_local,
            subscription.retain_as_published,
            subscription.identifier,
            None if area is None else json.dumps((subscription.watch or area).to_dict()),
        )

    def unsubscribe(self, session: ClientSession, pattern: str) -> None:
        """Forgets a subscription."""
        self._change_of(session, UNSUBSCRIBE, pattern)

    def retain(self, message: Message) -> None:
        """Keeps a retained message."""
        self._change(
            PUT_RETAINED,
            message.topic,
            packet_of(message),
            message.expires_at,
            message.source,
            message.retained_at,
            places_of(message),
        )

    def clear(self, topic: str) -> None:
        """Forgets a retained message."""
        self._change(CLEAR, topic)

    def keep(self, client_id: str, entry: Outgoing) -> None:
        """Keeps a message for a session; the message itself once for all sessions."""
        message = entry.message
        if message.references == 0:
            message.key = self._next_message
            self._next_message += 1
            self._change(
                PUT_MESSAGE, message.key, packet_of(message), message.expires_at, message.source,
                places_of(message),
            )  # fmt: skip
        message.references += 1
        self._change(
            PUT_OUTGOING,
            client_id,
            entry.number,
            message.key,
            entry.qos,
            entry.retain,
            ",".join(map(str, entry.identifiers)),
            entry.share,
            entry.packet_id,
            entry.state,
        )

    def mark(self, client_id: str, entry: Outgoing) -> None:
        """Keeps how far a message has come."""
        self._change(MARK, entry.packet_id, entry.state, client_id, entry.number)

    def forget(self, client_id: str, entry: Outgoing) -> None:
        """Forgets a message for a session, and the message with its last session."""
        self._change(FORGET, client_id, entry.number)
        message = entry.message
        message.references -= 1
        if message.references == 0:
            self.forget_message(message)

    def forget_message(self, message: Message) -> None:
        """Forgets a message that no session waits for."""
        self._change(FORGET_MESSAGE, message.key)

    def received(self, session: ClientSession, packet_id: int, code: int) -> None:
        """Keeps the identifier of a QoS 2 message that was acted upon."""
        self._change_of(session, PUT_INCOMING, packet_id, code)

    def released(self, session: ClientSession, packet_id: int) -> None:
        """Forgets it."""
        self._change_of(session, RELEASE, packet_id)


def packet_of(message: Message) -> bytes:
    """A message as the PUBLISH it is; when it expires is kept beside it, as a time."""
    now = message.expires_at or 0.0
    return message.packet(now, message.qos, retain=message.retain).write()


def places_of(message: Message) -> str | None:
    """Where a message comes from and whom it is for, whatever its user properties say of it."""
    location, geofence = message.location, message.geofence
    if location is None and geofence is None and not message.user_properties:
        return None
    return json.dumps(
        {
            "location": None if location is None else [location.lat, location.lon],
            "geofence": None if geofence is None else geofence.to_dict(),
        }
    )
