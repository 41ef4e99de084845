"""`zonal pipeline`: the Spark jobs, on whatever master there is."""

from __future__ import annotations

import json
import signal
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zonal.cli.connection import connected
from zonal.cli.options import LOCAL_ROUTER, Connect, JsonLines
from zonal.cli.submit import submit

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
LakePlace = Annotated[str, typer.Argument(help="Where the lake is: a folder or s3://….")]
LogPlace = Annotated[str, typer.Argument(help="Where the log is: a folder or s3://….")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="A folder for Parquet.")]
Overwrite = Annotated[bool, typer.Option(help="Replace what is in the output folder.")]
app.command()(submit)


@app.command()
def run(
    log: LogPlace,
    lake: LakePlace,
    schema: Annotated[Path | None, typer.Option(help="Declared payloads, a TOML file.")] = None,
    zones: Annotated[Path | None, typer.Option(help="Polygons, a GeoJSON file.")] = None,
    zone_name: Annotated[str | None, typer.Option(help="The property that names a zone.")] = None,
    repair_zones: Annotated[bool, typer.Option(help="Mend invalid polygons.")] = False,
    window: Annotated[int, typer.Option(help="Seconds of a window.")] = 300,
    cell_level: Annotated[int, typer.Option(help="S2 level of the aggregates per cell.")] = 14,
    tracks: Annotated[bool, typer.Option(help="Keep device tracks too.")] = False,
    once: Annotated[bool, typer.Option(help="End when the log is read.")] = False,
    trigger: Annotated[float, typer.Option(help="Seconds between batches.")] = 10.0,
    max_files: Annotated[int, typer.Option(help="Files of a batch, at most.")] = 1000,
    max_mb: Annotated[float, typer.Option(help="Megabytes of a batch, about.")] = 256.0,
    alert: Annotated[
        list[str] | None, typer.Option(help="As measure:statistic:threshold, such as pm10:mean:50.")
    ] = None,
    connect: Connect = LOCAL_ROUTER,
    master: Master = None,
    json_lines: JsonLines = False,
) -> None:
    """Turn the log into silver, quarantine and gold; raise alerts; go on until Ctrl-C."""
    from zonal.pipeline import PayloadDeclaration, TrackPlan, Zones
    from zonal.pipeline.jobs import Pipeline, PipelinePlan, SilverPlan, WindowPlan

    declared = PayloadDeclaration.from_file(schema) if schema else PayloadDeclaration()
    places = Zones.from_file(zones, name=zone_name, repair=repair_zones) if zones else None
    plan = PipelinePlan(
        SilverPlan(declared, places),
        WindowPlan(declared.measures, window, cell_level),
        TrackPlan() if tracks else None,
        alerts=tuple(_rule(text) for text in alert or ()),
    )
    with connected(connect, "client") if plan.alerts else nullcontext() as session:
        spark = _spark(master, log, lake)
        report, told = (_report_json, _told_json) if json_lines else (_report, _told)
        pipeline = Pipeline(
            spark, log, lake, plan, session=session, on_batch=report, on_alerts=told
        )
        typer.echo(f"reading {log}", err=True)
        pipeline.on_gold(lambda: typer.echo("gold is current", err=True))
        size = int(max_mb * 1024 * 1024)
        if once:
            pipeline.run(max_files=max_files, max_bytes=size)
        else:
            query = pipeline.start(trigger_s=trigger, max_files=max_files, max_bytes=size)
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: query.stop())
            query.awaitTermination()


