"""The job on executors in processes of their own, as on a cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest

from zonal.pipeline.lake import Lake
from zonal.pipeline.log import LogWriter

Messages = Callable[..., pa.Table]

_JOB = """
import sys
from zonal.pipeline.spark import open_spark
from zonal.pipeline.stream import Pipeline, PipelinePlan
spark = open_spark("local-cluster[2,1,1024]", conf={
    "spark.sql.shuffle.partitions": "2",
    "spark.executor.memory": "1g",
    "spark.driver.memory": "1g",
    # Both executors first, so that each gets its share of the tasks.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
})
log, lake = sys.argv[1:]
rows = spark.read.format("zonal").options(path=log, rowsPerPartition="100").load()
workers = rows.rdd.mapPartitions(lambda _: [__import__("os").getppid()]).collect()
print("processes", len(set(workers)), "tasks", len(workers))
Pipeline(spark, log, lake, PipelinePlan()).run()
spark.stop()
"""


def spark_home(folder: Path) -> Path | None:
    """Where `local-cluster` finds Spark's scripts, and writes its workers' files beside them."""
    package = Path(pyspark.__file__).parent
    if not (package / "bin" / "spark-class").exists():
        return None
    folder.mkdir()
    for name in ("bin", "jars", "sbin"):
        (folder / name).symlink_to(package / name)
    return folder


@pytest.mark.timeout(200)
def test_two_executors_in_processes_of_their_own_write_every_row_once(
    tmp_path: Path, messages: Messages
) -> None:
    home = spark_home(tmp_path / "home")
    if home is None:
        pytest.skip("this PySpark has no scripts to start workers with")
    with LogWriter(tmp_path / "log") as writer:
        for start in range(0, 400, 100):
            writer.append(messages(100, first=start))
    sources = str(Path(__file__).parents[2] / "src")
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "PYTHONPATH": os.pathsep.join([sources, os.environ.get("PYTHONPATH", "")]),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    done = subprocess.run(
        [sys.executable, "-c", _JOB, str(tmp_path / "log"), str(tmp_path / "lake")],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "processes 2 tasks 4" in done.stdout
    lake = Lake(tmp_path / "lake")
    paths = lake.absolute(lake.snapshot().files("silver"))
    offsets = [row for path in paths for row in pq.read_table(path)["offset"].to_pylist()]
    assert sorted(offsets) == list(range(400))
