"""Things at PostGIS, which are put and asked for by psycopg."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from zonal_lab.peers.programs import postgis
from zonal_lab.peers.thing_server import BATCH, Places, PythonThings

if TYPE_CHECKING:
    from collections.abc import Iterator

    import psycopg

    from zonal_lab.peers.programs import Programs, RunningServer


class PostgisThings(PythonThings):
    """PostGIS: a table with a GiST index on a geography, prepared statements."""

    def __init__(self, connection: psycopg.Connection, server: RunningServer) -> None:
        self._connection, self._server = connection, server
        with connection.cursor() as cursor:
            cursor.execute("CREATE EXTENSION postgis")
            cursor.execute(
                "CREATE UNLOGGED TABLE things (name text PRIMARY KEY, speed real, "
                "at geography(Point) NOT NULL)"
            )
            cursor.execute("CREATE INDEX ON things USING gist (at)")

    def store(self, places: Places) -> None:
        """One statement for many rows."""
        with self._connection.cursor() as cursor:
            for start in range(0, len(places), BATCH):
                some = places[start : start + BATCH]
                cursor.execute(
                    "INSERT INTO things SELECT 'bus/' || n, 33.5, ST_MakePoint(lon, lat) "
                    "FROM unnest(%s::int[], %s::float8[], %s::float8[]) AS t(n, lat, lon) "
                    "ON CONFLICT (name) DO UPDATE SET at = excluded.at, speed = excluded.speed",
                    tuple(map(list, zip(*some, strict=True))), prepare=True,
                )  # fmt: skip

    def within(self, lat: float, lon: float, radius_m: float) -> int:
        """By `ST_DWithin` on the sphere."""
        return self._rows(
            "SELECT name, ST_Y(at::geometry), ST_X(at::geometry) FROM things WHERE "
            "ST_DWithin(at, ST_MakePoint(%s, %s)::geography, %s, false)",
            lon, lat, radius_m,
        )  # fmt: skip

    def closest(self, lat: float, lon: float, count: int) -> int:
        """By the index' own order."""
        return self._rows(
            "SELECT name, ST_Y(at::geometry), ST_X(at::geometry) FROM things "
            "ORDER BY at <-> ST_MakePoint(%s, %s)::geography LIMIT %s",
            lon, lat, count,
        )  # fmt: skip

    def _rows(self, question: str, *values: float) -> int:
        with self._connection.cursor() as cursor:
            return len(cursor.execute(question, values, prepare=True).fetchall())

    def settle(self) -> None:
        """Let its planner know the table."""
        with self._connection.cursor() as cursor:
            cursor.execute("ANALYZE things")

    def cpu_s(self) -> float:
        """Of the server and its connections."""
        return self._server.cpu_s()

    def resident(self) -> int:
        """On its disk: what it holds in memory is a cache of a fixed size."""
        with self._connection.cursor() as cursor:
            found = cursor.execute("SELECT pg_total_relation_size('things')").fetchone()
            assert found is not None
            return int(found[0])


@contextlib.contextmanager
def postgis_things(programs: Programs) -> Iterator[PostgisThings]:
    """PostGIS, for as long as the block lasts."""
    import psycopg

    del programs
    with postgis() as (address, server), psycopg.connect(address, autocommit=True) as connection:
        yield PostgisThings(connection, server)
