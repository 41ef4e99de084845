"""`readStream.format("zonal")`: the live network as a stream."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable

import zonal
from network import eventually
from zonal.errors import ZonalError
from zonal.pipeline import Log
from zonal.pipeline.jobs.live import ZonalStreamReader

pytestmark = pytest.mark.timeout(600)  # Spark starts, and compiles all it does once

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

AREA = "POLYGON ((9.1 45.4, 9.2 45.4, 9.2 45.5, 9.1 45.5, 9.1 45.4))"
INSIDE, OUTSIDE = zonal.Point(45.45, 9.15), zonal.Point(46.0, 9.15)


@pytest.fixture
def endpoint() -> Iterator[str]:
    with zonal.Router(("tcp/127.0.0.1:0",)) as router:
        yield router.endpoints[0]


def follow(spark: SparkSession, folder: Path, **options: Any) -> StreamingQuery:
    """Copy the stream into a table."""
    frame = spark.readStream.format("zonal").options(**options).load(str(folder / "log"))
    writer = frame.writeStream.option("checkpointLocation", str(folder / "checkpoint"))
    return writer.format("delta").start(str(folder / "rows"))


def payloads(folder: Path) -> list[bytes]:
    if not DeltaTable.is_deltatable(str(folder / "rows")):
        return []
    rows = DeltaTable(folder / "rows").to_pyarrow_dataset().to_table(["payload"])
    return sorted(rows["payload"].to_pylist())


def test_messages_of_an_area_become_rows_once_across_a_restart(
    spark: SparkSession, endpoint: str, tmp_path: Path
) -> None:
    options = {"topic": "city/**", "area": AREA, "connect": endpoint, "maxRowsPerTrigger": 2}
    with zonal.open(zonal.config("client", connect=[endpoint])) as session:
        memory = zonal.Memory(cache=100, heartbeat_s=0.1)
        inside = session.declare_publisher("city/air", location=INSIDE, memory=memory)
        outside = session.declare_publisher("city/air", location=OUTSIDE, memory=memory)
        sent: list[bytes] = []

        def publish(count: int) -> None:
            for _ in range(count):
                sent.append(f"{len(sent):03}".encode())
                inside.put(sent[-1])
                outside.put(b"elsewhere")

        publish(2)  # nobody listens yet; the publisher's memory has them
        query = follow(spark, tmp_path, **options)
        try:
            eventually(lambda: payloads(tmp_path) == sent, timeout=90)
            publish(3)
            eventually(lambda: payloads(tmp_path) == sent, timeout=60)
        finally:
            query.stop()
        publish(3)
        query = follow(spark, tmp_path, **options)
        try:
            publish(1)
            eventually(lambda: payloads(tmp_path) == sent, timeout=90)
        finally:
            query.stop()
    assert query.exception() is None
    assert Log(tmp_path / "log").next_offset("spark") == len(sent)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"colour": "red"}, "unknown option 'colour' for a source"),
        ({"startingOffset": "7"}, "'7' is not earliest or latest"),
        ({"maxRowsPerTrigger": "0"}, "not a whole number above 0"),
        ({"area": "POLYGON (("}, "POLYGON"),
    ],
)
def test_wrong_options_say_what_is_right(options: dict[str, str], message: str) -> None:
    with pytest.raises(ZonalError, match=message):
        ZonalStreamReader(options)


def test_the_past_is_refused_and_where_it_is_is_said(spark: SparkSession) -> None:
    with pytest.raises(Exception, match=r'a log is a Delta table: spark.read.format\("delta"\)'):
        spark.read.format("zonal").load("log").count()


_PLAIN = """
import sys
from pyspark.sql import SparkSession
from zonal.pipeline.jobs import register

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
register(spark)
rows = spark.createDataFrame([("t", b"x")], "topic STRING, payload BINARY")
rows.write.format("zonal").option("connect", sys.argv[1]).mode("append").save()
"""


@pytest.mark.group("other-spark")
def test_a_plain_session_needs_one_import_and_no_variable(endpoint: str, tmp_path: Path) -> None:
    """Another `python3` stands first on the PATH, one that knows nothing of us."""
    other = tmp_path / "python3"
    other.write_text("#!/bin/sh\necho this is another Python >&2\nexit 1\n")
    other.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    environment.pop("PYSPARK_PYTHON", None)
    with zonal.open(zonal.config("client", connect=[endpoint])) as session:
        heard = session.declare_subscriber("t")
        done = subprocess.run(
            [sys.executable, "-c", _PLAIN, endpoint],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        sample = heard.recv(timeout=10)
        assert sample is not None
        assert sample.payload.to_bytes() == b"x"
