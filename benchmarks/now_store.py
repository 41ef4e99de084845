"""The store: its table by itself, then through the network with updates and questions."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import zonal
from now_world import tell
from zonal.geo import Circle, Point, cell_ids_of, destination
from zonal.runtime import collect_seldom
from zonal.session import ntp64_of
from zonal.store import Store, StoredThing, open_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from multiprocessing.connection import Connection

LAND = (44.0, 7.0, 3.2, 4.5)
"""South, west, height and width: with a million things a circle of 2 km holds some 100."""
CENTRE = Point(45.6, 9.25)
SPAWN = multiprocessing.get_context("spawn")


def homes(things: int) -> tuple[Any, Any]:
    """Where things are at first: latitudes and longitudes."""
    rng = np.random.default_rng(3)
    south, west, height, width = LAND
    return south + rng.random(things) * height, west + rng.random(things) * width


def steps(rng: np.random.Generator, count: int) -> tuple[Any, Any]:
    """How far things go between two updates: some 40 m in any direction."""
    return rng.normal(0, 3.5e-4, count), rng.normal(0, 5e-4, count)


def rows_of(numbers: Iterable[int], lats: Any, lons: Any, when: int) -> list[StoredThing]:
    """Things with their newest values, as a table keeps them."""
    cells = cell_ids_of(lats, lons).astype(np.int64).tolist()
    payload = b'{"line": "54", "speed": 33.5}'
    return [
        StoredThing(
            f"city/bus/{number}", "", lat, lon, cell, when, "a1b2c3", False, payload,
            "application/json", "s2", None, None, "00000000a1b2c3d4", when & 0xFFFF,
        )
        for number, lat, lon, cell in zip(
            numbers, lats.tolist(), lons.tolist(), cells, strict=False
        )
    ]  # fmt: skip


def measure_table(folder: str, things: int) -> dict[str, Any]:
    """Things first new, then moving; by processor time of this one core."""
    rng = np.random.default_rng(5)
    table = open_table(folder)
    lats, lons = homes(things)
    now = ntp64_of(time.time_ns() // 1000)

    def rows(numbers: Any, when: int) -> list[StoredThing]:
        return rows_of(numbers.tolist(), lats[numbers], lons[numbers], when)

    began = time.process_time()
    for start in range(0, things, 1000):
        table.write(rows(np.arange(start, min(start + 1000, things)), now))
        if (start + 1000) % 250_000 == 0:
            tell(f"table: {start + 1000:,} things")
    new = things / (time.process_time() - began)
    spent = took = 0.0
    moves = min(things, 100_000)
    for start in range(0, moves, 1000):
        numbers = rng.choice(things, 1000, replace=False)
        north, east = steps(rng, 1000)
        lats[numbers] += north
        lons[numbers] += east
        some = rows(numbers, now + 1 + start)
        began, wall = time.process_time(), time.monotonic()
        table.write(some)
        spent, took = spent + time.process_time() - began, took + time.monotonic() - wall
    table.close()
    size = sum(path.stat().st_size for path in Path(folder).iterdir())
    return {
        "things": things,
        "new_per_s_of_a_core": round(new),
        "updates_per_s_of_a_core": round(moves / spent),
        "updates_per_s": round(moves / took),
        "bytes_on_disk_a_thing": round(size / things),
    }


def _run_store(endpoint: str, folder: str, pipe: Connection) -> None:
    collect_seldom()  # as `zonal store`
    with (
        zonal.open(zonal.config("client", connect=[endpoint])) as session,
        Store(session, "city/**", data=folder) as store,
    ):
        pipe.send(os.getpid())
        while pipe.recv() == "count":
            used = time.process_time()
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            pipe.send((store.counters.kept, used, memory))


@contextlib.contextmanager
def running_store(folder: str) -> Iterator[tuple[zonal.Session, Connection]]:
    """A store in a process of its own that answers; a client's session, and a pipe to count."""
    ours, theirs = SPAWN.Pipe()
    with zonal.Router(["tcp/127.0.0.1:0"]) as router:
        process = SPAWN.Process(target=_run_store, args=(router.endpoints[0], folder, theirs))
        process.start()
        ours.recv()
        with zonal.open(zonal.config("client", connect=router.endpoints)) as session:
            while not list(session.get("city/bus/0", timeout=2)):
                time.sleep(0.1)
            yield session, ours
        ours.send("end")
        process.join()


def measure_store(folder: str, things: int, seconds: float, rate: int) -> dict[str, Any]:
    """Through the network: updates at a rate, then questions."""
    with running_store(folder) as (session, pipe):
        tell(f"store: it answers; {rate:,} updates a second for {seconds:g} s")
        result = _updates(session, pipe, things, seconds, rate)
        tell("store: circles of 2 km, and the nearest ten")
        return result | _questions(session)


def _counted(pipe: Connection) -> tuple[int, float, int]:
    pipe.send("count")
    counted: tuple[int, float, int] = pipe.recv()
    return counted


def _updates(
    session: zonal.Session, pipe: Connection, things: int, seconds: float, rate: int
) -> dict[str, Any]:
    rng = np.random.default_rng(4)
    total = round(seconds * rate)
    # What is sent is made before: this process shares the machine with the store.
    which = rng.integers(things, size=total)
    (lats, lons), (north, east) = homes(things), steps(rng, total)
    lats, lons = (lats[which] + north).tolist(), (lons[which] + east).tolist()
    numbers = which.tolist()
    kept, used, _ = _counted(pipe)
    began, sent = time.monotonic(), 0
    while sent < total:
        due = min(total, int((time.monotonic() - began) * rate) + 1)
        for number in range(sent, due):
            place = Point(lats[number], lons[number])
            session.put(f"city/bus/{numbers[number]}", b'{"speed": 33.5}', location=place)
        sent = due
        time.sleep(0.001)
    sending = time.monotonic() - began
    deadline = time.monotonic() + 30
    while (last := _counted(pipe)[0]) - kept < sent * 0.98 and time.monotonic() < deadline:
        time.sleep(0.05)
    took = time.monotonic() - began
    _, used_after, memory = _counted(pipe)
    return {
        "sent_per_s": round(sent / sending),
        "kept_per_s": round((last - kept) / took),
        "store_core_us_an_update": round((used_after - used) / max(1, last - kept) * 1e6, 1),
        "store_cores": round((used_after - used) / took, 2),
        "store_memory_mb": round(memory / 1024),
        "bytes_of_memory_a_thing": round(memory * 1024 / things),
    }


def _questions(session: zonal.Session) -> dict[str, Any]:
    """Circles of 2 km, and the nearest ten."""
    hits, times, nearest = [], [], []
    for number in range(60):
        center = destination(CENTRE, 36.0 * number, 1000.0 * number)
        began = time.perf_counter()
        found = list(session.get("city/bus/*", area=Circle(center, radius_m=2000)))
        times.append(time.perf_counter() - began)
        hits.append(len(found))
        began = time.perf_counter()
        found_near = list(session.get("city/bus/*", nearest=10, to=center))
        nearest.append(time.perf_counter() - began)
        assert len(found_near) == 10
    return {
        "get_hits": round(statistics.median(hits)),
        "get_median_ms": round(statistics.median(times) * 1000, 2),
        "get_p90_ms": round(sorted(times)[53] * 1000, 2),
        "nearest_10_median_ms": round(statistics.median(nearest) * 1000, 2),
    }
