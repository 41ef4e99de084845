"""What is where now: things are stored and moved, then asked for by circle and by nearness."""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import zenoh

import zonal
from zonal.geo import Circle, Point
from zonal_lab.emulation import Worker, wait_until
from zonal_lab.peers.programs import RunningServer, fine_cpu_s, postgis, redis, tile38
from zonal_lab.peers.resp import RespClient
from zonal_lab.systems import resident_bytes, started_router

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import psycopg

    from zonal_lab.peers.programs import Programs

SOUTH, WEST, SIDE = 45.3, 9.0, 0.5
RADIUS_M = 1000.0
NEAREST = 10
_BATCH = 500
_PAYLOAD = b'{"line": "54", "speed": 33.5}'
_PATIENCE_S = 120.0

Places = list[tuple[int, float, float]]
"""Numbers of things and where they are now, in degrees."""


class ThingServer(ABC):
    """A system that keeps things: a connection to it, and what its processes use."""

    @abstractmethod
    def put(self, places: Places) -> None:
        """Store these, new or moved, the fastest way there is; known when it returns."""

    @abstractmethod
    def within(self, lat: float, lon: float, radius_m: float) -> int:
        """How many things lie in a circle; their names and places come along."""

    @abstractmethod
    def nearest(self, lat: float, lon: float, count: int) -> int:
        """How many of the nearest things came, the nearest first."""

    @abstractmethod
    def cpu_s(self) -> float:
        """Processor time of its processes so far."""

    @abstractmethod
    def resident(self) -> int:
        """Bytes that they hold."""


class _Resp(ThingServer):
    def __init__(self, server: RunningServer) -> None:
        self._client, self._server = RespClient(server.port), server

    def _all(self, commands: Sequence[tuple[object, ...]]) -> None:
        for start in range(0, len(commands), _BATCH):
            self._client.answers(self._client.send(commands[start : start + _BATCH]))

    def cpu_s(self) -> float:
        """Of the server."""
        return self._server.cpu_s()

    def resident(self) -> int:
        """Of the server."""
        return self._server.resident()


class Tile38Things(_Resp):
    """Tile38: `SET`, `NEARBY`."""

    def put(self, places: Places) -> None:
        """Objects with a field, many in a write."""
        self._all([("SET", "city", f"bus/{n}", "FIELD", "speed", 33.5, "POINT", lat, lon)
                   for n, lat, lon in places])  # fmt: skip

    def within(self, lat: float, lon: float, radius_m: float) -> int:
        """By `NEARBY` with a radius."""
        found = self._client.call(
            "NEARBY", "city", "LIMIT", 100_000, "POINTS", "POINT", lat, lon, radius_m
        )
        return len(found[1])

    def nearest(self, lat: float, lon: float, count: int) -> int:
        """By `NEARBY` without one."""
        found = self._client.call("NEARBY", "city", "LIMIT", count, "POINTS", "POINT", lat, lon)
        return len(found[1])


class RedisThings(_Resp):
    """Redis: `GEOADD`, `GEOSEARCH`; it has no search without a radius, so it grows one."""

    def put(self, places: Places) -> None:
        """Members of one sorted set, many in a command."""
        words = [(lon, lat, f"bus/{n}") for n, lat, lon in places]
        for start in range(0, len(words), _BATCH):
            flat = [each for one in words[start : start + _BATCH] for each in one]
            self._client.call("GEOADD", "city", *flat)

    def within(self, lat: float, lon: float, radius_m: float) -> int:
        """With their places."""
        return len(self._search(lon, lat, radius_m))

    def nearest(self, lat: float, lon: float, count: int) -> int:
        """Radii are doubled until enough are found."""
        radius_m = 250.0
        while len(found := self._search(lon, lat, radius_m, "COUNT", count, "ASC")) < count:
            radius_m *= 2
        return len(found)

    def _search(self, lon: float, lat: float, radius_m: float, *more: object) -> list[object]:
        found: list[object] = self._client.call(
            "GEOSEARCH", "city", "FROMLONLAT", lon, lat, "BYRADIUS", radius_m, "m", *more,
            "WITHCOORD",
        )  # fmt: skip
        return found


class PostgisThings(ThingServer):
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

    def put(self, places: Places) -> None:
        """One statement for many rows."""
        with self._connection.cursor() as cursor:
            for start in range(0, len(places), _BATCH):
                some = places[start : start + _BATCH]
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

    def nearest(self, lat: float, lon: float, count: int) -> int:
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


