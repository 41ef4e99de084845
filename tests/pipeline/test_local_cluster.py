"""The job on executors in processes of their own, submitted as on a cluster."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyspark
import pytest

from zonal.pipeline import Lake, LogWriter

Messages = Callable[..., pa.Table]

_JOB = """
import os, sys
import zonal
from zonal.pipeline.jobs import Pipeline, PipelinePlan, open_spark

spark = open_spark()  # the master is that of spark-submit
log, lake = sys.argv[1:]
rows = spark.read.format("delta").load(log).repartition(4)
where = lambda _: [(os.getppid(), __import__("zonal").__file__)]
found = rows.rdd.mapPartitions(where).collect()
print("processes", len({process for process, _ in found}), "tasks", len(found))
print("packed", all("zonal.zip" in path for _, path in [*found, (0, zonal.__file__)]))
Pipeline(spark, log, lake, PipelinePlan()).run()
spark.stop()
"""
_CONF = {
    "spark.sql.shuffle.partitions": "2",
    "spark.executor.memory": "1g",
    "spark.driver.memory": "1g",
    "spark.executor.extraJavaOptions": os.environ.get("SPARK_SUBMIT_OPTS", ""),
    # Both executors first, so that each gets its share of the tasks.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
}


def spark_home(folder: Path) -> Path | None:
    """Where `local-cluster` finds Spark's scripts, and writes its workers' files beside them."""
    package = Path(pyspark.__file__).parent
    if not (package / "bin" / "spark-class").exists():
        return None
    folder.mkdir()
    for name in ("bin", "jars", "sbin"):
        (folder / name).symlink_to(package / name)
    return folder


@pytest.mark.group("spark")
@pytest.mark.timeout(200)
def test_a_submitted_job_runs_on_two_executors_and_writes_every_row_once(
    tmp_path: Path, messages: Messages
) -> None:
    home = spark_home(tmp_path / "home")
    if home is None:
        pytest.skip("this PySpark has no scripts to start workers with")
    with LogWriter(tmp_path / "log") as writer:
        for start in range(0, 400, 100):
            writer.append(messages(100, first=start))
    sources = Path(__file__).parents[2] / "src"
    packed = shutil.make_archive(str(tmp_path / "zonal"), "zip", sources, "zonal")
    (tmp_path / "job.py").write_text(_JOB)
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": "",  # what executors import comes from the archive alone
    }
    settings = [part for name, value in _CONF.items() for part in ("--conf", f"{name}={value}")]
    done = subprocess.run(
        [
            str(home / "bin" / "spark-submit"), "--master", "local-cluster[2,1,1024]", *settings,
            "--py-files", packed, str(tmp_path / "job.py"),
            str(tmp_path / "log"), str(tmp_path / "lake"),
        ],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert "processes 2 tasks 4" in done.stdout
    assert "packed True" in done.stdout
    silver = Lake(tmp_path / "lake").find("silver")
    assert silver is not None
    offsets = silver.to_pyarrow_dataset().to_table(["offset"])["offset"].to_pylist()
    assert sorted(offsets) == list(range(400))
