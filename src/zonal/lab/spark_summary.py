"""The figures of an evaluation, computed by the pipeline's summary job on Spark."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from zonal.errors import ZonalError
from zonal.lab.summary import Key, SubscriberFigures, Summary, expected_messages

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from zonal.lab.results import Results

_GROUP = ("scenario", "transport", "cpu_percent", "subscriber")
_MESSAGE = (*_GROUP, "technique", "round", "publisher", "number")
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
    unique = samples.dropDuplicates(list(_MESSAGE)).cache()
    pooled = {_key(row): row for row in job(_messages(unique, *_GROUP)).collect()}
    rates = _mean_rates(job(_messages(unique, *_GROUP, "round")).collect())
    rounds = _rounds(unique)
    doubled = _doubled(samples, unique)
    unique.unpersist()
    rows = [
        _figures(key, row, expected[key], rounds[key], doubled.get(key, 0), rates.get(key, 0.0))
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


def _counts(samples: DataFrame, group: tuple[str, ...]) -> DataFrame:
    return samples.groupBy(*group, "technique").count()


def _doubled(samples: DataFrame, unique: DataFrame) -> dict[Key, int]:
    def by_key(frame: DataFrame) -> dict[Key, int]:
        return {
            (row.scenario, row.transport, row.cpu_percent, row.technique, row.subscriber): row[
                "count"
            ]
            for row in _counts(frame, _GROUP).collect()
        }

    once = by_key(unique)
    return {key: count - once[key] for key, count in by_key(samples).items()}


def _rounds(unique: DataFrame) -> dict[Key, int]:
    from pyspark.sql import functions as F  # noqa: N812 - as above

    counted = unique.groupBy(*_GROUP, "technique").agg(F.countDistinct("round").alias("rounds"))
    return {
        (row.scenario, row.transport, row.cpu_percent, row.technique, row.subscriber): row.rounds
        for row in counted.collect()
    }


def _mean_rates(rows: list[Any]) -> dict[Key, float]:
    collected: dict[Key, list[float]] = {}
    for row in rows:
        if row.throughput is not None:
            collected.setdefault(_key(row), []).append(row.throughput)
    return {key: sum(rates) / len(rates) for key, rates in collected.items()}


def _figures(
    key: Key, row: Any, expected: int, rounds: int, doubles: int, rate: float
) -> SubscriberFigures:
    return SubscriberFigures(
        *key,
        rounds=rounds,
        messages=row.received + doubles,
        expected=expected,
        doubles=doubles,
        mean_ms=row.mean_ms,
        std_ms=row.deviation_ms,
        p50_ms=row.p50_ms,
        p95_ms=row.p95_ms,
        p99_ms=row.p99_ms,
        max_ms=row.max_ms,
        throughput_hz=rate,
    )