@app.command()
def compact(
    lake: LakePlace,
    table: Annotated[
        str, typer.Option(help="One of silver, quarantine, windows, tracks.")
    ] = "silver",
    target_mb: Annotated[float, typer.Option(help="Megabytes of a large file.")] = 128.0,
    vacuum_hours: Annotated[
        int | None, typer.Option(help="Also delete replaced files that are older.")
    ] = None,
    master: Master = None,
    json_lines: JsonLines = False,
) -> None:
    """Merge small files into large ones, without stopping readers."""
    from zonal.pipeline import Lake, jobs

    Lake(lake).existing(table)  # said at once, not after Spark's start
    size = int(target_mb * 1024 * 1024)
    report = jobs.compact(_spark(master, lake), lake, table, target_bytes=size)
    deleted = None
    if vacuum_hours is not None:
        deleted = jobs.vacuum(lake, table, older_than_hours=vacuum_hours)
    if json_lines:
        typer.echo(json.dumps({"table": table, **asdict(report), "deleted": deleted}))
        return
    typer.echo(f"{table}: {report.files_before} files are now {report.files_after}")
    if deleted is not None:
        typer.echo(f"{deleted} old files deleted")


@app.command()
def show(
    lake: LakePlace,
    table: Annotated[
        str, typer.Option(help="One of silver, quarantine, windows, tracks, alerts.")
    ] = ("windows"),
    where: Annotated[str | None, typer.Option(help="A condition in SQL.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most so many.")] = 20,
    version: Annotated[int | None, typer.Option(help="As the table was at a version.")] = None,
    master: Master = None,
    json_lines: JsonLines = False,
) -> None:
    """Print rows of a table."""
    from zonal.pipeline import Lake
    from zonal.pipeline.jobs import read_table

    Lake(lake).existing(table)
    frame = read_table(_spark(master, lake), lake, table, version=version)
    _show(frame.where(where) if where else frame, limit, json_lines=json_lines)


@app.command()
def deliveries(
    log: LogPlace,
    subscriptions: Annotated[Path, typer.Argument(help="Parquet or CSV: the subscriptions.")],
    pairs: Annotated[bool, typer.Option(help="Every delivery instead of counts.")] = False,
    level: Annotated[int, typer.Option(help="S2 level of the join key.")] = 10,
    output: Output = None,
    overwrite: Overwrite = False,
    master: Master = None,
    json_lines: JsonLines = False,
) -> None:
    """Who would have got which message, with geo-contexts and by content alone."""
    from zonal.pipeline import jobs

    spark = _spark(master, log)
    messages = jobs.log_messages(jobs.read_log(spark, log))
    wanted = _subscriptions(spark, subscriptions)
    make = jobs.deliveries if pairs else jobs.excess
    found = make(messages, wanted, level=level)
    _finish(found, output, overwrite=overwrite, json_lines=json_lines)


def _spark(master: str | None, *places: str) -> SparkSession:
    from zonal.pipeline.jobs import open_spark

    def tell(text: str) -> None:
        typer.echo(text, err=True)

    tell("starting Spark")
    return open_spark(master, s3=any(place.startswith("s3") for place in places), tell=tell)


def _show(frame: DataFrame, limit: int, *, json_lines: bool) -> None:
    if not json_lines:
        frame.show(limit, truncate=40)
        return
    for line in frame.limit(limit).toJSON().collect():
        typer.echo(line)


def _finish(frame: DataFrame, output: Path | None, *, overwrite: bool, json_lines: bool) -> None:
    if output is None:
        _show(frame, 50, json_lines=json_lines)
        return
    frame.write.mode("overwrite" if overwrite else "errorifexists").parquet(str(output.absolute()))
    typer.echo(f"written to {output}")


def _report(batch: BatchReport) -> None:
    rate = batch.rows / max(batch.seconds, 1e-3)
    typer.echo(
        f"{batch.rows} messages: {batch.silver} silver, {batch.quarantined} quarantined, "
        f"{batch.doubles} doubles; {batch.total} so far, {rate:,.0f} a second, {batch.left} left"
    )


def _report_json(batch: BatchReport) -> None:
    typer.echo(json.dumps(asdict(batch)))


def _told_json(rule: AlertRule, raised: int) -> None:
    typer.echo(json.dumps({"alerts": raised, **asdict(rule)}))


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
