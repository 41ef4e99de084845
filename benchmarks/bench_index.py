"""The subscription index: GeoBroker's workload, its figures 7 and 8, growth, and memory.

Human lines first, then one JSON line. Pictures go to docs/figures. Everything runs in one thread.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import statistics
import sys
import time
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one thread means one thread

import numpy as np
from rich.console import Console
from rich.table import Table

import index_figures as figures
from index_workload import (
    Trajectory,
    Workload,
    circle_at,
    geobroker_workload,
    load_trajectories,
    scattered_circles,
)
from zonal.index import Fences, InterestCover, LinearFences, Raster, SubscriptionIndex
from zonal.index.alternatives import RTreeFences, STRTreeFences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from zonal.geo import Circle, Point

REPOSITORY = Path(__file__).resolve().parent.parent
RATIOS = {"99/1": (99, 1), "1/1": (1, 1), "1/10": (1, 10), "1/99": (1, 99)}
GRANULARITIES: list[int | None] = [1, 10, 25, 50, 100, None]
CLIENT_COUNTS = [1, 10, 100, 250, 500, 750, 1000]
PHASES = ("adds_s", "updates_s", "gets_s", "total_s", "wall_s")
TOPIC = "data"
console = Console(stderr=True)

Result = dict[str, Any]


def main() -> None:
    args = read_arguments()
    source, trajectories = load_trajectories(args.data)
    print(f"points: {source}")
    gc.collect()
    gc.freeze()  # the input is not the index's to be searched for garbage
    result: Result = {"benchmark": "index", "points": source, "quick": args.quick}
    for name, part in PARTS.items():
        if args.only and name not in args.only:
            continue
        with console.status(f"{name} …"):
            result[name] = part(trajectories, args)
        sys.stdout.flush()
    if not args.only and not args.quick:
        args.figures.mkdir(parents=True, exist_ok=True)
        figures.draw(result, args.figures)
    print(json.dumps(result))


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", type=Path, default=REPOSITORY.parent / "shared" / "data" / "geolife"
    )
    parser.add_argument("--figures", type=Path, default=REPOSITORY / "docs" / "figures")
    parser.add_argument("--seconds", type=float, default=0.4, help="for each point of a sweep")
    parser.add_argument("--quick", action="store_true", help="a tenth of everything, no pictures")
    parser.add_argument("--only", nargs="*", choices=list(PARTS), help="only these parts")
    return parser.parse_args()


# -- GeoBroker's workload (section 3.3) -----------------------------------------------------------


def run_workload(workload: Workload, fences: Callable[[], Fences]) -> tuple[Result, np.ndarray]:
    """The times of the three phases, and the answers: hits of every get, rows of every tenth."""
    index: SubscriptionIndex[int] = SubscriptionIndex(fences=fences)
    gc.collect()
    gc.freeze()
    clock = time.process_time  # one thread without I/O: what others do meanwhile is left out
    wall = time.perf_counter()
    start = clock()
    for number, circle in enumerate(workload.adds):
        index.add(number, TOPIC, circle, client=number)
    added = clock()
    for number, circle in enumerate(workload.updates):
        index.update(number, area=circle)
    updated = clock()
    hits = [len(index.match_rows(TOPIC, point)) for point in workload.gets]
    end, wall = clock(), time.perf_counter() - wall
    sample = [index.match_rows(TOPIC, point) for point in workload.gets[::10]]
    digest = np.array([*hits, *(hash(tuple(sorted(rows.tolist()))) for rows in sample)])
    times = {"adds_s": added - start, "updates_s": updated - added, "gets_s": end - updated}
    return {**times, "total_s": end - start, "wall_s": wall}, digest


def bench_workload(trajectories: list[Trajectory], args: argparse.Namespace) -> Result:
    workload = geobroker_workload(trajectories, scale=0.1 if args.quick else 1.0)
    makers: dict[str, tuple[Callable[[], Fences], int]] = {
        "raster (automatic)": (Raster, 5),
        "raster, granularity 25": (lambda: Raster(25), 3),
        "raster, granularity 10": (lambda: Raster(10), 3),
        "STR-tree (shapely)": (STRTreeFences, 1),
        "R-tree (rtree)": (RTreeFences, 1),
    }
    rows: Result = {}
    digests = {}
    for name, (make, repeats) in makers.items():
        runs = [run_workload(workload, make) for _ in range(repeats)]
        rows[name] = sorted((run for run, _ in runs), key=lambda run: run["total_s"])[repeats // 2]
        digests[name] = runs[0][1]
    first = digests["raster (automatic)"]
    rows["same answers"] = all((digest == first).all() for digest in digests.values())
    hits = first[: len(workload.gets)]
    rows["hits a get, mean"] = float(hits.mean())
    rows["hits a get, median"] = float(np.median(hits))
    rows["linear, a get"] = linear_get_s(workload)
    rows["values, a get"] = values_get_s(workload)
    rows["rtree / raster"] = (
        rows["R-tree (rtree)"]["total_s"] / rows["raster (automatic)"]["total_s"]
    )
    print_workload(rows, makers)
    return rows


def linear_get_s(workload: Workload, gets: int = 20) -> float:
    """A linear scan would take an hour for all gets; a few give the cost of one."""
    fences = LinearFences()
    for number, circle in enumerate(workload.adds):
        fences.add(number, circle)
    start = time.process_time()
    for point in workload.gets[:gets]:
        fences.containing(point)
    return (time.process_time() - start) / gets


def values_get_s(workload: Workload) -> float:
    """A get that returns the list of the subscriptions' values instead of row numbers."""
    index: SubscriptionIndex[int] = SubscriptionIndex()
    for number, circle in enumerate(workload.adds):
        index.add(number, TOPIC, circle)
    start = time.process_time()
    for point in workload.gets[:5000]:
        index.match(TOPIC, point)
    return (time.process_time() - start) / len(workload.gets[:5000])


