"""Raw samples of messages into latency, deviation, percentiles, throughput and loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own guide gives it

from zonal.errors import DeclarationError
from zonal_lab.experiment import new_figure, panels, save_figure

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame

MEASURED = "run STRING, technique STRING, subscriber STRING, sent_s DOUBLE, received_s DOUBLE"
"""One row per message that a subscriber should get; `received_s` is null where it did not."""


def summarize(messages: DataFrame) -> DataFrame:
    """Numbers per run and technique; latencies in milliseconds, throughput in messages a second."""
    wanted = [part.split(" ")[0] for part in MEASURED.split(", ")]
    missing = [name for name in wanted if name not in messages.columns]
    if missing:
        raise DeclarationError(f"the log has no column {missing[0]}; it needs {MEASURED}")
    latency = (F.col("received_s") - F.col("sent_s")) * 1000
    marks = F.percentile("latency", [0.5, 0.95, 0.99])
    span = F.max("received_s") - F.min("received_s")
    return (
        messages.withColumn("latency", latency)
        .groupBy("run", "technique")
        .agg(
            F.count("*").alias("expected"),
            F.count("received_s").alias("received"),
            F.avg("latency").alias("mean_ms"),
            F.stddev_pop("latency").alias("deviation_ms"),
            marks[0].alias("p50_ms"),
            marks[1].alias("p95_ms"),
            marks[2].alias("p99_ms"),
            F.max("latency").alias("max_ms"),
            F.when(span > 0, F.count("received_s") / span).alias("throughput"),
        )
        .withColumn("loss", 1 - F.col("received") / F.col("expected"))
        .orderBy("run", "technique")
    )


def from_lab(samples: DataFrame) -> DataFrame:
    """The samples of `location` as `MEASURED`: a run is a scenario, transport, speed and round."""
    run = F.concat_ws("/", "scenario", "transport", F.col("cpu_percent").cast("string"), "round")
    return samples.select(
        run.alias("run"),
        "technique",
        F.col("subscriber").cast("string").alias("subscriber"),
        (F.col("sent_us") / 1e6).alias("sent_s"),
        F.when(F.col("received_us") > 0, F.col("received_us") / 1e6).alias("received_s"),
    )


def draw_summary(summary: DataFrame, path: Path) -> None:
    """A picture: latency (bars: mean and 95th percentile) and loss, by technique and run."""
    rows = summary.collect()
    techniques = sorted({row.technique for row in rows})
    figure = new_figure(12, 3.6)
    for axis, column, title in zip(
        panels(figure, 1, 3),
        ("mean_ms", "p95_ms", "loss"),
        ("mean latency (ms)", "95th percentile (ms)", "loss"),
        strict=True,
    ):
        for at, technique in enumerate(techniques):
            values = [
                row[column]
                for row in rows
                if row.technique == technique and row[column] is not None
            ]
            if values:
                axis.bar(at, sum(values) / len(values), color="#4c78a8", width=0.6)
                axis.plot([at] * len(values), values, "o", color="#222222", markersize=3)
        axis.set_xticks(range(len(techniques)), techniques, rotation=20)
        axis.set_title(title, fontsize=10)
    save_figure(figure, path)
