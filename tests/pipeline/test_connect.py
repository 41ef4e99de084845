"""`format("zonal")` in a client of Spark Connect, which has no `SparkContext`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("grpc", reason="a client of Spark Connect needs pyspark[connect]")

_CLIENT = """
import sys
import zonal
from pyspark.sql import SparkSession
from zonal.pipeline.jobs import register
spark = (SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false")
         .config("spark.sql.shuffle.partitions", "1").getOrCreate())
register(spark)
with zonal.Router(("tcp/127.0.0.1:0",)) as router:
    endpoint, here = router.endpoints[0], zonal.Point(45.46, 9.19)
    with zonal.open(zonal.config("client", connect=[endpoint])) as session:
        memory = zonal.Memory(cache=10, heartbeat_s=0.1)
        publisher = session.declare_publisher("city/air", location=here, memory=memory)
        publisher.put(b"there")
        rows = (spark.readStream.format("zonal").option("connect", endpoint)
                .option("topic", "city/**").load(sys.argv[1] + "/log"))
        query = (rows.writeStream.format("memory").queryName("heard")
                 .option("checkpointLocation", sys.argv[1] + "/checkpoint").start())
        while query.isActive and spark.table("heard").count() == 0:
            query.awaitTermination(1)
        print("heard", bytes(spark.table("heard").first().payload), flush=True)
        query.stop()
        back = session.declare_subscriber("back/**")
        row = ("back/a", b"and back", here.lat, here.lon)
        columns = "topic string, payload binary, latitude double, longitude double"
        sink = spark.createDataFrame([row], columns).write.format("zonal")
        sink.option("connect", endpoint).mode("append").save()
        print("sent", back.recv(timeout=30).payload.to_bytes(), flush=True)
spark.stop()
"""


@pytest.mark.slow
@pytest.mark.group("other-spark")
@pytest.mark.timeout(300)
def test_a_client_of_spark_connect_reads_and_writes_the_network(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _CLIENT, str(tmp_path)],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "heard b'there'" in done.stdout
    assert "sent b'and back'" in done.stdout