def print_workload(rows: Result, names: dict[str, Any]) -> None:
    print("\nGeoBroker's workload: 35 k adds, 25 k updates, 50 k gets, circles of 0.01° (CPU time)")
    print(f"  {'':24} {'adds':>8} {'updates':>8} {'gets':>8} {'total':>8} {'wall':>8}")
    for name in names:
        times = [rows[name][phase] for phase in PHASES]
        print(f"  {name:24} " + " ".join(f"{value:7.2f}s" for value in times))
    print(
        f"  hits a get: mean {rows['hits a get, mean']:.0f}, median "
        f"{rows['hits a get, median']:.0f}; same answers: {rows['same answers']}; "
        f"rtree / raster: {rows['rtree / raster']:.0f}x"
    )
    print(
        f"  a linear scan takes {rows['linear, a get'] * 1e3:.1f} ms a get; a get as a list of "
        f"values {rows['values, a get'] * 1e6:.1f} µs"
    )
    print(f"  the paper (Java): raster 1.6 s, R-tree 72 s ({72 / 1.6:.0f}x), B-tree 232 s")


# -- figures 7 and 8 ------------------------------------------------------------------------------


def operations(ratio: tuple[int, int]) -> Iterator[bool]:
    """True for an update, False for a get, in the ratio's rhythm."""
    updates, gets = ratio
    return cycle([True] * updates + [False] * gets)


