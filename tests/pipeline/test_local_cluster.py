"""Jobs on executors in processes of their own, submitted as to a cluster, on an object store."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyspark
import pytest
import shapely

from zonal.pipeline import History, Lake, LogWriter, Selection

Messages = Callable[..., pa.Table]

_CONF = {
    "spark.executor.memory": "1g",
    "spark.driver.memory": "1g",
    "spark.executor.extraJavaOptions": os.environ.get("SPARK_SUBMIT_OPTS", ""),
    # Both executors first, so that each gets its share of the tasks.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
    # Plans run once here: quick to compile is better than quick.
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.databricks.delta.snapshotPartitions": "1",
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


def packed_environment(folder: Path, used: Path) -> Path:
    """An environment as `--environment` takes it: its Python is this one, and notes that it ran."""
    python = folder / "python"
    python.write_text(f"#!/bin/sh\necho ran >> '{used}'\nexec '{sys.executable}' \"$@\"\n")
    python.chmod(0o755)
    archive = folder / "environment.tar.gz"
    with tarfile.open(archive, "w:gz") as file:
        file.add(python, "bin/python")
    return archive


def zone_file(folder: Path) -> Path:
    """One zone that has all messages: to find that out is the executors' Python's task."""
    shape = shapely.geometry.mapping(shapely.box(9, 45, 10, 46))
    zone = {"type": "Feature", "properties": {"name": "here"}, "geometry": shape}
    path = folder / "zones.json"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": [zone]}))
    return path


@pytest.mark.group("other-spark")
@pytest.mark.timeout(600)
def test_a_submitted_job_runs_on_two_executors_and_writes_every_row_once_into_a_bucket(
    bucket: str, tmp_path: Path, messages: Messages
) -> None:
    home = spark_home(tmp_path / "home")
    if home is None:
        pytest.skip("this PySpark has no scripts to start workers with")
    with LogWriter(f"{bucket}/log") as writer:
        writer.append(messages(200))
        writer.append(messages(200, first=200))
    code = "from zonal.cli import app; app()"
    settings = [part for name, value in _CONF.items() for part in ("--conf", f"{name}={value}")]
    variables = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    used = tmp_path / "used"
    environment = packed_environment(tmp_path, used)
    with subprocess.Popen(
        [
            sys.executable, "-c", code, "pipeline", "submit", "--master", "local-cluster[2,1,2048]",
            *settings, "--environment", str(environment), "--", "run", f"{bucket}/log",
            f"{bucket}/lake", "--once", "--zones", str(zone_file(tmp_path)),
        ],
        env=variables,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as submitted:  # fmt: skip
        try:
            output, errors = submitted.communicate(timeout=560)
        except BaseException:
            os.killpg(submitted.pid, signal.SIGKILL)  # Java as well
            raise
    assert submitted.returncode == 0, errors[-3000:]
    assert "400 messages: 400 silver, 0 quarantined, 0 doubles; 400 so far" in output
    logs = [path.read_text() for path in (home / "work").glob("app-*/*/stderr")]
    assert sum("Finished task" in log for log in logs) == 2
    silver = History(lake=f"{bucket}/lake").table(Selection())
    assert sorted(silver["offset"].to_pylist()) == list(range(400))
    assert used.exists()
    lake = Lake(f"{bucket}/lake")
    zones = lake.existing("silver").to_pyarrow_dataset().to_table(["zone"])["zone"]
    assert zones.to_pylist() == ["here"] * 400
    gold = lake.find("windows")
    assert gold is not None
    counts = gold.to_pyarrow_dataset().to_table(["cell", "count"]).to_pylist()
    assert sum(row["count"] for row in counts if row["cell"] is not None) == 400
