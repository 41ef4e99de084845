"""The subscription index: GeoBroker's workload, its figures 7 and 8, growth, and memory.

Human lines first, then one JSON line. Pictures go to docs/figures. Everything runs in one thread.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one thread means one thread

import numpy as np
from rich.console import Console

import index_figures as figures
from index_growth import bench_growth, bench_other_uses
from index_sweeps import bench_geo_or_not, bench_granularity
from zonal.index import Fences, Raster, SubscriptionIndex
from zonal_lab.index import (
    TOPIC,
    LinearFences,
    RTreeFences,
    STRTreeFences,
    Trajectory,
    Workload,
    geobroker_workload,
    load_trajectories,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.geo import Circle

REPOSITORY = Path(__file__).resolve().parent.parent
PHASES = ("adds_s", "updates_s", "gets_s", "total_s", "wall_s")
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
    parser.add_argument("--data", type=Path, help="a folder with Geolife's *.plt; else made up")
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
    rows["in random order, s"] = shuffled_s(workload)
    rows["linear, a get"] = linear_get_s(workload)
    rows["subscriptions"] = subscriptions_s(workload)
    rows["values, a get"] = values_get_s(workload)
    rows["rtree / raster"] = (
        rows["R-tree (rtree)"]["total_s"] / rows["raster (automatic)"]["total_s"]
    )
    print_workload(rows, makers)
    return rows


def shuffled_s(workload: Workload) -> float:
    """The raster's time for the same updates and gets, but in random order after the adds."""
    index: SubscriptionIndex[int] = SubscriptionIndex()
    for number, circle in enumerate(workload.adds):
        index.add(number, TOPIC, circle, client=number)
    steps: list[Any] = [*enumerate(workload.updates), *workload.gets]
    random.Random(8).shuffle(steps)
    start = time.process_time()
    for step in steps:
        if isinstance(step, tuple):
            index.update(step[0], area=step[1])
        else:
            index.match_rows(TOPIC, step)
    return time.process_time() - start


def linear_get_s(workload: Workload, gets: int = 20) -> float:
    """A linear scan would take an hour for all gets; a few give the cost of one."""
    fences = LinearFences()
    for number, circle in enumerate(workload.adds):
        fences.add(number, circle)
    start = time.process_time()
    for point in workload.gets[:gets]:
        fences.containing(point)
    return (time.process_time() - start) / gets


def subscriptions_s(workload: Workload, repeats: int = 3) -> Result:
    """The workload with subscriptions as answers, in arrays: the best run, by phases."""
    runs = []
    for _ in range(repeats):
        index: SubscriptionIndex[Circle] = SubscriptionIndex()
        start = time.process_time()
        for number, circle in enumerate(workload.adds):
            index.add(number, TOPIC, circle, client=number, value=circle)
        added = time.process_time()
        for number, circle in enumerate(workload.updates):
            index.update(number, area=circle)
        updated = time.process_time()
        for point in workload.gets:
            index.values(index.match_rows(TOPIC, point))
        end = time.process_time()
        runs.append((end - start, added - start, updated - added, end - updated))
    names = ("total_s", "adds_s", "updates_s", "gets_s")
    return dict(zip(names, min(runs), strict=True))


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
    whole = ", ".join(f"{name[:-2]} {value:.2f} s" for name, value in rows["subscriptions"].items())
    print(f"  with subscriptions as answers, in arrays: {whole} (target 2 s)")
    print(f"  updates and gets in random order take {rows['in random order, s']:.2f} s")
    print(f"  the paper (Java): raster 1.6 s, R-tree 72 s ({72 / 1.6:.0f}x), B-tree 232 s")


PARTS: dict[str, Callable[[list[Trajectory], argparse.Namespace], Result]] = {
    "workload": bench_workload,
    "granularity": bench_granularity,
    "geo or not": bench_geo_or_not,
    "growth": bench_growth,
    "other uses": bench_other_uses,
}

if __name__ == "__main__":
    main()