def throughput(
    trajectories: list[Trajectory],
    clients: int,
    ratio: tuple[int, int],
    granularity: float | None,
    seconds: float,
    *,
    geo: bool = True,
    visit: bool = False,
) -> float:
    """Operations a second of teleporting clients, one operation at each place they reach.

    Without geofences an update changes the subscription's value, as a client may that subscribes
    again with another quality of service. With `visit`, every hit of a get is looked at once.
    """
    routes = [trajectories[number % len(trajectories)] for number in range(clients)]
    steps = list(islice(arrivals(routes), 20_000))
    circles = [circle_at(point) for _, point in steps]
    index: SubscriptionIndex[int] = SubscriptionIndex(granularity)
    for number, route in enumerate(routes):
        index.add(number, TOPIC, circle_at(route[0]) if geo else None, client=number)
    done, kinds = 0, operations(ratio)
    start = time.process_time()
    while True:
        for (client, point), circle in zip(steps, circles, strict=True):
            if next(kinds):
                if geo:
                    index.update(client, area=circle)
                else:
                    index.update(client, value=done)
            else:
                found = index.match(TOPIC, point) if geo else index.match(TOPIC)
                if visit:
                    for _ in found:
                        pass
            done += 1
            if not done % 100 and time.process_time() - start >= seconds:
                return done / (time.process_time() - start)


def arrivals(routes: list[Trajectory]) -> Iterator[tuple[int, Point]]:
    """Clients reach the places of their trajectories in turn, and start again at the end."""
    walkers = [cycle(route) for route in routes]
    while True:
        for client, walker in enumerate(walkers):
            yield client, next(walker)


def bench_granularity(trajectories: list[Trajectory], args: argparse.Namespace) -> Result:
    seconds = args.seconds / 4 if args.quick else args.seconds
    result: Result = {"claims": {}}
    for clients in (10, 1000):
        table = sweep_granularity(trajectories, clients, seconds)
        print(f"\nFigure 7: operations a second for {clients} clients, by granularity and ratio")
        print_table(table)
        claims = check_granularity_claims(table, f" ({clients} clients)")
        print_claims(claims)
        result["claims"] |= claims
        result[f"clients {clients}"] = table
    return result


def sweep_granularity(
    trajectories: list[Trajectory], clients: int, seconds: float
) -> dict[str, dict[str, float]]:
    return {
        name: {
            str(granularity or "auto"): throughput(
                trajectories, clients, ratio, granularity, seconds
            )
            for granularity in GRANULARITIES
        }
        for name, ratio in RATIOS.items()
    }


def check_granularity_claims(table: dict[str, Any], suffix: str) -> dict[str, str]:
    fixed = [str(granularity) for granularity in GRANULARITIES if granularity]
    gets, updates, even = table["1/99"], table["99/1"], table["1/1"]
    best = {name: max(fixed, key=row.__getitem__) for name, row in table.items()}
    spread = {
        name: min(row[name] / max(row[other] for other in fixed) for row in table.values())
        for name in fixed
    }
    balanced = max(spread, key=spread.__getitem__)
    auto = min(row["auto"] / max(row[name] for name in fixed) for row in table.values())
    claims = {
        "finer fields make gets faster": (
            gets["100"] > gets["1"],
            f"granularity 100 has {gets['100'] / gets['1']:.2f}x the throughput of 1 at 1/99",
        ),
        "finer fields make updates slower": (
            updates["100"] < updates["1"],
            f"granularity 100 has {updates['100'] / updates['1']:.2f}x the throughput of 1 at 99/1",
        ),
        "25 is well balanced for all ratios": (
            balanced == "25" or spread["25"] > 0.8,
            f"worst case {spread['25']:.2f} of the best; most balanced is {balanced}",
        ),
        "10 is best at 1/1": (
            best["1/1"] == "10",
            f"best is {best['1/1']}; 10 reaches {even['10'] / even[best['1/1']]:.2f} of it",
        ),
    }
    told = {f"{text}{suffix}": verdict(*claim) for text, claim in claims.items()}
    told[f"(ours) automatic is near the best fixed one{suffix}"] = verdict(
        auto > 0.8, f"worst case {auto:.2f} of the best fixed granularity of each ratio"
    )
    return told


