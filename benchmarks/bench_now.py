"""What is where now: the border, the store, nearest, and what a watcher hears.

The border runs in this process on one core, by processor time. The store is a process of its own
beside a router; things are written into its table first, then sent through the network.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import resource
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

import zonal
from zonal.border import Border, BorderPlan, NotedPlace, ZoneSet
from zonal.geo import Area, Circle, Point, Polygon, cell_ids_of, destination
from zonal.session import ntp64_of
from zonal.store import Store, StoredThing, open_table

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

SOUTH, WEST, SIDE = 45.3, 9.0, 0.5
LAND = (44.0, 7.0, 3.2, 4.5)
"""South, west, height and width: with a million things a circle of 2 km holds some 100."""
CENTRE = Point(45.6, 9.25)
SPAWN = multiprocessing.get_context("spawn")
BATCH = 500
console = Console(highlight=False)


def zones_of(count: int, rng: np.random.Generator) -> ZoneSet:
    """Half circles, half octagons, of 100 to 500 m, all over the city."""
    areas: list[Area] = []
    for number in range(count):
        lat, lon = SOUTH + rng.random() * SIDE, WEST + rng.random() * SIDE
        if number % 2:
            areas.append(Circle(Point(lat, lon), radius_m=100 + 400 * rng.random()))
            continue
        reach = 0.001 + 0.0035 * rng.random()
        angles = np.linspace(0, 2 * math.pi, 8, endpoint=False)
        areas.append(
            Polygon(
                tuple((lat + reach * math.sin(a), lon + 1.4 * reach * math.cos(a)) for a in angles)
            )
        )
    return ZoneSet(tuple(f"zone {number}" for number in range(count)), tuple(areas))


class Traffic:
    """Things that move some 50 m a step."""

    def __init__(self, things: int, rng: np.random.Generator) -> None:
        self.names = [f"city/bus/{number}" for number in range(things)]
        self.lats = SOUTH + rng.random(things) * SIDE
        self.lons = WEST + rng.random(things) * SIDE
        self._rng = rng
        self._time = 0

    def step(self) -> list[tuple[int, float, float, int]]:
        """Each thing once, in any order: number, place, time."""
        count = len(self.names)
        self.lats = np.clip(self.lats + self._rng.normal(0, 3.5e-4, count), SOUTH, SOUTH + SIDE)
        self.lons = np.clip(self.lons + self._rng.normal(0, 5e-4, count), WEST, WEST + SIDE)
        self._time += 10_000_000
        order = self._rng.permutation(count).tolist()
        lats, lons = self.lats.tolist(), self.lons.tolist()
        return [(number, lats[number], lons[number], self._time) for number in order]


def measure_border(zones: ZoneSet, things: int, rounds: int) -> dict[str, Any]:
    plan = BorderPlan(("enter", "leave", "cross", "dwell"), 60.0, 25.0, 600.0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    border, traffic = Border(zones, plan), Traffic(things, np.random.default_rng(2))
    for number, lat, lon, when in traffic.step():
        border.update([NotedPlace(traffic.names[number], lat, lon, when)])
    used = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    spent = events = 0.0
    for _ in range(rounds):
        steps = traffic.step()
        for start in range(0, things, BATCH):
            places = [
                NotedPlace(traffic.names[number], lat, lon, when)
                for number, lat, lon, when in steps[start : start + BATCH]
            ]
            began = time.process_time()
            events += len(border.update(places)) + len(border.pass_time(places[-1].time))
            spent += time.process_time() - began
    return {
        "zones": len(zones),
        "things": things,
        "updates_per_s": round(rounds * things / spent),
        "events_per_s": round(events / spent),
        "events_per_update": round(events / rounds / things, 3),
        "bytes_a_thing": round(used / things),
    }


def stored(number: int, lat: float, lon: float, cell: int, when: int) -> StoredThing:
    payload = b'{"line": "54", "speed": 33.5}'
    return StoredThing(
        f"city/bus/{number}", "", lat, lon, cell, when, "a1b2c3", False, payload,
        "application/json", "s2", None, None, "00000000a1b2c3d4", when & 0xFFFF,
    )  # fmt: skip


def measure_table(folder: str, things: int) -> dict[str, Any]:
    """A million things, first new, then moving; by processor time of this one core."""
    rng = np.random.default_rng(3)
    table = open_table(folder)
    south, west, height, width = LAND
    lats, lons = south + rng.random(things) * height, west + rng.random(things) * width
    now = ntp64_of(time.time_ns() // 1000)

    def rows(numbers: Any, when: int) -> list[StoredThing]:
        at = lats[numbers], lons[numbers]
        cells = cell_ids_of(*at).astype(np.int64).tolist()
        return [
            stored(number, lat, lon, cell, when)
            for number, lat, lon, cell in zip(
                numbers.tolist(), at[0].tolist(), at[1].tolist(), cells, strict=True
            )
        ]

    began, wall = time.process_time(), time.monotonic()
    for start in range(0, things, 1000):
        table.write(rows(np.arange(start, min(start + 1000, things)), now))
    new = things / (time.process_time() - began), things / (time.monotonic() - wall)
    spent = took = 0.0
    moves = min(things, 100_000)
    for start in range(0, moves, 1000):
        numbers = rng.choice(things, 1000, replace=False)
        lats[numbers] += rng.normal(0, 3.5e-4, 1000)
        lons[numbers] += rng.normal(0, 5e-4, 1000)
        some = rows(numbers, now + 1 + start)
        began, wall = time.process_time(), time.monotonic()
        table.write(some)
        spent, took = spent + time.process_time() - began, took + time.monotonic() - wall
    table.close()
    size = sum(path.stat().st_size for path in Path(folder).iterdir())
    return {
        "things": things,
        "new_per_s_of_a_core": round(new[0]),
        "updates_per_s_of_a_core": round(moves / spent),
        "updates_per_s": round(moves / took),
        "bytes_on_disk_a_thing": round(size / things),
    }


def run_store(endpoint: str, folder: str, pipe: Connection) -> None:
    with (
        zonal.open(zonal.config("client", connect=[endpoint])) as session,
        Store(session, "city/**", data=folder) as store,
    ):
        pipe.send(os.getpid())
        while pipe.recv() == "count":
            used = time.process_time()
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            pipe.send((store.counters.kept, used, memory))


def measure_store(folder: str, things: int, seconds: float, rate: int) -> dict[str, Any]:
    """Through the network: updates at a rate, then questions."""
    ours, theirs = SPAWN.Pipe()
    with zonal.Router(["tcp/127.0.0.1:0"]) as router:
        process = SPAWN.Process(target=run_store, args=(router.endpoints[0], folder, theirs))
        process.start()
        ours.recv()
        with zonal.open(zonal.config("client", connect=router.endpoints)) as session:
            while not list(session.get("city/bus/0", timeout=2)):
                time.sleep(0.1)
            result = _updates(session, ours, things, seconds, rate)
            result |= _questions(session)
        ours.send("end")
        process.join()
    return result


def _counted(pipe: Connection) -> tuple[int, float, int]:
    pipe.send("count")
    counted: tuple[int, float, int] = pipe.recv()
    return counted


def _updates(
    session: zonal.Session, pipe: Connection, things: int, seconds: float, rate: int
) -> dict[str, Any]:
    rng = np.random.default_rng(4)
    south, west, height, width = LAND
    kept, used, _ = _counted(pipe)
    began, sent = time.monotonic(), 0
    while (now := time.monotonic() - began) < seconds:
        while sent < now * rate:
            place = Point(south + rng.random() * height, west + rng.random() * width)
            session.put(f"city/bus/{rng.integers(things)}", b'{"speed": 33.5}', location=place)
            sent += 1
        time.sleep(0.001)
    deadline = time.monotonic() + 30
    while _counted(pipe)[0] - kept < sent * 0.98 and time.monotonic() < deadline:
        time.sleep(0.05)
    took = time.monotonic() - began
    kept_after, used_after, memory = _counted(pipe)
    share = (used_after - used) / took
    return {
        "sent_per_s": round(sent / seconds),
        "kept_per_s": round((kept_after - kept) / took),
        "store_cores": round(share, 2),
        "store_memory_mb": round(memory / 1024),
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
        "nearest_10_median_ms": round(statistics.median(nearest) * 1000, 2),
    }


def measure_ring(things: int, rounds: int) -> dict[str, Any]:
    """What a watcher of 2 km hears of a city: the zone, its ring, and what routers let through."""
    traffic = Traffic(things, np.random.default_rng(5))
    middle = Point(SOUTH + SIDE / 2, WEST + SIDE / 2)
    zone = Circle(middle, radius_m=2000)
    with zonal.Router(["tcp/127.0.0.1:0"]) as router:
        config = zonal.config("client", connect=router.endpoints)
        with zonal.open(config) as watcher, zonal.open(config) as city:
            fence = watcher.declare_fence("city/bus/*", zone, hysteresis_m=25, resume=False)
            time.sleep(1.0)
            sent = inside = around = 0
            for _ in range(rounds):
                for number, lat, lon, _ in traffic.step():
                    place = Point(lat, lon)
                    city.put(traffic.names[number], b"x", location=place)
                    distance = place.distance_m(middle)
                    sent += 1
                    inside += distance <= 2000
                    around += distance <= 2500
            time.sleep(1.0)
            return {
                "sent": sent,
                "in_the_zone": inside,
                "in_zone_and_ring": around,
                "received_by_the_watcher": fence.counters.received,
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    parser.add_argument("--only", default="border,store,ring", help="which of them")
    options = parser.parse_args()
    only = options.only.split(",")
    part = 10 if options.quick else 1
    results: dict[str, Any] = {}

    def show(name: str, result: dict[str, Any]) -> None:
        results[name] = result
        console.print(f"[bold]{name}[/]  " + "  ".join(f"{k} {v:,}" for k, v in result.items()))

    if "border" in only:
        zones = zones_of(10_000 // part, np.random.default_rng(1))
        show("border", measure_border(zones, 100_000 // part, 3))
    if "store" in only:
        with tempfile.TemporaryDirectory() as folder:
            things = 1_000_000 // part
            show("table", measure_table(folder, things))
            show("store", measure_store(folder, things, 10.0, 10_000))
    if "ring" in only:
        show("ring", measure_ring(2000, 5))
    print(json.dumps(results))


if __name__ == "__main__":
    main()
