"""The pipeline's figures in one run: stream, recorder, deliveries, history, two executors.

`python benchmarks/bench_pipeline.py [part …] [--scale 0.1]`; human lines, then one JSON line. With
`--into FILE` parts can be run one after another: the picture shows all that the file has. With
`--keep FOLDER` its log is used again, and history asks the lake that the stream has left there; the
part `log` only writes the log. With
`--data FOLDER` zones and places are real ones (`milano_nil/*.geojson`, `geolife/**/*.plt`). On a
shared machine the wall clock says little, so each figure is also given per second of processor
time of all processes taken together, times two: what two free cores would do.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import shapely

from pipeline_data import (
    DECLARED,
    fleet,
    message_table,
    subscription_table,
    write_log,
    zones,
)
from pipeline_picture import draw
from zonal.geo import Box
from zonal.pipeline import (
    LOG_SCHEMA,
    History,
    Lake,
    Log,
    LogWriter,
    Recorder,
    RecorderPlan,
    Selection,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deltalake import DeltaTable
    from pyspark.sql import SparkSession

    from zonal.pipeline.jobs import BatchReport


@dataclass
class Took:
    """How long something took, by the clock and in processor time."""

    wall_s: float = 0.0
    cpu_s: float = 0.0


@contextmanager
def measured() -> Iterator[Took]:
    took = Took()
    start, cpu = time.perf_counter(), processor_s()
    yield took
    took.wall_s = time.perf_counter() - start
    took.cpu_s = max(processor_s() - cpu, 0.01)


def processor_s() -> float:
    """Processor time of this process and all below it (Spark's JVM and its workers)."""
    # Also of children that ended, so that no worker's time is lost.
    ticks = sum(sum(map(int, fields[11:15])) for fields in family().values())
    return ticks / os.sysconf("SC_CLK_TCK")


def family() -> dict[int, list[str]]:
    """What the kernel says of this process and all below it, by their numbers."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                text = (entry / "stat").read_text()
            except OSError:
                continue
            found[int(entry.name)] = text.rpartition(")")[2].split()
    ours = {}
    for pid, fields in found.items():
        at = pid
        while at in found and at != os.getpid():
            at = int(found[at][1])
        if at == os.getpid():
            ours[pid] = fields
    return ours


@contextmanager
def peak_memory() -> Iterator[list[int]]:
    """The most memory that this process and all below it had together, in bytes."""
    peak, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.5):
            peak[0] = max(peak[0], sum(_resident(pid) for pid in family()))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        done.set()
        watcher.join()


def _resident(pid: int) -> int:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def say(text: str) -> None:
    print(text, flush=True)


def spark(master: str = "local[2]") -> SparkSession:
    from zonal.pipeline.jobs import open_spark

    return open_spark(
        master,
        conf={
            "spark.sql.shuffle.partitions": "2",
            "spark.driver.memory": "4g",
            "spark.executor.memory": "2g",
        },
    )


def bench_stream(folder: Path, scale: float, data: Path | None) -> dict[str, float]:
    """Log → silver → gold against Spark's own stream of the log with one aggregate."""
    from zonal.pipeline.jobs import Pipeline, PipelinePlan, SilverPlan, WindowPlan

    rows = int(4_000_000 * scale)
    log, warm = bench_log(folder, scale), write_log(folder / "warm", 300_000)
    session = spark()
    silver = SilverPlan(DECLARED, zones(data))
    plan = PipelinePlan(silver, WindowPlan(("pm10",)), gold_every=3)
    for source, lake in ((warm, "lake-0"), (warm, "lake-1")):
        Pipeline(session, source, folder / lake, plan).run()
    reports: list[BatchReport] = []
    with measured() as native:
        _native_aggregate(session, log, folder / "native")
    with measured() as ours, peak_memory() as peak:
        Pipeline(session, log, folder / "lake", plan, on_batch=reports.append).run(max_files=10)
    halves = np.array_split(np.array([report.seconds for report in reports]), 2)
    assert session.table("native").agg({"count": "sum"}).first()[0] == rows
    silver = Lake(folder / "lake").find("silver")
    assert silver is not None
    assert silver.to_pyarrow_dataset().count_rows() == rows
    result = {
        "rows": rows,
        "rows_per_s": rows / ours.wall_s,
        "rows_per_2_cpu_s": 2 * rows / ours.cpu_s,
        "native_rows_per_s": rows / native.wall_s,
        "native_rows_per_2_cpu_s": 2 * rows / native.cpu_s,
        "peak_gb": peak[0] / 1e9,
        "later_half_against_first": float(np.median(halves[1]) / np.median(halves[0])),
    }
    say(
        f"log → silver → gold: {result['rows_per_s']:,.0f} rows/s by the clock, "
        f"{result['rows_per_2_cpu_s']:,.0f} on two free cores (target 100,000); Spark's own "
        f"stream of the log with one aggregate: {result['native_rows_per_s']:,.0f} and "
        f"{result['native_rows_per_2_cpu_s']:,.0f}; at most {result['peak_gb']:.1f} GB in all "
        f"processes; a batch of the second half took {result['later_half_against_first']:.2f} "
        "times as long as one of the first"
    )
    return result


def bench_log(folder: Path, scale: float, _: Path | None = None) -> Path:
    """The log that the stream reads; one that is there already is taken as it is."""
    log = folder / "log"
    return log if log.exists() else write_log(log, int(4_000_000 * scale))


def _native_aggregate(session: SparkSession, log: Path, out: Path) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    stream = session.readStream.format("delta").load(str(log))
    grouped = (
        stream.withWatermark("timestamp", "1 hour")
        .groupBy(F.window("timestamp", "5 minutes"), "topic")
        .agg(F.count("*").alias("count"), F.avg("latitude"), F.max("latitude"))
    )
    query = (
        grouped.writeStream.format("memory")
        .queryName("native")
        .outputMode("complete")
        .option("checkpointLocation", str(out))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def bench_recorder(folder: Path, scale: float, _: Path | None) -> dict[str, Any]:
    """Messages a second from an unpaced publisher through a router into the log, five times."""
    runs = [_record(folder / str(number), int(600_000 * scale)) for number in range(5)]
    rates = [run["messages_per_s"] for run in runs]
    say(
        f"recorder through a router: {', '.join(f'{rate:,.0f}' for rate in rates)} msg/s (target "
        f"50,000); {sum(run['overflowed'] for run in runs)} overflowed, "
        f"{sum(run['lost'] for run in runs)} lost; "
        f"{statistics.median(run['all_cpu_us'] for run in runs):.0f} µs of processor time a message"
    )
    return {"messages_per_s": statistics.median(rates), "runs": runs}


def _record(folder: Path, count: int) -> dict[str, float]:
    import zonal

    context = multiprocessing.get_context("spawn")
    with zonal.Router(("tcp/127.0.0.1:0",)) as router:
        endpoint = router.endpoints[0]
        gate, done = context.Event(), context.Event()
        sender = context.Process(target=_publish, args=(endpoint, count, gate, done))
        plan = RecorderPlan(recover=False)
        with zonal.open(zonal.config("client", connect=[endpoint])) as session:  # noqa: SIM117
            with Recorder(session, folder / "log", ["city/**"], plan=plan) as recorder:
                sender.start()
                gate.wait()
                with measured() as took:
                    end = time.monotonic() + 120
                    while recorder.counters.written < count and time.monotonic() < end:
                        time.sleep(0.01)
                counters = recorder.counters
                done.set()
                sender.join()
    return {
        "messages": count,
        "messages_per_s": count / took.wall_s,
        "all_cpu_us": 1e6 * took.cpu_s / count,
        "overflowed": counters.overflowed,
        "lost": count - Log(folder / "log").next_offset(),
    }


def _publish(endpoint: str, count: int, gate: Any, done: Any) -> None:
    import zenoh

    import zonal

    with zonal.open(
        zonal.config("client", connect=[endpoint]), position=zonal.Point(45.46, 9.19)
    ) as session:
        publisher = session.declare_publisher(
            "city/airquality", congestion_control=zenoh.CongestionControl.BLOCK
        )
        gate.set()
        for number in range(count):
            publisher.put(b'{"pm10":%d,"station":"s1"}' % (number % 100))
        done.wait()  # a session that closes would drop what is still on its way


def bench_deliveries(folder: Path, scale: float, data: Path | None) -> dict[str, float]:
    """The join against the cross join with the same predicate, and a single GeoPandas process."""
    from zonal.pipeline.jobs import delivery_counts

    session = spark()
    sizes = [int(1_000_000 * scale) // 4, int(1_000_000 * scale)]
    subscribers = int(10_000 * scale**0.5)
    pq.write_table(message_table(sizes[1], data), folder / "m.parquet", row_group_size=100_000)
    pq.write_table(subscription_table(subscribers, data), folder / "s.parquet")
    messages = session.read.parquet(str(folder / "m.parquet"))
    wanted = session.read.parquet(str(folder / "s.parquet"))
    # Start workers and compile; at the smaller size, or its own run would pay for that.
    delivery_counts(messages.where(f"id < {sizes[0]}"), wanted).count()
    took, totals = [], []
    for size in sizes:
        with measured() as one:
            counted = delivery_counts(messages.where(f"id < {size}"), wanted)
            totals.append(counted.agg({"count": "sum"}).first()[0])
        took.append(one)
    cross, sampled = _cross_join(session, folder, sample_messages=20_000, sample_subscribers=10_000)
    pairs = sizes[1] * subscribers
    alone = _geopandas_join(
        folder, subscribers=subscribers, sample_subscribers=min(200, subscribers)
    )
    result = {
        "messages": sizes[1],
        "subscriptions": subscribers,
        "deliveries": totals[1],
        "join_s": took[1].wall_s,
        "join_cpu_s": took[1].cpu_s,
        "growth_1x_to_4x": took[1].cpu_s / took[0].cpu_s,
        "growth_wall": took[1].wall_s / took[0].wall_s,
        "cross_join_s_extrapolated": cross.wall_s * pairs,
        "times_faster_than_cross_join": cross.wall_s * pairs / took[1].wall_s,
        "times_faster_by_cpu": cross.cpu_s * pairs / took[1].cpu_s,
        "cross_join_sampled_pairs": sampled,
        "geopandas_s_extrapolated": alone.wall_s,
        "times_faster_than_geopandas": alone.wall_s / took[1].wall_s,
        "times_geopandas_by_cpu": alone.cpu_s / took[1].cpu_s,
    }
    say(
        f"deliveries, {sizes[1]:,} messages × {subscribers:,} subscriptions in Beijing: "
        f"{totals[1]:,} deliveries in {took[1].wall_s:.1f} s ({took[1].cpu_s:.1f} s of processor "
        f"time); {result['times_faster_than_cross_join']:,.0f} times faster than the cross join "
        f"({result['times_faster_by_cpu']:,.0f} by processor time; target 20; measured on "
        f"{sampled:,} pairs, {result['cross_join_s_extrapolated']:,.0f} s for all), "
        f"{result['times_faster_than_geopandas']:.1f} times faster than one GeoPandas process "
        f"({alone.wall_s:,.0f} s, from 200 subscriptions); four times the messages take "
        f"{result['growth_wall']:.2f} times as long ({result['growth_1x_to_4x']:.2f} by processor)"
    )
    return result


def _cross_join(
    session: SparkSession, folder: Path, *, sample_messages: int, sample_subscribers: int
) -> tuple[Took, int]:
    """Seconds per pair, and how many: all by the same great-circle predicate, compiled by Spark."""
    from pyspark.sql import functions as F  # noqa: N812

    messages = session.read.parquet(str(folder / "m.parquet")).limit(sample_messages)
    wanted = session.read.parquet(str(folder / "s.parquet")).limit(sample_subscribers)
    left = messages.select(
        "topic", F.radians("latitude").alias("a"), F.radians("longitude").alias("b")
    )
    right = wanted.select(
        F.radians("latitude").alias("c"), F.radians("longitude").alias("d"), "area_radius_m"
    )
    left, right = left.repartition(2).persist(), right.persist()  # a task for each core
    count = left.count() * right.count()
    half = F.sin((F.col("a") - F.col("c")) / 2)
    other = F.sin((F.col("b") - F.col("d")) / 2)
    chord = half * half + F.cos("a") * F.cos("c") * other * other
    near = 2 * 6_371_008.8 * F.asin(F.sqrt(chord)) <= F.col("area_radius_m")
    joined = left.crossJoin(F.broadcast(right)).where((F.col("topic") == "city/air") & near)
    joined.where("a < 0").count()  # compile
    with measured() as took:
        joined.count()
    return Took(took.wall_s / count, took.cpu_s / count), count


def _geopandas_join(folder: Path, *, subscribers: int, sample_subscribers: int) -> Took:
    """Seconds of one GeoPandas process: index all messages, join a sample of circles, scale up."""
    import geopandas

    table = pq.read_table(folder / "m.parquet", columns=["latitude", "longitude"])
    wanted = pq.read_table(folder / "s.parquet").slice(0, sample_subscribers)
    points = geopandas.GeoDataFrame(
        geometry=geopandas.points_from_xy(
            table["longitude"].to_numpy(), table["latitude"].to_numpy()
        )
    )
    with measured() as build:
        points.sindex.query(shapely.Point(0, 0))  # builds it
    # Circles as polygons, and no topic: less than the join answers, in GeoPandas' favour.
    reach = np.degrees(np.array(wanted["area_radius_m"]) / 6_371_008.8)
    lats, lons = wanted["latitude"].to_numpy(), wanted["longitude"].to_numpy()
    circles = [
        shapely.transform(
            shapely.Point(0, 0).buffer(size, quad_segs=16),
            lambda xy, lat=lat, lon=lon: xy / [np.cos(np.radians(lat)), 1.0] + [lon, lat],
        )
        for lat, lon, size in zip(lats, lons, reach, strict=True)
    ]
    with measured() as query:
        geopandas.sjoin(geopandas.GeoDataFrame(geometry=circles), points, predicate="contains")
    times = subscribers / len(circles)
    return Took(build.wall_s + times * query.wall_s, build.cpu_s + times * query.cpu_s)


def bench_history(folder: Path, scale: float, _: Path | None) -> dict[str, float]:
    """A district and one hour against a full scan, and against DuckDB, on one table."""
    table, history, name = _past(folder, scale)
    rows = table.to_pyarrow_dataset().count_rows()
    files = pa.table(table.get_add_actions(flatten=True))
    since = min(files["min.timestamp"].to_pylist()) + timedelta(hours=9)
    area = Box(45.455, 9.17, 45.475, 9.20)
    wanted = Selection("city/**", area, since, since + timedelta(hours=1))
    pruned, beside, full = [], [], []
    for _ in range(9):  # in turns, so that both meet the same machine
        with measured() as one:
            found = history.table(wanted)
        pruned.append(one)
        with measured() as one:
            same = _duckdb(table, name, wanted)
        beside.append(one)
    assert same == found.num_rows
    scan = history.last_scan
    for _ in range(2):
        kept = 0
        with measured() as one:
            for batch in table.to_pyarrow_dataset().to_batches(columns=LOG_SCHEMA.names):
                kept += wanted.filter(batch.cast(LOG_SCHEMA)).num_rows
        full.append(one)
    assert kept == found.num_rows
    query_s, duckdb_s = (statistics.median(o.wall_s for o in many) for many in (pruned, beside))
    scan_s = min(one.wall_s for one in full)
    cpu_share = statistics.median(one.cpu_s for one in pruned) / min(one.cpu_s for one in full)
    say(
        f"history: a district and one hour out of {rows:,} rows of {name}: {found.num_rows:,} "
        f"messages in {query_s * 1000:.0f} ms, {100 * query_s / scan_s:.2f} % of a full scan "
        f"({scan_s:.2f} s; target 2 %), {100 * cpu_share:.2f} % by processor time; "
        f"{query_s / duckdb_s:.2f} times DuckDB's time ({duckdb_s * 1000:.0f} ms; target 1.5); "
        f"{scan.files_opened} of {scan.files} files opened"
    )
    return {
        "rows": rows,
        "found": found.num_rows,
        "query_s": query_s,
        "duckdb_s": duckdb_s,
        "full_scan_s": scan_s,
        "share": query_s / scan_s,
        "share_by_cpu": cpu_share,
    }


def _past(folder: Path, scale: float) -> tuple[DeltaTable, History, str]:
    """The lake that the stream has left; without one, a day of a log, laid out as silver is."""
    silver = Lake(folder / "lake").find("silver")
    if silver is not None:
        return silver, History(lake=folder / "lake"), "silver"
    rows = int(10_000_000 * scale)
    with LogWriter(folder / "day") as writer:
        for first in range(0, rows, 500_000):
            count = min(500_000, rows - first)
            writer.append(fleet(count, first, rate=rows / 86_400).sort_by("cell"))
    return Log(folder / "day").table(), History(log=folder / "day"), "the log"


def _duckdb(table: DeltaTable, name: str, wanted: Selection) -> int:
    """The same rows by DuckDB: it prunes by the same statistics."""
    import duckdb

    assert isinstance(wanted.area, Box)
    assert wanted.since is not None
    assert wanted.until is not None
    box, time = wanted.area, "time" if name == "silver" else "timestamp"
    with duckdb.connect() as connection:
        connection.register("past", table.to_pyarrow_dataset())
        found = connection.sql(
            f"""select {", ".join(f'"{column}"' for column in LOG_SCHEMA.names)} from past
            where {time} between ? and ? and latitude between ? and ? and longitude between ? and ?
            order by timestamp, received""",
            params=[wanted.since, wanted.until, box.min_lat, box.max_lat, box.min_lon, box.max_lon],
        )
        return int(found.to_arrow_table().num_rows)


_CLUSTER = """
import sys, time
from pathlib import Path
from zonal.pipeline.jobs import SilverPlan, open_spark, refine
sys.path.insert(0, sys.argv[3])
from pipeline_data import DECLARED, zones
executors = sys.argv[1]
spark = open_spark(f"local-cluster[{executors},1,1024]", conf={
    "spark.executor.memory": "1g", "spark.sql.shuffle.partitions": "2",
    "spark.sql.files.maxPartitionBytes": "2m", "spark.sql.files.openCostInBytes": "0",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0"})
plan = SilverPlan(DECLARED, zones(Path(sys.argv[4]) if sys.argv[4:] else None))
rows = spark.read.format("delta").load(sys.argv[2])
job = lambda: refine(rows, plan).write.format("noop").mode("overwrite").save()
job()
start = time.perf_counter()
job()
print("took", time.perf_counter() - start)
spark.stop()
"""


def bench_cluster(folder: Path, scale: float, data: Path | None) -> dict[str, float]:
    """Bronze to silver on one executor process and on two."""
    import pyspark

    log = write_log(folder / "log", int(1_000_000 * scale))
    home = folder / "home"
    home.mkdir()
    for name in ("bin", "jars", "sbin"):
        (home / name).symlink_to(Path(pyspark.__file__).parent / name)
    took, here = {}, str(Path(__file__).parent)
    for executors in (1, 2):
        done = subprocess.run(
            [sys.executable, "-c", _CLUSTER, str(executors), str(log), here, *filter(None, [data])],
            env={**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"},
            capture_output=True,
            text=True,
            timeout=150,
            check=True,
        )
        took[executors] = float(done.stdout.split("took")[1])
    say(
        f"two executors in processes of their own: {took[1]:.1f} s with one, {took[2]:.1f} s with "
        f"two, {took[1] / took[2]:.2f} times as fast"
    )
    return {"one_s": took[1], "two_s": took[2], "speed_up": took[1] / took[2]}


PARTS: dict[str, Callable[..., Any]] = {
    "log": bench_log,
    "recorder": bench_recorder,
    "history": bench_history,
    "stream": bench_stream,
    "deliveries": bench_deliveries,
    "cluster": bench_cluster,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="default: all")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full size")
    parser.add_argument("--data", type=Path, help="a folder with milano_nil/ and geolife/")
    parser.add_argument("--into", type=Path, help="a JSON file that keeps the parts' results")
    parser.add_argument("--keep", type=Path, help="a folder for log and lake that stay")
    parser.add_argument("--no-picture", action="store_true")
    parser.add_argument("--quick", action="store_true", help="the log alone, at a hundredth")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.parts, arguments.scale, arguments.no_picture = ["log"], 0.01, True
    results: dict[str, dict[str, Any]] = {}
    for part in arguments.parts or [part for part in PARTS if part != "log"]:
        folder = arguments.keep or Path(tempfile.mkdtemp(prefix=f"zonal-bench-{part}-"))
        folder.mkdir(parents=True, exist_ok=True)
        try:
            found = PARTS[part](folder, arguments.scale, arguments.data)
            results |= {part: found} if isinstance(found, dict) else {}
        finally:
            if not arguments.keep:
                shutil.rmtree(folder, ignore_errors=True)
    if arguments.into:
        known = json.loads(arguments.into.read_text()) if arguments.into.exists() else {}
        results = {**known, **results}
        arguments.into.write_text(json.dumps(results, indent=2))
    if not arguments.no_picture:
        draw(results)
    manifest = {
        "scale": arguments.scale,
        "data": arguments.data.name if arguments.data else "made up",
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
        "python": sys.version.split()[0],
        "at": datetime.now(UTC).isoformat(),
    }
    print(json.dumps({"benchmark": "pipeline", **manifest, **results}))


if __name__ == "__main__":
    main()
