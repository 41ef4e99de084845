"""Sessions, retained and queued messages in PostgreSQL, for several brokers that share them.

What is promised is what `store` promises, by PostgreSQL's own commits. Each session has at most one
holder: the broker that serves it and queues its messages. A broker is alive as long as its database
connection holds its lock; every change goes through that connection, so that a broker that was
given up for dead can commit nothing any more.
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from zonal.broker.sql_journal import KEYS, SqlJournal, packet_of, places_of
from zonal.errors import BrokerError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zonal.broker.message import Message
    from zonal.broker.session import ClientSession

LOCKS = 0x7A6F6E61
"""The class of advisory locks that brokers take, each under its number."""
MESSAGES_EACH = 40
"""Bits of a message's number below its broker's."""
LONGEST_NOTE = 7_000

SCHEMA = """
CREATE SCHEMA IF NOT EXISTS zonal_broker;
SET search_path TO zonal_broker;
CREATE SEQUENCE IF NOT EXISTS broker_number;
CREATE TABLE IF NOT EXISTS session (
    client_id TEXT PRIMARY KEY, user_name TEXT, expiry BIGINT, expires_at DOUBLE PRECISION,
    connected BIGINT, latitude DOUBLE PRECISION, longitude DOUBLE PRECISION, will BYTEA,
    will_at DOUBLE PRECISION
);
CREATE TABLE IF NOT EXISTS subscription (
    client_id TEXT, pattern TEXT, qos BIGINT, no_local BIGINT, retain_as_published BIGINT,
    identifier BIGINT, area TEXT, PRIMARY KEY (client_id, pattern)
);
CREATE TABLE IF NOT EXISTS retained (
    topic TEXT PRIMARY KEY, packet BYTEA, expires_at DOUBLE PRECISION, source TEXT,
    retained_at DOUBLE PRECISION, places TEXT
);
CREATE TABLE IF NOT EXISTS message (
    key BIGINT PRIMARY KEY, packet BYTEA, expires_at DOUBLE PRECISION, source TEXT, places TEXT
);
CREATE TABLE IF NOT EXISTS outgoing (
    client_id TEXT, number BIGINT, message BIGINT, qos BIGINT, retain BIGINT, identifiers TEXT,
    share TEXT, packet_id BIGINT, state BIGINT, PRIMARY KEY (client_id, number)
);
CREATE INDEX IF NOT EXISTS outgoing_message ON outgoing (message);
CREATE TABLE IF NOT EXISTS incoming (
    client_id TEXT, packet_id BIGINT, code BIGINT, PRIMARY KEY (client_id, packet_id)
);
CREATE TABLE IF NOT EXISTS aside (kind TEXT, contents TEXT, reason TEXT);
CREATE TABLE IF NOT EXISTS holder (client_id TEXT PRIMARY KEY, broker BIGINT NOT NULL);
CREATE TABLE IF NOT EXISTS wanted (client_id TEXT PRIMARY KEY, broker BIGINT NOT NULL);
CREATE TABLE IF NOT EXISTS publication (
    id BIGSERIAL PRIMARY KEY, broker BIGINT NOT NULL, serial BIGINT NOT NULL, packet BYTEA,
    expires_at DOUBLE PRECISION, source TEXT, places TEXT
);
CREATE TABLE IF NOT EXISTS member (
    name TEXT, broker BIGINT, connected BIGINT NOT NULL, PRIMARY KEY (name, broker)
);
CREATE TABLE IF NOT EXISTS reading (broker BIGINT PRIMARY KEY, position BIGINT NOT NULL);
CREATE TABLE IF NOT EXISTS left_at (client_id TEXT PRIMARY KEY, position BIGINT NOT NULL);
"""
HOLD = """
INSERT INTO holder VALUES (?, ?) ON CONFLICT (client_id) DO UPDATE SET broker = excluded.broker
"""
LET_GO = "DELETE FROM holder WHERE client_id = ? AND broker = ?"
UNWANT = "DELETE FROM wanted WHERE client_id = ?"
FORGET_UNUSED = (
    "DELETE FROM message WHERE key = ? AND NOT EXISTS (SELECT 1 FROM outgoing WHERE message = ?)"
)
PUBLISH = (
    "INSERT INTO publication (broker, serial, packet, expires_at, source, places) "
    "VALUES (?, ?, ?, ?, ?, ?)"
)
MEMBER = """
INSERT INTO member VALUES (?, ?, ?)
ON CONFLICT (name, broker) DO UPDATE SET connected = excluded.connected
"""
READ = "UPDATE reading SET position = ? WHERE broker = ?"
LEAVE = """
INSERT INTO left_at VALUES (?, ?) ON CONFLICT (client_id) DO UPDATE SET position = excluded.position
"""
ARRIVED = """
SELECT id, serial, CASE WHEN broker = %s THEN NULL ELSE packet END, expires_at, source, places
FROM publication WHERE id > %s ORDER BY id LIMIT 1000
"""
MISSED = """
SELECT id, serial, packet, expires_at, source, places
FROM publication WHERE id > %s AND id <= %s AND broker <> %s ORDER BY id
"""
UNREAD = """
DELETE FROM publication WHERE id <= LEAST(
    (SELECT min(position) FROM reading), (SELECT min(position) FROM left_at)
)
"""
TELL = "SELECT pg_notify('zonal_retained', ?)"
ORPHANS = """
INSERT INTO holder SELECT client_id, %s FROM session
WHERE client_id NOT IN (SELECT client_id FROM holder)
AND client_id NOT IN (SELECT client_id FROM wanted)
ON CONFLICT DO NOTHING RETURNING client_id
"""


class Adopted(NamedTuple):
    """Sessions that lost their broker, and how far it had read what others published."""

    clients: list[str]
    position: int | None
    broker: int


class PostgresStore(SqlJournal):
    """A journal in a PostgreSQL database.

    Args:
        url: `postgresql://user:password@host/database`.
    """

    SAME = "IS NOT DISTINCT FROM"

    def __init__(self, url: str) -> None:
        super().__init__()
        try:
            import psycopg
        except ImportError as error:
            raise BrokerError("PostgreSQL needs the extra zonal[postgresql]") from error
        self._error: type[Exception] = psycopg.Error
        try:
            self._database = psycopg.connect(url, autocommit=True)
            self._open()
        except psycopg.Error as error:
            raise BrokerError(f"the database cannot be used: {error}") from error

    def _open(self) -> None:
        run = self._database.execute
        run("SELECT pg_advisory_lock(%s, 0)", (LOCKS,))  # one broker at a time makes tables
        for statement in SCHEMA.split(";"):
            if statement.strip():
                run(statement.encode())
        self.number = self._one("SELECT nextval('broker_number')")
        self._next_message = self.number << MESSAGES_EACH
        run("SELECT pg_advisory_lock(%s, %s)", (LOCKS, self.number))
        run("SELECT pg_advisory_unlock(%s, 0)", (LOCKS,))
        run("LISTEN zonal_retained")
        self.position: int = self._one(
            "INSERT INTO reading SELECT %s, coalesce(max(id), 0) FROM publication "
            "RETURNING position",
            self.number,
        )
        """How far it has read what others published."""

    def _one(self, query: str, *values: object) -> Any:
        row = self._database.execute(query.encode(), values).fetchone()
        return None if row is None else row[0]

    def close(self) -> None:
        """Commits and closes; what this broker holds is free for others."""
        try:
            self.commit()
        except self._error as error:
            raise BrokerError(f"the database cannot be written: {error}") from error
        finally:
            self._database.close()

    def rows(self, table: str, clients: Sequence[str] | None = None) -> list[Any]:
        """What is stored, in the order of the table's key: of these clients, or everything."""
        where, values = "", list[list[str]]()
        if clients is not None:
            chosen = "client_id = ANY(%s)"
            if table == "message":
                chosen = f"key IN (SELECT message FROM outgoing WHERE {chosen})"  # noqa: S608
            where, values = f" WHERE {chosen}", [list(clients)]
        query = f"SELECT * FROM {table}{where} ORDER BY {', '.join(KEYS[table])}"  # noqa: S608
        rows: list[Any] = self._database.execute(query.encode(), values).fetchall()
        return rows

    def resume_after(self, key: int) -> None:
        """Numbers of messages begin with the broker's, which is new."""

    def commit(self) -> None:
        """Writes all changes in one transaction."""
        if not self._changes:
            return
        changes, self._changes = self._changes, []
        with self._database.transaction(), self._database.cursor() as cursor:
            if any(statement is PUBLISH for statement, _ in changes):
                # Publications become visible in the order of their numbers.
                cursor.execute("SELECT pg_advisory_xact_lock(%s, -1)", (LOCKS,))
            for statement, group in groupby(changes, key=itemgetter(0)):
                rows = [tuple(map(_plain, row)) for _, row in group]
                cursor.executemany(statement.replace("?", "%s").encode(), rows)

    def size(self) -> int:
        """Bytes of the database."""
        return int(self._one("SELECT pg_database_size(current_database())"))

    # The journal, where it differs because others write to the same tables.

    def begin(self, session: ClientSession) -> None:
        """A session begins here, or goes on."""
        self._change(HOLD, session.client_id, self.number)

    def end(self, session: ClientSession) -> None:
        """Forgets a session; unless it goes on without being kept, nobody holds it any more."""
        super().end(session)
        if session.connection is None:
            self._change(LET_GO, session.client_id, self.number)

    def forget_message(self, message: Message) -> None:
        """Forgets a message that no session waits for, at whichever broker."""
        self._change(FORGET_UNUSED, message.key, message.key)

    def retain(self, message: Message) -> None:
        """Keeps a retained message, and tells the others."""
        super().retain(message)
        self._tell(message.topic)

    def clear(self, topic: str) -> None:
        """Forgets a retained message, and tells the others."""
        super().clear(topic)
        self._tell(topic)

    def _tell(self, topic: str) -> None:
        if len(topic.encode()) <= LONGEST_NOTE:
            self._change(TELL, topic)

    # Who holds what.

    def claim(self, client_id: str) -> bool:
        """Becomes the holder of a client's session; False while a broker that lives holds it."""
        self.commit()
        run = self._database.execute
        made = run(
            "INSERT INTO holder VALUES (%s, %s) ON CONFLICT DO NOTHING", (client_id, self.number)
        )
        holder = self._one("SELECT broker FROM holder WHERE client_id = %s", client_id)
        if made.rowcount == 1 or holder == self.number:
            run(UNWANT.replace("?", "%s").encode(), (client_id,))
            return True
        run(
            "INSERT INTO wanted VALUES (%s, %s) "
            "ON CONFLICT (client_id) DO UPDATE SET broker = excluded.broker",
            (client_id, self.number),
        )
        return False

    def unwant(self, client_id: str) -> None:
        """Nobody waits here for a client's session any more."""
        self._change(UNWANT, client_id)

    def wanted(self) -> list[str]:
        """The clients whose sessions are held here and wanted elsewhere."""
        query = (
            "SELECT client_id FROM wanted JOIN holder USING (client_id) WHERE holder.broker = %s "
            "AND wanted.broker <> %s"
        )
        return [row[0] for row in self._database.execute(query, (self.number, self.number))]

    def give(self, client_id: str) -> None:
        """Holds a client's session no longer; it stays stored, with how far its holder had read."""
        self._change(LET_GO, client_id, self.number)
        self._change(LEAVE, client_id, self.position)

    def left_at(self, client_id: str) -> int | None:
        """How far the holder had read that gave a client's session away; that is asked once."""
        found: int | None = self._one(
            "DELETE FROM left_at WHERE client_id = %s RETURNING position", client_id
        )
        return found

    def adopt(self) -> list[Adopted]:
        """Becomes the holder of the sessions of brokers that are gone."""
        self.commit()
        run = self._database.execute
        others = run(
            "SELECT broker FROM holder WHERE broker <> %s UNION "
            "SELECT broker FROM reading WHERE broker <> %s",
            (self.number, self.number),
        )
        found = []
        for (number,) in others.fetchall():
            if not self._one("SELECT pg_try_advisory_lock(%s, %s::int)", LOCKS, number):
                continue
            taken = run(
                "UPDATE holder SET broker = %s WHERE broker = %s RETURNING client_id",
                (self.number, number),
            )
            clients = [row[0] for row in taken]
            position = self._one("DELETE FROM reading WHERE broker = %s RETURNING position", number)
            found.append(Adopted(clients, position, number))
            run("DELETE FROM wanted WHERE broker = %s", (number,))
            run("DELETE FROM member WHERE broker = %s", (number,))
            run("SELECT pg_advisory_unlock(%s, %s::int)", (LOCKS, number))
        orphans = run(ORPHANS.encode(), (self.number,)).fetchall()
        found += [Adopted([name], self.left_at(name), 0) for (name,) in orphans]
        run(
            "DELETE FROM holder WHERE broker = %s AND client_id = ANY(%s) "
            "AND client_id NOT IN (SELECT client_id FROM session)",
            (self.number, [name for adopted in found for name in adopted.clients]),
        )
        return found

    def tell_members(self, changes: dict[str, bool | None]) -> None:
        """Tells the others which shared groups have members here."""
        for name, state in changes.items():
            if state is None:
                self._change("DELETE FROM member WHERE name = ? AND broker = ?", name, self.number)
            else:
                self._change(MEMBER, name, self.number, state)

    def members_elsewhere(self) -> dict[str, dict[int, bool]]:
        """Which other brokers have members of which groups, and whether they are connected."""
        found: dict[str, dict[int, bool]] = {}
        query = "SELECT name, broker, connected FROM member WHERE broker <> %s"
        for name, broker, connected in self._database.execute(query, (self.number,)):
            found.setdefault(name, {})[broker] = bool(connected)
        return found

    # What brokers publish to one another.

    def is_alone(self) -> bool:
        """Whether no other broker reads what is published here."""
        return int(self._one("SELECT count(*) FROM reading")) == 1

    def publish(self, message: Message) -> None:
        """Has the others read a message, with the commit before which it is not acknowledged."""
        self._change(
            PUBLISH, self.number, message.serial, packet_of(message), message.expires_at,
            message.source, places_of(message),
        )  # fmt: skip

    def arrived(self) -> list[Any]:
        """What was published since it was asked last: id, serial, and the parts of a message.

        That it was read is committed with what comes of it. Its own have no packet.
        """
        values = (self.number, self.position)
        rows: list[Any] = self._database.execute(ARRIVED.encode(), values).fetchall()
        if rows:
            self.position = rows[-1][0]
            self._change(READ, self.position, self.number)
        return rows

    def missed(self, since: int, broker: int) -> list[Any]:
        """What was published since, as far as it was read here, by others than that broker."""
        values = (since, self.position, broker)
        rows: list[Any] = self._database.execute(MISSED.encode(), values).fetchall()
        return rows

    def forget_read(self) -> None:
        """Forgets what everybody has read."""
        self._change(UNREAD)

    def retained_elsewhere(self) -> list[str]:
        """The topics whose retained message another broker has changed."""
        own = self._database.info.backend_pid
        notes = self._database.notifies(timeout=0)
        return [note.payload for note in notes if note.pid != own]

    def retained_row(self, topic: str) -> Any:
        """A topic's retained message, as it is stored."""
        query = "SELECT * FROM retained WHERE topic = %s"
        return self._database.execute(query, (topic,)).fetchone()


def _plain(value: object) -> object:
    return int(value) if isinstance(value, bool) else value
