"""`zonal lab summary`: figures from raw samples, on Spark."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 — typer reads annotations at run time
from typing import Annotated

import typer

from zonal_lab.spark_output import Master, Output, Overwrite, finish


def summary(
    samples: Annotated[Path, typer.Argument(help="Parquet: a row per expected message.")],
    picture: Annotated[Path | None, typer.Option(help="A PNG or SVG file.")] = None,
    output: Output = None,
    overwrite: Overwrite = False,
    master: Master = None,
) -> None:
    """Latency, deviation, percentiles, throughput and loss by run and technique."""
    from zonal.pipeline.jobs import open_spark
    from zonal_lab.experiment.summary_job import draw_summary, from_lab, summarize

    frame = open_spark(master).read.parquet(str(samples))
    numbers = summarize(from_lab(frame) if "sent_ns" in frame.columns else frame)
    if picture:
        draw_summary(numbers, picture)
    finish(numbers, output, overwrite=overwrite)
