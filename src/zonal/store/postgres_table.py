"""Things in a PostgreSQL database with PostGIS: a table that SQL people and Grafana read, too."""

from __future__ import annotations

import contextlib
import itertools
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
    process, and the server's too.
    """

    def __init__(self, address: str) -> None:
        try:
            self._writer = psycopg.connect(address, autocommit=True)
            self._reader = psycopg.connect(address, autocommit=True)
            with self._writer.transaction():
                self._writer.execute("SELECT pg_advisory_xact_lock(%s)", (_SET_UP,))
                self._writer.execute(_SCHEMA)
        except psycopg.Error as error:
            raise StoreError(f"cannot keep things in PostgreSQL: {error}") from error
        self._writing = threading.Lock()
        self._reading = threading.Lock()

    def write(self, things: Sequence[StoredThing]) -> None:
        """Keep these where they are newer than what is kept; durable when it returns."""
        with self._writing, _errors(), self._writer.transaction(), self._writer.cursor() as cursor:
            cursor.executemany(upsert("%s"), things)

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
        with self._writing, _errors():
            statement = f"DELETE FROM things WHERE ntp64 < %s{only}"  # noqa: S608
            count: int = self._writer.execute(statement, (before,)).rowcount
        return count

    def __len__(self) -> int:
        return self._number("SELECT count(*) FROM things WHERE NOT deleted")

    def _number(self, statement: str) -> int:
        ((number,),) = self._rows(statement, ())
        return int(number)

    def _rows(self, statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        with self._reading, _errors():
            rows: list[tuple[Any, ...]] = self._reader.execute(statement, values).fetchall()
        return rows

    def close(self) -> None:
        """Let go of the database."""
        with self._writing, self._reading:
            self._reader.close()
            self._writer.close()


def _thing(row: tuple[Any, ...]) -> StoredThing:
    thing = StoredThing(*row)
    return thing if thing.sequence is None else thing._replace(sequence=int(thing.sequence))


@contextlib.contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise StoreError(f"the store's database: {error}") from error
