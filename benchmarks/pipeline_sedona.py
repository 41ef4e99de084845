"""Apache Sedona's joins on the same files, as a peer: `python pipeline_sedona.py FOLDER`.

Runs in a Python of its own, because Sedona's package must fit the Spark that it runs on (see
`--sedona` of `bench_pipeline.py`). Prints one line of JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pipeline_measuring import measured

PACKAGE = "org.apache.sedona:sedona-spark-shaded-4.0_2.13:1.8.0"
JOINS = {
    # The same answer as ours: great-circle distance to the centre.
    "distance": "ST_DistanceSphere(point, centre) <= area_radius_m",
    # Circles as polygons of 64 corners.
    "range": "ST_Contains(circle, point)",
}


def main(folder: Path) -> dict[str, dict[str, float]]:
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F  # noqa: N812

    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars.packages", PACKAGE)
        .config("spark.sql.extensions", "org.apache.sedona.sql.SedonaSqlExtensions")
        .config("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
        .config("spark.kryo.registrator", "org.apache.sedona.core.serde.SedonaKryoRegistrator")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.files.maxPartitionBytes", "4m")
        .config("spark.driver.memory", "4g")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    messages = spark.read.parquet(str(folder / "m.parquet")).where("topic = 'city/air'")
    points = messages.selectExpr("id", "ST_Point(longitude, latitude) AS point")
    wanted = spark.read.parquet(str(folder / "s.parquet")).selectExpr(
        "subscriber",
        "area_radius_m",
        "ST_Point(longitude, latitude) AS centre",
        "ST_GeomFromWKB(circle) AS circle",
    )
    found = {}
    for name, condition in JOINS.items():
        joined = points.join(wanted, F.expr(condition)).groupBy("subscriber").count()
        plan = joined._jdf.queryExecution().executedPlan().toString()  # noqa: SLF001
        joined.where("subscriber = 's1'").count()  # compile
        with measured() as took:
            counted = joined.agg(F.sum("count")).first()[0]
        kind = next((one for one in _KINDS if one in plan), "none of Sedona's")
        found[name] = {**vars(took), "deliveries": counted, "plan": kind}
    spark.stop()
    return found


_KINDS = ("BroadcastIndexJoin", "DistanceJoin", "RangeJoin")

if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
