"""Things in a PostgreSQL database with PostGIS: a table that SQL people and Grafana read, too."""

from __future__ import annotations

import itertools
import logging
import threading
from typing import TYPE_CHECKING, Any

from zonal.errors import StoreError
from zonal.store.table import COLUMNS, questions, upsert
from zonal.store.thing import StoredThing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from zonal.store.table import Name
    from zonal.store.thing_filter import ThingFilter

try:
    import psycopg
except ImportError as error:
    raise StoreError("PostgreSQL needs psycopg: pip install 'zonal[postgresql]'") from error

logger = logging.getLogger(__name__)

_SCHEMA = """
CREATE EXTENSION IF NOT EXISTS postgis;
CREATE TABLE IF NOT EXISTS things (
    key text COLLATE "C" NOT NULL, part text COLLATE "C" NOT NULL,
    latitude double precision, longitude double precision, cell bigint,
    ntp64 bigint NOT NULL, clock text COLLATE "C" NOT NULL, deleted boolean NOT NULL,
    payload bytea NOT NULL, content_encoding text NOT NULL, location_encoding text NOT NULL,
    geofence bytea, attachment bytea, source text, sequence numeric(20),
    place geography(point) GENERATED ALWAYS AS (
        ST_SetSRID(ST_MakePoint(longitude, latitude), 4326)::geography) STORED,
    PRIMARY KEY (key, part)
);
CREATE INDEX IF NOT EXISTS things_by_cell ON things (cell);
CREATE INDEX IF NOT EXISTS things_by_place ON things USING gist (place);
CREATE OR REPLACE VIEW newest AS
    SELECT key, nullif(part, '') AS part,
        to_timestamp((ntp64 >> 32) + (ntp64 & 4294967295) / 4294967296.0) AS time,
        latitude, longitude, place, content_encoding, payload, source,
        CASE WHEN content_encoding LIKE 'application/json%' OR content_encoding LIKE 'text/%'
            THEN encode(payload, 'escape') END AS text
    FROM things WHERE NOT deleted;
"""
_SET_UP = 7_016_117_097  # the number of the lock under which the tables are made


class PostgresTable:
    """The table `things` of a database, and the view `newest` of it for people.

    The database is one store's own. What was written has been committed: it survives this
    process, and the server's too. While the server is away everything is a `StoreError`; when it is
    back, it goes on.
    """

    def __init__(self, address: str) -> None:
        self._writer, self._reader = _Line(address), _Line(address)
        try:
            with self._writer as connection, connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_SET_UP,))
                connection.execute(_SCHEMA)
        except StoreError as error:
            raise StoreError(f"cannot keep things in PostgreSQL: {error}") from error

    def write(self, things: Sequence[StoredThing]) -> None:
        """Keep these where they are newer than what is kept; durable when it returns.

        PostgreSQL has no text with a zero in it: things with such a key are not kept.
        """
        kept = [each for each in things if "\0" not in each.key + each.content_encoding]
        if len(kept) < len(things):
            logger.warning("%d things have a zero in their key", len(things) - len(kept))
        with self._writer as connection, connection.transaction(), connection.cursor() as cursor:
            cursor.executemany(upsert("%s"), kept)

    def find(self, wanted: ThingFilter) -> Iterator[StoredThing]:
        """The wanted things, in no order."""
        for statement, values in questions(wanted, "%s"):
            yield from wanted.sift([_thing(row) for row in self._rows(statement, values)])

    def named(self, names: Iterable[Name]) -> dict[Name, StoredThing]:
        """Those of these that are kept, deleted ones too."""
        every = list(names)
        if not every:
            return {}
        marks = ", ".join("(%s, %s)" for _ in every)
        statement = f"SELECT {', '.join(COLUMNS)} FROM things WHERE (key, part) IN ({marks})"  # noqa: S608
        rows = self._rows(statement, [*itertools.chain(*every)])
        return {(row[0], row[1]): _thing(row) for row in rows}

    def newest(self) -> int:
        """The latest time (NTP64) of any; 0 where there are none."""
        return self._number("SELECT coalesce(max(ntp64), 0) FROM things")

    def forget(self, before: int, *, deleted: bool) -> int:
        """Let go of things with an earlier time: of all, or only `deleted` ones; how many."""
        only = " AND deleted" if deleted else ""
        with self._writer as connection:
            statement = f"DELETE FROM things WHERE ntp64 < %s{only}"  # noqa: S608
            count: int = connection.execute(statement, (before,)).rowcount
        return count

    def __len__(self) -> int:
        return self._number("SELECT count(*) FROM things WHERE NOT deleted")

    def _number(self, statement: str) -> int:
        ((number,),) = self._rows(statement, ())
        return int(number)

    def _rows(self, statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        with self._reader as connection:
            rows: list[tuple[Any, ...]] = connection.execute(statement, values).fetchall()
        return rows

    def close(self) -> None:
        """Let go of the database."""
        self._reader.close()
        self._writer.close()


def _thing(row: tuple[Any, ...]) -> StoredThing:
    thing = StoredThing(*row)
    return thing if thing.sequence is None else thing._replace(sequence=int(thing.sequence))


class _Line:
    """A connection for one at a time, made anew after it broke: servers are started again."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._connection: psycopg.Connection[Any] | None = None

    def __enter__(self) -> psycopg.Connection[Any]:
        self._lock.acquire()
        try:
            if self._connection is None or self._connection.closed:
                self._connection = psycopg.connect(self._address, autocommit=True)
        except psycopg.Error as error:
            self._lock.release()
            raise StoreError(f"the store's database: {error}") from error
        return self._connection

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._lock.release()
        if isinstance(error, psycopg.Error):
            raise StoreError(f"the store's database: {error}") from error

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
