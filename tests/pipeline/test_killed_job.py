"""A job that dies by `kill -9` in the middle of its batches, again and again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from zonal.pipeline import LogWriter

Messages = Callable[..., pa.Table]

_JOB = """
import sys
from zonal.pipeline import Field, PayloadDeclaration, TopicSchema
from zonal.pipeline.jobs import Pipeline, PipelinePlan, SilverPlan, WindowPlan, open_spark
quick = {"spark.sql.shuffle.partitions": "1", "spark.sql.adaptive.enabled": "false",
         "spark.sql.codegen.factoryMode": "NO_CODEGEN", "spark.sql.codegen.wholeStage": "false"}
spark = open_spark("local[2]", conf=quick)
pm10 = Field("pm10", "double", required=True)
declared = PayloadDeclaration((TopicSchema("city/airquality", (pm10,)),))
plan = PipelinePlan(SilverPlan(declared), WindowPlan(("pm10",)))
pipeline = Pipeline(spark, sys.argv[1] + "/log", sys.argv[1] + "/lake", plan,
                    on_batch=lambda report: print("silver", flush=True))
pipeline.on_gold(lambda: print("gold", flush=True))
print("started", flush=True)
pipeline.run(max_files=1)
"""
_BATCHES, _ROWS, _BAD = 10, 50, 3
_KILLS = (
    ("started", 1, 0.4),
    ("silver", 1, 0.0),
    ("gold", 1, 0.3),
    ("silver", 2, 0.4),
    ("gold", 2, 0.0),
    ("gold", 2, 0.8),
)
"""After what was said, how often, and how many seconds later the job dies: in the middle of
reading, of silver, between silver and gold, in the middle of gold."""


def die(folder: Path, said: str, times: int, later_s: float) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _JOB, str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                times -= line.strip() == said
                if not times:
                    break
            time.sleep(later_s)  # how far it has come by then shall differ
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # Java as well


def rows_of(folder: Path, table: str, *columns: str) -> pa.Table:
    place = folder / "lake" / table
    return DeltaTable(place).to_pyarrow_dataset().to_table(list(columns))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_job_killed_mid_batch_again_and_again_loses_and_doubles_nothing(
    tmp_path: Path, messages: Messages
) -> None:
    bad = [b"bad"] * _BAD
    good = [b'{"pm10": 7}'] * (_ROWS - _BAD)
    with LogWriter(tmp_path / "log") as writer:
        for batch in range(_BATCHES):
            writer.append(messages(_ROWS, first=_ROWS * batch, payload=bad + good))
    for said, times, later_s in _KILLS:
        die(tmp_path, said, times, later_s)
    left = subprocess.run(
        [sys.executable, "-c", _JOB, str(tmp_path)], check=True, timeout=500, capture_output=True
    ).stdout.count(b"silver")
    assert 0 < left < _BATCHES  # some were done before, some were not
    silver = rows_of(tmp_path, "silver", "offset", "time")
    offsets = range(_BATCHES * _ROWS)
    assert sorted(silver["offset"].to_pylist()) == [one for one in offsets if one % _ROWS >= _BAD]
    quarantined = rows_of(tmp_path, "quarantine", "offset")["offset"].to_pylist()
    assert sorted(quarantined) == [one for one in offsets if one % _ROWS < _BAD]
    gold = rows_of(tmp_path, "windows", "time", "count", "mean").to_pylist()
    counted: Counter[int] = Counter()
    for row in gold:
        counted[int(row["time"].timestamp())] += row["count"]
    moments = (int(moment.timestamp()) for moment in silver["time"].to_pylist())
    assert counted == Counter(moment - moment % 300 for moment in moments)
    assert {row["mean"] for row in gold} == {7.0}