class ZonalThings(ThingServer):
    """Our store, durable in its folder, behind a stock router; a session publishes and asks."""

    def __init__(self, session: zonal.Session, store: Worker, router: int) -> None:
        self._session, self._store, self._router = session, store, router
        self._sent = self._kept()

    def put(self, places: Places) -> None:
        """One message a thing; done when the store has kept them all."""
        for number, lat, lon in places:
            self._session.put(
                f"city/bus/{number}", _PAYLOAD, location=Point(lat, lon),
                congestion_control=zenoh.CongestionControl.BLOCK,
            )  # fmt: skip
        self._sent += len(places)
        wait_until(self._all_kept, _PATIENCE_S, "the store has not kept everything")

    def _all_kept(self) -> bool:
        return self._kept() >= self._sent

    def _kept(self) -> int:
        return int(self._store.ask({"do": "kept"}, _PATIENCE_S)["kept"])

    def within(self, lat: float, lon: float, radius_m: float) -> int:
        """A `get` with an area."""
        area = Circle(Point(lat, lon), radius_m=radius_m)
        return sum(1 for _ in self._session.get("city/bus/*", area=area))

    def nearest(self, lat: float, lon: float, count: int) -> int:
        """A `get` with `nearest`."""
        return len(list(self._session.get("city/bus/*", nearest=count, to=Point(lat, lon))))

    def cpu_s(self) -> float:
        """Of store and router."""
        return fine_cpu_s(self._store.pid) + fine_cpu_s(self._router)

    def resident(self) -> int:
        """Of the store."""
        return resident_bytes(self._store.pid)


@contextlib.contextmanager
def _zonal(programs: Programs) -> Iterator[ThingServer]:
    del programs
    with contextlib.ExitStack() as closing:
        folder = closing.enter_context(tempfile.TemporaryDirectory(prefix="zonal-peer-"))
        router, endpoint = closing.enter_context(started_router())
        store = Worker("store", [sys.executable, "-m", "zonal_lab.peers.service"])
        closing.callback(store.end)
        order = {"do": "keep", "endpoint": endpoint, "topic": "city/**", "folder": folder}
        store.ask(order, _PATIENCE_S)
        config = zonal.config("client", connect=[endpoint])
        session = closing.enter_context(zonal.open(config))
        wait_until(lambda: _probed(session), _PATIENCE_S, "the store does not answer")
        yield ZonalThings(session, store, router)


def _probed(session: zonal.Session) -> bool:
    session.put("city/probe", b"", location=Point(SOUTH, WEST))
    return bool(list(session.get("city/probe", timeout=2)))


@contextlib.contextmanager
def _tile38(programs: Programs) -> Iterator[ThingServer]:
    with programs.started(tile38) as server:
        yield Tile38Things(server)


@contextlib.contextmanager
def _redis(programs: Programs) -> Iterator[ThingServer]:
    with programs.started(redis) as server:
        yield RedisThings(server)


@contextlib.contextmanager
def _postgis(programs: Programs) -> Iterator[ThingServer]:
    import psycopg

    del programs
    with postgis() as (address, server), psycopg.connect(address, autocommit=True) as connection:
        yield PostgisThings(connection, server)


SYSTEMS: dict[str, Callable[[Programs], contextlib.AbstractContextManager[ThingServer]]] = {
    "zonal": _zonal,
    "tile38": _tile38,
    "redis": _redis,
    "postgis": _postgis,
}


def run_things(
    system: str, programs: Programs, count: int, questions: int, seed: int
) -> dict[str, float]:
    """Store, move, ask; rates, processor time of the server, and percentiles of the answers."""
    rng = np.random.default_rng(seed)
    with SYSTEMS[system](programs) as server:
        before = server.resident()
        places = _scattered(rng, np.arange(count))
        figures = _changed(server, "add", places)
        figures["bytes_a_thing"] = (server.resident() - before) / count
        moved = _scattered(rng, rng.choice(count, count // 2, replace=False))
        figures |= _changed(server, "move", moved)
        if isinstance(server, PostgisThings):
            server.settle()
        centres = _scattered(rng, np.arange(questions))
        at = [(lat, lon) for _, lat, lon in centres]
        circles = [partial(server.within, *each, RADIUS_M) for each in at]
        nearest = [partial(server.nearest, *each, NEAREST) for each in at]
        return figures | _asked(server, "circle", circles) | _asked(server, "nearest", nearest)


def _scattered(rng: np.random.Generator, numbers: np.ndarray) -> Places:
    lats, lons = (start + SIDE * rng.random(len(numbers)) for start in (SOUTH, WEST))
    return list(zip(numbers.tolist(), lats.tolist(), lons.tolist(), strict=True))


def _changed(server: ThingServer, name: str, places: Places) -> dict[str, float]:
    cpu, begun = server.cpu_s(), time.perf_counter()
    server.put(places)
    took = time.perf_counter() - begun
    return {
        f"{name}_per_s": len(places) / took,
        f"{name}_cpu_us": (server.cpu_s() - cpu) / len(places) * 1e6,
    }


def _asked(
    server: ThingServer, name: str, questions: Sequence[Callable[[], int]]
) -> dict[str, float]:
    for each in questions[:10]:  # plans, caches, routes
        each()
    cpu, times, hits = server.cpu_s(), [], 0
    for each in questions:
        begun = time.perf_counter()
        hits += each()
        times.append(time.perf_counter() - begun)
    return {
        f"{name}_p50_us": float(np.percentile(times, 50)) * 1e6,
        f"{name}_p99_us": float(np.percentile(times, 99)) * 1e6,
        f"{name}_cpu_us": (server.cpu_s() - cpu) / len(questions) * 1e6,
        f"{name}_hits": hits / len(questions),
    }
