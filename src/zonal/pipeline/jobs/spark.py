"""Starting Spark: one place that finds Java, brings Delta and registers `zonal`."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

import zonal
from zonal.errors import SparkError
from zonal.pipeline.jobs.packages import fetching, package_conf
from zonal.pipeline.jobs.source import ZonalDataSource

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Columns of which hardly two rows are equal: to look for equal ones would take a quarter of the
# time of writing, for larger files.
_UNIQUE = (
    "time",
    "offset",
    "latitude",
    "longitude",
    "cell",
    "payload",
    "timestamp",
    "ntp64",
    "sequence",
    "received",
)
# Columns that nobody leaves row groups out by: what lies together was sent from one place.
_SCATTERED = (
    "recorder",
    "offset",
    "geofence",
    "geofence_radius_m",
    "payload",
    "encoding",
    "kind",
    "ntp64",
    "clock",
    "source",
    "sequence",
    "received",
)
# Settings that jobs rely on; a user's own settings win.
_CONF = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.streaming.metricsEnabled": "false",
    # A task keeps a file open per partition instead of sorting by partition first.
    "spark.sql.maxConcurrentOutputFileWriters": "64",
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "100000",
    # Row groups small enough to prune by place within a file, few enough to read its footer soon.
    "spark.hadoop.parquet.block.size": str(4 * 1024 * 1024),
    "spark.hadoop.parquet.compression.codec.zstd.level": "1",
    "spark.hadoop.parquet.size.statistics.enabled": "false",
    **{f"spark.hadoop.parquet.enable.dictionary#{name}": "false" for name in _UNIQUE},
    **{f"spark.hadoop.parquet.column.statistics.enabled#{name}": "false" for name in _SCATTERED},
    # Delta's own state of a table is small here: as many tasks as it likes would cost more.
    "spark.databricks.delta.snapshotPartitions": "2",
}
_S3 = {
    "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
    "spark.hadoop.fs.s3a.path.style.access": "true",
}


_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""A variable that spark-submit sets for the program that it starts."""
_JAVA_OPTIONS = ("SPARK_SUBMIT_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
"""Where a user may have chosen a garbage collector: Java refuses to start with two."""


def open_spark(
    master: str | None = None,
    *,
    app: str = "zonal",
    conf: Mapping[str, str] | None = None,
    s3: bool = False,
    tell: Callable[[str], None] | None = None,
) -> SparkSession:
    """A Spark session that reads and writes Delta tables and `format("zonal")`.

    Without a master, Spark takes that of spark-submit or SPARK_CONF_DIR, else `local[*]`. Delta's
    packages are fetched by Spark when it first starts, and kept; `tell` hears of that. With `s3` it
    also brings what tables at `s3://` need; where they are and who asks come from the usual
    variables (`AWS_ENDPOINT_URL`, `AWS_ACCESS_KEY_ID`, …).
    """
    check_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(app)
    builder = builder.master(master) if master else builder
    ours = {**_CONF, **_local_conf(master), **(_s3_conf() if s3 else {})}
    submitted = _submitted()
    given = {name: value for name, value in ours.items() if name not in submitted}
    given |= conf or {}
    given |= package_conf(given, s3=s3)
    for name, value in given.items():
        builder = builder.config(name, value)
    try:
        with fetching(given, tell):
            spark = builder.getOrCreate()
    except pyspark.errors.PySparkRuntimeError as error:
        raise SparkError(
            "Spark did not start. At its first start it needs a way to Maven Central (or to a "
            f"mirror: spark.jars.ivySettings) for {given['spark.jars.packages']}. {error}"
        ) from error
    spark.sparkContext.setLogLevel("ERROR")
    register(spark)
    return spark


def register(spark: SparkSession) -> None:
    """Make `format("zonal")` known to a Spark session that the user opened.

    With a client of Spark Connect, the server's Python must have this package.
    """
    context = getattr(spark, "sparkContext", None)
    if context is not None:
        _prepare_workers(context)
    spark.dataSource.register(ZonalDataSource)


def _prepare_workers(context: SparkContext) -> None:
    """Have the workers of this session find Python and the package."""
    if str(context.master).startswith("local[") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable  # else `python3`, which may know nothing of zonal
    archive = Path(zonal.__file__).parents[1]
    if archive.is_file():
        # Sent along with `--py-files`: Spark forgets it in the process that plans a stream.
        variables = context.environment
        paths = (str(archive), variables.get("PYTHONPATH", ""))
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, paths))


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


def _submitted() -> set[str]:
    """The names of the settings that spark-submit has got; none where it did not start us."""
    if _SUBMITTED not in os.environ:
        return set()
    SparkContext._ensure_initialized()  # noqa: SLF001 - SparkConf asks the Java side
    return {name for name, _ in SparkConf().getAll()}


def _local_conf(master: str | None) -> dict[str, str]:
    """On this machine alone, a shuffle has a part for each core; 200 would take seconds each.

    Rows of a batch live until it is written: collecting beside the work, as Java does of itself,
    takes a tenth of all processor time, collecting in between a sixth of that.
    """
    elsewhere = {_SUBMITTED, "SPARK_CONF_DIR"} & set(os.environ)
    is_local = master.startswith("local[") if master else not elsewhere
    if not is_local:
        return {}
    chosen = any("GC" in os.environ.get(name, "") for name in _JAVA_OPTIONS)
    collector = {} if chosen else {"spark.driver.extraJavaOptions": "-XX:+UseParallelGC"}
    return {"spark.sql.shuffle.partitions": str(os.cpu_count() or 1), **collector}


def _s3_conf() -> dict[str, str]:
    endpoint = os.environ.get("AWS_ENDPOINT_URL")
    return _S3 | ({"spark.hadoop.fs.s3a.endpoint": endpoint} if endpoint else {})
