"""Apache Sedona's join of the same: `PYTHON joins_sedona.py FOLDER`, as `joins_ours` behaves.

PYTHON is one of its own, since Sedona's package must fit the Spark that it runs on; it needs
PySpark alone. Without a folder Spark only fetches the package.
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PACKAGE = "org.apache.sedona:sedona-spark-shaded-4.0_2.13:1.8.0"
_NEAR = "ST_DistanceSphere(point, centre) <= area_radius_m"
"""As we decide it: great-circle distance to the centre."""
_JOINS = ("BroadcastIndexJoin", "DistanceJoin", "RangeJoin")


def main(folder: str | None) -> None:
    """Warm up, wait, join."""
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F  # noqa: N812 - as PySpark's manual does

    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars.packages", PACKAGE)
        .config("spark.sql.extensions", "org.apache.sedona.sql.SedonaSqlExtensions")
        .config("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
        .config("spark.kryo.registrator", "org.apache.sedona.core.serde.SedonaKryoRegistrator")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.memory", "4g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    if folder is None:
        return
    messages = spark.read.parquet(f"{folder}/messages.parquet").where("topic = 'city/air'")
    points = messages.selectExpr("id", "ST_Point(longitude, latitude) AS point")
    wanted = spark.read.parquet(f"{folder}/subscriptions.parquet").selectExpr(
        "subscriber", "area_radius_m", "ST_Point(longitude, latitude) AS centre"
    )

    def joined(some: DataFrame) -> DataFrame:
        # As many tasks as cores, whatever the size of the file.
        return some.repartition(2).join(wanted, F.expr(_NEAR)).groupBy("subscriber").count()

    joined(points.where("id % 4 = 1")).agg(F.sum("count")).first()
    plan = joined(points)._jdf.queryExecution().executedPlan().toString()  # noqa: SLF001 - no other way
    print("warm", flush=True)
    sys.stdin.readline()
    begun = time.perf_counter()
    ((counted,),) = joined(points).agg(F.sum("count")).collect()
    took = time.perf_counter() - begun
    kind = next((each for each in _JOINS if each in plan), "none of Sedona's")
    print(json.dumps({"seconds": took, "deliveries": counted, "plan": kind}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
