"""Starting Spark: one place that finds Java, sets what the pipeline needs and registers `zonal`."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

import zonal
from zonal.errors import SparkError
from zonal.pipeline.jobs.source import ZonalDataSource

if TYPE_CHECKING:
    from collections.abc import Mapping

# Settings that jobs rely on; a user's own settings win.
_CONF = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    # Filters reach the data source only when this is on.
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
    # A task keeps a file open per partition instead of sorting by partition first.
    "spark.sql.maxConcurrentOutputFileWriters": "64",
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "100000",
    # Row groups small enough to prune by place within a file.
    "spark.hadoop.parquet.block.size": str(1024 * 1024),
}

# Without these a session of the user's own could not push filters down, or would write times
# that have no statistics to prune by.
_NEEDED = ("spark.sql.python.filterPushdown.enabled", "spark.sql.parquet.outputTimestampType")


def open_spark(
    master: str | None = None,
    *,
    app: str = "zonal",
    conf: Mapping[str, str] | None = None,
) -> SparkSession:
    """A Spark session that reads and writes `format("zonal")`.

    Without a master, Spark takes that of spark-submit or SPARK_CONF_DIR, else `local[*]`.
    """
    check_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(app)
    builder = builder.master(master) if master else builder
    for name, value in {**_CONF, **(conf or {})}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    register(spark)
    return spark


def register(spark: SparkSession) -> None:
    """Make `format("zonal")` known to a Spark session that the user opened."""
    for name in _NEEDED:
        spark.conf.set(name, _CONF[name])
    archive = Path(zonal.__file__).parents[1]
    if archive.is_file():
        # Sent along with `--py-files`: Spark forgets it in the process that plans a stream.
        variables = spark.sparkContext.environment
        paths = (str(archive), variables.get("PYTHONPATH", ""))
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    spark.dataSource.register(ZonalDataSource)


def check_java() -> None:
    """Raise `SparkError` where Spark would find no Java; the message says how to get one."""
    home = os.environ.get("JAVA_HOME")
    if home and shutil.which("java", path=f"{home}/bin"):
        return
    if home:
        raise SparkError(f"JAVA_HOME is {home}, and there is no {home}/bin/java")
    if not shutil.which("java"):
        raise SparkError(
            "Spark needs Java 17 or newer and there is none on the PATH: "
            "apt-get install openjdk-17-jre-headless, or set JAVA_HOME"
        )
