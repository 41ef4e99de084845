"""How the index grows, what a subscription weighs, and what its users do besides."""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zonal.index import InterestCover, SubscriptionIndex
from zonal_lab.index import (
    TOPIC,
    Trajectory,
    arrivals,
    circle_at,
    scattered_circles,
)

if TYPE_CHECKING:
    import argparse

    from zonal.geo import Circle

Result = dict[str, Any]


def bench_growth(_: list[Trajectory], args: argparse.Namespace) -> Result:
    counts = [1_000, 10_000, 100_000] + ([] if args.quick else [1_000_000])
    # Each count in a fresh process, so that memory given back by another does not blur it.
    spawn = multiprocessing.get_context("spawn")
    rows = {}
    for count in counts:
        with ProcessPoolExecutor(1, mp_context=spawn) as process:
            rows[str(count)] = process.submit(growth_point, count).result()
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
    gc.collect()
    empty = resident_bytes()
    circles = scattered_circles(count, per_square_degree=64_000.0, seed=count)
    gc.collect()
    gc.freeze()
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
    hits = sum(len(index.match_rows(TOPIC, point)) for point in points) / len(points)
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