def bench_geo_or_not(trajectories: list[Trajectory], args: argparse.Namespace) -> Result:
    seconds = args.seconds / 4 if args.quick else args.seconds
    result: Result = {"claims": {}}
    for title, visit in (("index alone", False), ("every hit visited", True)):
        factors = sweep_clients(trajectories, seconds, visit=visit)
        print(f"\nFigure 8, {title}: throughput with geofences (granularity 25) over without")
        print_table(factors, digits=2)
        claims = check_geo_claims(factors, f" ({title})")
        print_claims(claims)
        result["claims"] |= claims
        result[title] = factors
    return result


def sweep_clients(
    trajectories: list[Trajectory], seconds: float, *, visit: bool
) -> dict[str, dict[str, float]]:
    factors: dict[str, dict[str, float]] = {}
    for name, ratio in RATIOS.items():
        factors[name] = {}
        for clients in CLIENT_COUNTS:
            geo, plain = (
                throughput(trajectories, clients, ratio, 25, seconds, geo=flag, visit=visit)
                for flag in (True, False)
            )
            factors[name][str(clients)] = geo / plain
    return factors


def check_geo_claims(factors: dict[str, dict[str, float]], suffix: str) -> dict[str, str]:
    one_update, one_get = 1 / factors["99/1"]["1"], 1 / factors["1/99"]["1"]
    many = factors["1/99"]["1000"], factors["1/10"]["1000"]
    crossing = next((n for n, factor in factors["1/99"].items() if factor > 1), "none")
    claims = {
        "one client, 99/1: 24.37 times slower with geofences, not more": (
            one_update <= 24.37,
            f"{one_update:.2f} times slower",
        ),
        "one client, 1/99: 1.13 times slower, not more": (
            one_get <= 1.13,
            f"{one_get:.2f} times slower",
        ),
        "one client: geofences cost more in updates than in gets": (
            one_update > one_get,
            f"{one_update:.2f} against {one_get:.2f}",
        ),
        "many clients: geofences win where gets dominate": (
            min(many) > 1,
            f"1000 clients: {many[0]:.2f}x at 1/99, {many[1]:.2f}x at 1/10; ahead from {crossing}",
        ),
    }
    return {text + suffix: verdict(*claim) for text, claim in claims.items()}


def verdict(holds: bool, evidence: str) -> str:
    return f"{'holds' if holds else 'does not hold'}: {evidence}"


# -- growth, memory, and what else the users of the index do -------------------------------------


def bench_growth(_: list[Trajectory], args: argparse.Namespace) -> Result:
    counts = [1_000, 10_000, 100_000] + ([] if args.quick else [1_000_000])
    rows = {str(count): growth_point(count) for count in counts}
    growth = rows[str(counts[-1])]["get_us"] / rows[str(counts[0])]["get_us"]
    print("\nGrowth at a fixed density (64,000 circles of 0.01° in a square degree)")
    for count, row in rows.items():
        print(
            f"  {int(count):>9,} subscriptions: add {row['add_us']:5.1f} µs, get "
            f"{row['get_us']:5.1f} µs ({row['hits']:.0f} hits), index {row['index_bytes']:.0f} B "
            f"and area {row['area_bytes']:.0f} B each"
        )
    print(f"  a get costs {growth:.2f} times as much with {counts[-1]:,} as with {counts[0]:,}")
    return {"rows": rows, "growth": growth}


def growth_point(count: int) -> Result:
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    empty = resident_bytes()
    circles = scattered_circles(count, per_square_degree=64_000.0, seed=count)
    gc.collect()
    before = resident_bytes()
    index: SubscriptionIndex[int] = SubscriptionIndex()
    start = time.process_time()
    for number, circle in enumerate(circles):
        index.add(number, TOPIC, circle, client=number)
    add_s = time.process_time() - start
    gc.collect()
    held = resident_bytes() - before
    asked = [circle.center for circle in random.Random(1).choices(circles, k=20_000)]
    points = [point for point in asked if point is not None]
    hits = sum(len(index.match_rows(TOPIC, point)) for point in points[:2000]) / 2000
    rounds = []
    for begin in range(0, len(points), 2000):
        start = time.process_time()
        for point in points[begin : begin + 2000]:
            index.match_rows(TOPIC, point)
        rounds.append((time.process_time() - start) / 2000)
    return {
        "add_us": add_s / count * 1e6,
        "get_us": statistics.median(rounds) * 1e6,
        "hits": hits,
        "index_bytes": held / count,
        "area_bytes": (before - empty) / count,
    }


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


