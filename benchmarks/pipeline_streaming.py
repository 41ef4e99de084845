"""Log → silver → gold, and bronze to silver on one executor and on two."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pipeline_data import DECLARED, write_log, zones
from pipeline_measuring import measured, peak_memory, processor_s, say, spark
from zonal.pipeline import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from zonal.pipeline.jobs import BatchReport


def bench_stream(folder: Path, scale: float, data: Path | None) -> dict[str, Any]:
    """Log → silver → gold against Spark's own stream of the log with one aggregate."""
    from zonal.pipeline.jobs import Pipeline, PipelinePlan, SilverPlan, WindowPlan

    rows = int(4_000_000 * scale)
    log, warm = bench_log(folder, scale), write_log(folder / "warm", 300_000)
    session = spark()
    silver = SilverPlan(DECLARED, zones(data))
    plan = PipelinePlan(silver, WindowPlan(("pm10",)), gold_every=3)
    for source, lake in ((warm, "lake-0"), (warm, "lake-1")):
        Pipeline(session, source, folder / lake, plan).run()
    marks: list[_Mark] = []
    with measured() as native:
        _native_aggregate(session, log, folder / "native")
    with measured() as ours, peak_memory() as peak:
        begin = _Mark(0, 0.0, processor_s(), 0)

        def mark(report: BatchReport) -> None:
            marks.append(_Mark(report.total, report.seconds, processor_s(), peak[0]))
            say(f"{report.total:,} of {rows:,} rows, at most {peak[0] / 1e9:.1f} GB")

        Pipeline(session, log, folder / "lake", plan, on_batch=mark).run(max_files=30)
    halves = np.array_split(np.array([one.seconds for one in marks]), 2)
    assert session.table("native").agg({"count": "sum"}).first()[0] == rows
    silver = Lake(folder / "lake").find("silver")
    assert silver is not None
    assert silver.to_pyarrow_dataset().count_rows() == rows
    result: dict[str, Any] = {
        "rows": rows,
        "rows_per_s": rows / ours.wall_s,
        "rows_per_2_cpu_s": 2 * rows / ours.cpu_s,
        "native_rows_per_s": rows / native.wall_s,
        "native_rows_per_2_cpu_s": 2 * rows / native.cpu_s,
        "peak_gb": peak[0] / 1e9,
        "later_half_against_first": float(np.median(halves[1]) / np.median(halves[0])),
        "by_quarter": _by_quarter([begin, *marks]),
    }
    say(
        f"log → silver → gold: {result['rows_per_s']:,.0f} rows/s by the clock, "
        f"{result['rows_per_2_cpu_s']:,.0f} on two free cores (target 100,000); Spark's own "
        f"stream of the log with one aggregate: {result['native_rows_per_s']:,.0f} and "
        f"{result['native_rows_per_2_cpu_s']:,.0f}; at most {result['peak_gb']:.1f} GB in all "
        f"processes; a batch of the second half took {result['later_half_against_first']:.2f} "
        "times as long as one of the first; quarter by quarter, up to their last batch "
        + ", ".join(
            f"{one['rows']:,} rows: {one['rows_per_2_cpu_s']:,.0f} and {one['peak_gb']:.1f} GB"
            for one in result["by_quarter"]
        )
    )
    return result


class _Mark(NamedTuple):
    """How far the job was after a batch."""

    rows: int
    seconds: float
    cpu_s: float
    peak: int


def _by_quarter(marks: list[_Mark]) -> list[dict[str, float]]:
    """Rows per two seconds of processor time within each quarter of a run, and memory until then.

    Gold follows after every third batch, so quarters of a few batches say little.
    """
    ends = [marks[round(part * (len(marks) - 1) / 4)] for part in range(5)]
    return [
        {
            "rows": end.rows,
            "rows_per_2_cpu_s": 2 * (end.rows - begin.rows) / max(end.cpu_s - begin.cpu_s, 0.01),
            "peak_gb": end.peak / 1e9,
        }
        for begin, end in itertools.pairwise(ends)
    ]


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
