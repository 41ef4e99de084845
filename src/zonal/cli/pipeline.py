"""`zonal pipeline`: the Spark jobs, on whatever master there is."""

from __future__ import annotations

import signal
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zonal.cli.connection import LOCAL_ROUTER, Connect, connected

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from zonal.pipeline.jobs import AlertRule, BatchReport

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="From the log to silver, gold and alerts; joins and tables; on Spark.",
)
Master = Annotated[
    str | None, typer.Option(help="Spark's master; else that of spark-submit, else local[*].")
]
LakeFolder = Annotated[Path, typer.Argument(help="The folder of the lake.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="A folder for Parquet.")]
Overwrite = Annotated[bool, typer.Option(help="Replace what is in the output folder.")]


@app.command()
def run(
    log: Annotated[Path, typer.Argument(help="The folder of the log.")],
    lake: LakeFolder,
    schema: Annotated[Path | None, typer.Option(help="Declared payloads, a TOML file.")] = None,
    zones: Annotated[Path | None, typer.Option(help="Polygons, a GeoJSON file.")] = None,
    zone_name: Annotated[str | None, typer.Option(help="The property that names a zone.")] = None,
    repair_zones: Annotated[bool, typer.Option(help="Mend invalid polygons.")] = False,
    window: Annotated[int, typer.Option(help="Seconds of a window.")] = 300,
    cell_level: Annotated[int, typer.Option(help="S2 level of the aggregates per cell.")] = 14,
    tracks: Annotated[bool, typer.Option(help="Keep device tracks too.")] = False,
    watermark: Annotated[float, typer.Option(help="Seconds back that doubles are found.")] = 3600,
    once: Annotated[bool, typer.Option(help="End when the log is read.")] = False,
    trigger: Annotated[float, typer.Option(help="Seconds between batches.")] = 10.0,
    max_rows: Annotated[int, typer.Option(help="Rows of a batch, at most.")] = 1_000_000,
    alert: Annotated[
        list[str] | None, typer.Option(help="As measure:statistic:threshold, such as pm10:mean:50.")
    ] = None,
    connect: Connect = LOCAL_ROUTER,
    master: Master = None,
) -> None:
    """Turn the log into silver, quarantine and gold; raise alerts; go on until Ctrl-C."""
    from zonal.pipeline import PayloadDeclaration, TrackPlan, Zones
    from zonal.pipeline.jobs import Pipeline, PipelinePlan, SilverPlan, WindowPlan

    declared = PayloadDeclaration.from_file(schema) if schema else PayloadDeclaration()
    places = Zones.from_file(zones, name=zone_name, repair=repair_zones) if zones else None
    plan = PipelinePlan(
        SilverPlan(declared, places, watermark_s=watermark),
        WindowPlan(declared.measures, window, cell_level),
        TrackPlan() if tracks else None,
        alerts=tuple(_rule(text) for text in alert or ()),
    )
    with connected(connect, "client") if plan.alerts else nullcontext() as session:
        pipeline = Pipeline(
            _spark(master), log, lake, plan, session=session, on_batch=_report, on_alerts=_told
        )
        if once:
            pipeline.run(max_rows=max_rows)
        else:
            query = pipeline.start(trigger_s=trigger, max_rows=max_rows)
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: query.stop())
            query.awaitTermination()


@app.command()
def compact(
    lake: LakeFolder,
    table: Annotated[
        str, typer.Option(help="One of silver, quarantine, windows, tracks.")
    ] = "silver",
    target_mb: Annotated[float, typer.Option(help="Megabytes of a large file.")] = 128.0,
    vacuum_hours: Annotated[
        float | None, typer.Option(help="Also delete replaced files that are older.")
    ] = None,
    master: Master = None,
) -> None:
    """Merge small files into large ones, without stopping readers."""
    from zonal.pipeline import Lake
    from zonal.pipeline.jobs import compact as merge

    place = Lake(lake)
    report = merge(_spark(master), place, table, target_bytes=int(target_mb * 1024 * 1024))
    typer.echo(f"{table}: {report.files_before} files are now {report.files_after}")
    if vacuum_hours is not None:
        typer.echo(f"{len(place.vacuum(older_than_s=vacuum_hours * 3600))} old files deleted")


@app.command()
def show(
    lake: LakeFolder,
    table: Annotated[
        str, typer.Option(help="One of silver, quarantine, windows, tracks, alerts.")
    ] = ("windows"),
    where: Annotated[str | None, typer.Option(help="A condition in SQL.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most so many.")] = 20,
    master: Master = None,
) -> None:
    """Print rows of a table."""
    from zonal.pipeline import Lake
    from zonal.pipeline.jobs import read_table

    frame = read_table(_spark(master), Lake(lake), table)
    (frame.where(where) if where else frame).show(limit, truncate=40)


@app.command()
def deliveries(
    log: Annotated[Path, typer.Argument(help="The folder of a log: the messages.")],
    subscriptions: Annotated[Path, typer.Argument(help="Parquet or CSV: the subscriptions.")],
    pairs: Annotated[bool, typer.Option(help="Every delivery instead of counts.")] = False,
    level: Annotated[int, typer.Option(help="S2 level of the join key.")] = 10,
    output: Output = None,
    overwrite: Overwrite = False,
    master: Master = None,
) -> None:
    """Who would have got which message, with geo-contexts and by content alone."""
    from zonal.pipeline import jobs

    spark = _spark(master)
    messages = jobs.log_messages(spark.read.format("zonal").load(str(log)))
    wanted = _subscriptions(spark, subscriptions)
    make = jobs.deliveries if pairs else jobs.excess
    _finish(make(messages, wanted, level=level), output, overwrite=overwrite)


def _spark(master: str | None) -> SparkSession:
    from zonal.pipeline.jobs import open_spark

    return open_spark(master)


def _finish(frame: DataFrame, output: Path | None, *, overwrite: bool) -> None:
    if output is None:
        frame.show(50, truncate=40)
        return
    frame.write.mode("overwrite" if overwrite else "errorifexists").parquet(str(output.absolute()))
    typer.echo(f"written to {output}")


def _report(batch: BatchReport) -> None:
    typer.echo(
        f"offsets {batch.start} to {batch.end - 1}: {batch.silver} silver, "
        f"{batch.quarantined} quarantined, {batch.doubles} doubles"
    )


def _told(rule: AlertRule, raised: int) -> None:
    typer.echo(f"{raised} alerts: {rule.measure} {rule.statistic} > {rule.threshold:g}")


def _rule(text: str) -> AlertRule:
    from zonal.errors import DeclarationError
    from zonal.pipeline.jobs import AlertRule

    try:
        measure, statistic, threshold = text.split(":")
        return AlertRule(measure, float(threshold), statistic)
    except ValueError as error:
        raise DeclarationError(f"alert {text!r} is not measure:statistic:threshold") from error


def _subscriptions(spark: SparkSession, path: Path) -> DataFrame:
    """Parquet with the join's own columns, or CSV with areas as text (subscriber,topic,area)."""
    if path.suffix != ".csv":
        return spark.read.parquet(str(path))
    from zonal.pipeline.jobs import subscriptions_from_csv

    return subscriptions_from_csv(spark, path)
