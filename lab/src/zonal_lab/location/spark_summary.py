"""The figures of an evaluation, computed by the summary job on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zonal_lab.location.samples import NODES, SAMPLES
from zonal_lab.location.summary import (
    Key,
    Sampled,
    SubscriberFigures,
    Summary,
    doubled_messages,
    measured_subscribers,
    sampled_messages,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from zonal_lab.experiment import Results

_GROUP = ("scenario", "transport", "cpu_percent", "subscriber")
_SEPARATOR = "|"


def summarize_by_spark(results: Results) -> Summary:
    """The same figures as `summary.summarize`, from as many samples as Spark can take.

    Latencies are pooled over the rounds of a subscriber; throughput is the mean of its rounds.
    """
    from zonal.pipeline.jobs import open_spark
    from zonal_lab.jobs import summarize

    # Millions of rows and some hundred groups: more partitions would only cost start-up. Exact
    # percentiles hold the values of a group in memory.
    conf = {"spark.sql.shuffle.partitions": "8", "spark.driver.memory": "4g"}
    spark = open_spark(app="zonal-lab", conf=conf)
    nodes = results.table(NODES)
    sampled = sampled_messages(nodes)
    samples = spark.read.parquet(*map(str, results.samples(SAMPLES)))
    samples = samples.where(_measured(measured_subscribers(nodes)))
    pooled = {_key(row): row for row in summarize(_messages(samples)).collect()}
    rates = _rates(samples)
    doubles = doubled_messages(results)
    rows = [
        _figures(key, row, sampled[key], rates[key], doubles[key])
        for key, row in sorted(pooled.items())
    ]
    return Summary(rows, nodes, computed_by="the summary job on Spark")


def _measured(subscribers: dict[str, set[int]]) -> str:
    """The condition that a sample is of a subscriber that is measured."""
    each = (
        f"scenario = '{scenario}' AND subscriber IN ({', '.join(map(str, sorted(ids)))})"
        for scenario, ids in subscribers.items()
    )
    return " OR ".join(f"({condition})" for condition in each)


def _messages(samples: DataFrame) -> DataFrame:
    """The samples as the summary job reads them: a run is all rounds of a subscriber."""
    from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own guide gives it

    return samples.select(
        F.concat_ws(_SEPARATOR, *(F.col(name).cast("string") for name in _GROUP)).alias("run"),
        "technique",
        F.col("subscriber").cast("string").alias("subscriber"),
        (F.col("sent_us") / 1e6).alias("sent_s"),
        (F.col("received_us") / 1e6).alias("received_s"),
    )


def _key(row: Any) -> Key:
    scenario, transport, cpu, subscriber, *_ = row.run.split(_SEPARATOR)
    return scenario, transport, int(cpu), row.technique, int(subscriber)


def _rates(samples: DataFrame) -> dict[Key, list[float]]:
    """The throughput of each round (equation 7.2); 0 where a single message has no duration."""
    from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own guide gives it

    span_s = (F.max("received_us") - F.min("received_us")) / 1e6
    rounds = samples.groupBy(*_GROUP, "technique", "round").agg(
        F.when(span_s > 0, F.count("*") / span_s).alias("rate")
    )
    collected: dict[Key, list[float]] = {}
    for row in rounds.collect():
        key = (row.scenario, row.transport, row.cpu_percent, row.technique, row.subscriber)
        collected.setdefault(key, []).append(row.rate or 0.0)
    return collected


def _figures(
    key: Key, row: Any, sampled: Sampled, rates: list[float], doubles: int
) -> SubscriberFigures:
    return SubscriberFigures(
        *key,
        rounds=len(rates),
        messages=row.received,
        expected=sampled.expected,
        doubles=doubles,
        mean_ms=row.mean_ms,
        std_ms=row.deviation_ms,
        p50_ms=row.p50_ms,
        p95_ms=row.p95_ms,
        p99_ms=row.p99_ms,
        max_ms=row.max_ms,
        throughput_hz=sum(rates) / len(rates) * sampled.interval,
    )
