"""How parts grow, measured: the broker and its index, a store, a lake's list of files.

Each size is measured in a process of its own, so that what another left behind blurs nothing.
"""

from __future__ import annotations

import contextlib
import gc
import json
import multiprocessing
import os
import random
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from zonal.errors import LakeError
from zonal.geo import Circle, Point, cell_ids_of
from zonal.index import SubscriptionIndex
from zonal.pipeline import LOG_SCHEMA, History, Lake, Selection
from zonal.store import StoredThing, ThingFilter, open_table
from zonal_lab.index import TOPIC, scattered_circles
from zonal_lab.scale.broker_growth import measure_broker
from zonal_lab.systems import resident_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    Figures = dict[str, float]

ROWS_A_FILE = 20_000
"""Of the simulated lake."""
A_DAY = 20
"""Files of a region and day, sorted by place."""
LAKE_REGIONS = 10
_DENSITY = 64_000.0  # circles of 0.01° a square degree
_ASKED = 5000
_A_CIRCLE = 100  # things in the circle that is asked for, however many there are
_QUESTIONS = 50
_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def measure_growth(part: str, size: int) -> Figures:
    """One size of a part, in a fresh process."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as process:
        return process.submit(GROWING[part], size).result()


def _index(size: int) -> Figures:
    """So many subscriptions with circles, at the same density; then publications."""
    circles = scattered_circles(size, _DENSITY, seed=size)
    gc.collect()
    gc.freeze()
    before = resident_bytes(os.getpid())
    index: SubscriptionIndex[int] = SubscriptionIndex()
    begun = time.process_time()
    for number, circle in enumerate(circles):
        index.add(number, TOPIC, circle, client=number)
    added = time.process_time() - begun
    gc.collect()
    held = resident_bytes(os.getpid()) - before
    asked = [each.center for each in random.Random(1).choices(circles, k=_ASKED)]
    for point in asked[:500]:
        index.match(TOPIC, point)
    times, hits = [], 0
    for point in asked:
        begun = time.perf_counter()
        hits += len(index.match(TOPIC, point))
        times.append(time.perf_counter() - begun)
    begun = time.process_time()
    for number, point in enumerate(asked):
        index.update(number % size, area=Circle(point, radius_m=1000))
    moved = time.process_time() - begun
    return {
        "add_us": added / size * 1e6,
        "move_us": moved / len(asked) * 1e6,
        "ask_us": median(times) * 1e6,
        "ask_p99_us": float(np.percentile(times, 99)) * 1e6,
        "hits": hits / len(asked),
        "bytes_each": held / size,
    }


def _store(size: int) -> Figures:
    """So many things in a store's table; then moves, and circles with a hundred things."""
    rng = np.random.default_rng(size)
    side = 4.0
    lats, lons = 43.0 + side * rng.random(size), 7.0 + side * rng.random(size)
    radius_m = 111_195 * (side * side * 0.7 * _A_CIRCLE / size / np.pi) ** 0.5
    with tempfile.TemporaryDirectory(prefix="zonal-lab-") as folder:
        before = resident_bytes(os.getpid())
        table = open_table(folder)
        begun = time.process_time()
        for start in range(0, size, 1000):
            table.write(_things(np.arange(start, min(start + 1000, size)), lats, lons, 1))
        added = time.process_time() - begun
        moves = min(size, 20_000)
        chosen = rng.choice(size, moves, replace=False)
        lats[chosen] += rng.normal(0, 3.5e-4, moves)
        begun = time.process_time()
        for start in range(0, moves, 1000):
            table.write(_things(chosen[start : start + 1000], lats, lons, 2))
        moved = time.process_time() - begun
        times, hits = [], 0
        for _ in range(_QUESTIONS):
            at = Point(*rng.uniform((43.5, 7.5), (46.5, 10.5)))
            begun = time.perf_counter()
            wanted = ThingFilter("city/**", Circle(at, radius_m=float(radius_m)))
            hits += sum(1 for _ in table.find(wanted))
            times.append(time.perf_counter() - begun)
        grown = resident_bytes(os.getpid()) - before
        table.close()
        disk = sum(path.stat().st_size for path in Path(folder).iterdir())
    return {
        "add_us": added / size * 1e6,
        "move_us": moved / moves * 1e6,
        "ask_us": median(times) * 1e6,
        "ask_p99_us": float(np.percentile(times, 99)) * 1e6,
        "hits": hits / _QUESTIONS,
        "bytes_each": disk / size,
        "memory_bytes": grown,
    }


def _things(numbers: Any, lats: Any, lons: Any, when: int) -> list[StoredThing]:
    cells = cell_ids_of(lats[numbers], lons[numbers]).astype(np.int64)
    rows = zip(numbers.tolist(), lats[numbers].tolist(), lons[numbers].tolist(), cells.tolist(),
               strict=True)  # fmt: skip
    return [
        StoredThing(
            f"city/bus/{number}", "", lat, lon, cell, when, "a1b2c3", False, b'{"speed": 33.5}',
            "application/json", "s2", None, None, "00000000a1b2c3d4", when,
        )
        for number, lat, lon, cell in rows
    ]  # fmt: skip


