"""The figures of an evaluation, computed by the pipeline's summary job on Spark."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from zonal.errors import ZonalError
from zonal.lab.summary import (
    Key,
    SubscriberFigures,
    Summary,
    doubled_messages,
    expected_messages,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from zonal.lab.results import Results

_GROUP = ("scenario", "transport", "cpu_percent", "subscriber")
_SEPARATOR = "|"


def summarize_by_spark(results: Results) -> Summary:
    """The same figures as `zonal.lab.summary.summarize`, from as many samples as Spark can take.

    Latencies are pooled over the rounds of a subscriber; throughput is the mean of its rounds.
    """
    job = import_module("zonal.pipeline.summary").summarize
    # A few million rows and some hundred groups: more partitions would only cost start-up.
    spark: SparkSession = import_module("zonal.pipeline.spark").open_spark(
        app="zonal-lab", conf={"spark.sql.shuffle.partitions": "4"}
    )
    nodes = results.nodes()
    expected = expected_messages(nodes)
    samples = spark.read.parquet(*map(str, results.samples()))
    pooled = {_key(row): row for row in job(_messages(samples, *_GROUP)).collect()}
    rates = _rates(job(_messages(samples, *_GROUP, "round")).collect())
    doubles = doubled_messages(results)
    rows = [
        _figures(key, row, expected[key], rates.get(key, []), doubles[key])
        for key, row in sorted(pooled.items())
    ]
    return Summary(rows, nodes, computed_by="the pipeline's summary job on Spark")


def spark_is_there() -> bool:
    """Whether the pipeline with its summary job is installed and finds a Java."""
    try:
        import_module("zonal.pipeline.summary")
        import_module("zonal.pipeline.spark").check_java()
    except (ImportError, ZonalError):
        return False
    return True


def _messages(samples: DataFrame, *run: str) -> DataFrame:
    """The samples as the summary job reads them, with these columns as the name of a run."""
    from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own guide gives it

    return samples.select(
        F.concat_ws(_SEPARATOR, *(F.col(name).cast("string") for name in run)).alias("run"),
        "technique",
        F.col("subscriber").cast("string").alias("subscriber"),
        (F.col("sent_ns") / 1e9).alias("sent_s"),
        (F.col("received_ns") / 1e9).alias("received_s"),
    )


def _key(row: Any) -> Key:
    scenario, transport, cpu, subscriber, *_ = row.run.split(_SEPARATOR)
    return scenario, transport, int(cpu), row.technique, int(subscriber)


def _rates(rows: list[Any]) -> dict[Key, list[float]]:
    """The throughput of each round, by subscriber; 0 where a single message has no duration."""
    collected: dict[Key, list[float]] = {}
    for row in rows:
        collected.setdefault(_key(row), []).append(row.throughput or 0.0)
    return collected


def _figures(
    key: Key, row: Any, expected: int, rates: list[float], doubles: int
) -> SubscriberFigures:
    return SubscriberFigures(
        *key,
        rounds=len(rates),
        messages=row.received,
        expected=expected,
        doubles=doubles,
        mean_ms=row.mean_ms,
        std_ms=row.deviation_ms,
        p50_ms=row.p50_ms,
        p95_ms=row.p95_ms,
        p99_ms=row.p99_ms,
        max_ms=row.max_ms,
        throughput_hz=sum(rates) / len(rates),
    )