def bench_other_uses(trajectories: list[Trajectory], args: argparse.Namespace) -> Result:
    count = 1_000 if args.quick else 10_000
    result = {
        "match without places, 1000 subscribers, ns": plain_match_ns(1000),
        "match without places after a change, 1000 subscribers, µs": changed_match_us(1000),
        "full geo-context, 1000 clients, µs": full_context_us(trajectories),
        f"union of the covers of {count} areas, s": union_s(count),
    }
    print("\nOther uses")
    for name, value in result.items():
        print(f"  {name}: {value:.2f}")
    return result


def plain_match_ns(subscribers: int, rounds: int = 100_000) -> float:
    index: SubscriptionIndex[int] = SubscriptionIndex()
    for number in range(subscribers):
        index.add(number, "city/*/air")
    start = time.process_time()
    for _ in range(rounds):
        index.match("city/milano/air")
    return (time.process_time() - start) / rounds * 1e9


def changed_match_us(subscribers: int, rounds: int = 2_000) -> float:
    index: SubscriptionIndex[int] = SubscriptionIndex()
    for number in range(subscribers):
        index.add(number, "city/*/air")
    start = time.process_time()
    for number in range(rounds):
        index.remove(number)
        index.add(number + subscribers, "city/*/air")
        index.match("city/milano/air")
    return (time.process_time() - start) / rounds * 1e6


def full_context_us(trajectories: list[Trajectory], rounds: int = 5_000) -> float:
    """An arrival in GeoBroker's use case: locate, move the geofence, publish with a geofence."""
    routes = [trajectories[number % len(trajectories)] for number in range(1000)]
    index: SubscriptionIndex[int] = SubscriptionIndex()
    for number, route in enumerate(routes):
        index.add(number, TOPIC, circle_at(route[0]), client=number)
        index.locate(number, route[0])
    steps = list(islice(arrivals(routes), rounds))
    circles: list[Circle] = [circle_at(point) for _, point in steps]
    start = time.process_time()
    for (client, point), circle in zip(steps, circles, strict=True):
        index.locate(client, point)
        index.update(client, area=circle)
        index.match(TOPIC, point, circle)
    return (time.process_time() - start) / rounds * 1e6


def union_s(count: int) -> float:
    areas = scattered_circles(count, per_square_degree=64_000.0, seed=2)
    interest = InterestCover()
    start = time.process_time()
    for number, area in enumerate(areas):
        interest.add(number, area)
    interest.take_changes()
    return time.process_time() - start


def print_table(table: dict[str, dict[str, float]], digits: int = 0) -> None:
    columns = list(next(iter(table.values())))
    shown = Table(box=None)
    for heading in ("ratio", *columns):
        shown.add_column(heading, justify="right")
    for name, row in table.items():
        shown.add_row(name, *(f"{row[column]:,.{digits}f}" for column in columns))
    Console(width=100).print(shown)


def print_claims(claims: dict[str, str]) -> None:
    for claim, answer in claims.items():
        print(f"  {claim}: {answer}")


PARTS: dict[str, Callable[[list[Trajectory], argparse.Namespace], Result]] = {
    "workload": bench_workload,
    "granularity": bench_granularity,
    "geo or not": bench_geo_or_not,
    "growth": bench_growth,
    "other uses": bench_other_uses,
}

if __name__ == "__main__":
    main()