def _lake(size: int) -> Figures:
    """A lake of so many rows by the list of its files alone: opened, and pruned to a question."""
    from deltalake import DeltaTable, Schema

    with tempfile.TemporaryDirectory(prefix="zonal-lab-") as folder:
        lake = Lake(folder)
        columns = LOG_SCHEMA.append(pa.field("time", pa.timestamp("us", tz="UTC")))
        columns = columns.append(pa.field("date", pa.date32())).append(
            pa.field("region", pa.string())
        )
        table = DeltaTable.create(
            lake.url_of("silver"), Schema.from_arrow(columns), partition_by=["date", "region"]
        )
        files = _write_list(Path(folder) / "silver", max(size // ROWS_A_FILE, 1))
        table.update_incremental()
        table.create_checkpoint()
        written = sum(
            path.stat().st_size for path in (Path(folder) / "silver/_delta_log").glob("*.parquet")
        )
        del table
        gc.collect()
        before = resident_bytes(os.getpid())
        history = History(lake=folder)
        spent_s, took_s = _timed(history, _question())
        return {
            "files": history.last_scan.files,
            "left": history.last_scan.files_opened,
            "ask_us": spent_s * 1e6,
            "ask_p99_us": took_s * 1e6,
            "bytes_each": written / files,
            "memory_bytes": resident_bytes(os.getpid()) - before,
        }


def _timed(history: History, wanted: Selection) -> tuple[float, float]:
    """Until the files to open are known (the first is not there): processor time, and the clock."""
    spent, begun = time.process_time(), time.perf_counter()
    with contextlib.suppress(LakeError):
        next(history.batches(wanted), None)
    return time.process_time() - spent, time.perf_counter() - begun


def _question() -> Selection:
    """A district and one hour."""
    since = _BEGIN + timedelta(hours=9)
    at = Circle(Point(45.0, 9.25), radius_m=3000)
    return Selection("city/**", at, since, since + timedelta(hours=1))


def _write_list(table: Path, files: int) -> int:
    """Say in the table's log that it has these files; none of them exists."""
    # A Delta commit says what was in it; the history asks for it.
    lines = [json.dumps({"commitInfo": {"userMetadata": json.dumps({"offsets": {}})}})]
    strips = [_strips(region) for region in range(LAKE_REGIONS)]
    for number in range(files):
        day, rest = divmod(number, LAKE_REGIONS * A_DAY)
        region, part = divmod(rest, A_DAY)
        lines.append(json.dumps({"add": _file(day, region, part, strips[region][part])}))
    log = table / "_delta_log" / "00000000000000000001.json"
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return files


def _strips(region: int) -> list[tuple[dict[str, float], dict[str, float]]]:
    """Least and greatest values of a region's rows, sorted by cell and cut into files."""
    rng = np.random.default_rng(region)
    lats, lons = 44.5 + rng.random(ROWS_A_FILE), 5.0 + region + rng.random(ROWS_A_FILE)
    cells = cell_ids_of(lats, lons).astype(np.int64)
    order = np.argsort(cells)
    columns = {"latitude": lats[order], "longitude": lons[order], "cell": cells[order]}
    parts = [
        {name: each[start : start + ROWS_A_FILE // A_DAY] for name, each in columns.items()}
        for start in range(0, ROWS_A_FILE, ROWS_A_FILE // A_DAY)
    ]
    return [
        (
            {name: each.min().item() for name, each in part.items()},
            {name: each.max().item() for name, each in part.items()},
        )
        for part in parts
    ]


def _file(
    day: int, region: int, part: int, strip: tuple[dict[str, float], dict[str, float]]
) -> dict[str, Any]:
    """One of the files of a region and day."""
    date = (_BEGIN + timedelta(days=day)).date()
    low, high = strip
    stats = {
        "numRecords": ROWS_A_FILE,
        "minValues": low | {"time": f"{date}T00:00:00Z"},
        "maxValues": high | {"time": f"{date}T23:59:59Z"},
        "nullCount": dict.fromkeys((*low, "time"), 0),
    }
    return {
        "path": f"date={date}/region=r{region}/part-{part:05}.parquet",
        "partitionValues": {"date": str(date), "region": f"r{region}"},
        "size": 40 * ROWS_A_FILE, "modificationTime": 0, "dataChange": True,
        "stats": json.dumps(stats),
    }  # fmt: skip


GROWING: dict[str, Callable[[int], Figures]] = {
    "index": _index, "broker": measure_broker, "store": _store, "lake": _lake,
}  # fmt: skip
"""The parts that are measured so."""
