"""`zonal lab`: emulated networks, the experiments on them, and the jobs beside them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zonal_lab import (
    capture,
    discovery,
    geobroker,
    latency,
    location,
    peers,
    psvr,
    reliability,
    scale,
)
from zonal_lab.errors import LabError
from zonal_lab.everything import run_all_command
from zonal_lab.experiment import (
    EVALUATION,
    Results,
    differences,
    keep,
    report_command,
    run_command,
    write_pages,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from zonal_lab.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (
    location.EXPERIMENT,
    latency.EXPERIMENT,
    reliability.EXPERIMENT,
    discovery.EXPERIMENT,
    capture.EXPERIMENT,
    geobroker.EXPERIMENT,
    psvr.EXPERIMENT,
    scale.EXPERIMENT,
    peers.EXPERIMENT,
)
"""The one list of experiments; each is a package with an `EXPERIMENT` in its face."""

app = typer.Typer(
    no_args_is_help=True, help="Emulate networks on this machine and run experiments on them."
)
_run = typer.Typer(no_args_is_help=True, help="Run an experiment.")
_report = typer.Typer(no_args_is_help=True, help="Write the page of stored results.")
app.add_typer(_run, name="run")
app.add_typer(_report, name="report")
for _experiment in EXPERIMENTS:
    _run.command(_experiment.name)(run_command(_experiment))
    _report.command(_experiment.name)(report_command(_experiment))
_run.command("all")(run_all_command(EXPERIMENTS))
app.add_typer(psvr.app, name="psvr")

Pages = Annotated[Path, typer.Option(help="The folder of committed pages.")]
Master = Annotated[
    str | None, typer.Option(help="Spark's master; else that of spark-submit, else local[*].")
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="A folder for Parquet.")]
Overwrite = Annotated[bool, typer.Option(help="Replace what is in the output folder.")]


@app.command()
def check() -> None:
    """Say what this machine can emulate, and what is missing."""
    from zonal_lab.emulation import examine_machine

    machine = examine_machine()
    for each in machine.missing:
        typer.echo(f"missing: {each}")
    if machine.missing:
        raise typer.Exit(1)
    typer.echo("namespaces, bridges, token buckets and TUN devices: there")
    typer.echo(
        f"netem: {'there' if machine.netem else 'not there; a relay on TUN devices steps in'}"
    )
    typer.echo(f"CPU limits: {'there' if machine.cpu_limits else 'not there'}")


@app.command()
def clean() -> None:
    """Remove what killed runs have left behind."""
    from zonal_lab.emulation import remove_leftovers

    removed = remove_leftovers()
    typer.echo(
        f"removed {removed.runs} dead runs, {removed.processes} processes, "
        f"{removed.groups} control groups"
    )


@app.command("keep")
def keep_results(
    folder: Annotated[Path, typer.Argument(help="A folder of results.")],
    name: Annotated[str | None, typer.Option(help="The page's (else the experiment's).")] = None,
    pages: Pages = EVALUATION,
) -> None:
    """Keep the data of a run among the committed pages, and make the pages anew."""
    results = Results(folder)
    wanted = results.manifest()["experiment"]
    (experiment,) = (each for each in EXPERIMENTS if each.name == wanted)
    typer.echo(f"kept: {keep(results, experiment, pages, name)}")
    _write(pages)


@app.command()
def programs(
    folder: Annotated[Path, typer.Argument(help="Where to, as `run peers --programs` takes it.")],
    names: Annotated[list[str] | None, typer.Argument(help="Which (else all).")] = None,
) -> None:
    """Get the programs of other systems from the public registries, by go, cargo, npm and pip."""
    from zonal_lab.peers import get_programs, lacking

    try:
        for line in get_programs(folder, names or ()):
            typer.echo(line)
    except LabError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error
    finally:
        for line in lacking(folder):
            typer.echo(line)


@app.command("pages")
def make_pages(pages: Pages = EVALUATION) -> None:
    """Make every committed page anew from the data beside it, and the one with all verdicts."""
    _write(pages)


@app.command()
def verify(pages: Pages = EVALUATION) -> None:
    """Compute every committed page from its data; fails if a number on it differs."""
    found = list(differences(pages, EXPERIMENTS))
    for each in found:
        typer.echo(each)
    typer.echo("every page says what its data says" if not found else f"{len(found)} differ")
    if found:
        raise typer.Exit(1)


def _write(pages: Path) -> None:
    for page in write_pages(pages, EXPERIMENTS):
        typer.echo(f"page: {page}")


@app.command()
def workload(
    folder: Annotated[Path, typer.Argument(help="Geolife .plt or GTFS-realtime CSV files.")],
    clients: Annotated[int, typer.Option(help="How many clients.", min=1)] = 100,
    kind: Annotated[str, typer.Option(help="travel or teleport.")] = "travel",
    output: Output = None,
    overwrite: Overwrite = False,
    master: Master = None,
) -> None:
    """Recorded journeys into traces for clients, assigned by increasing identifier (on Spark)."""
    from zonal.errors import DeclarationError
    from zonal.pipeline.jobs import open_spark
    from zonal_lab.jobs import assign, geolife, gtfs_realtime

    if kind not in {"travel", "teleport"}:
        raise DeclarationError(f"kind {kind!r} is neither travel nor teleport")
    read = geolife if next(folder.rglob("*.plt"), None) else gtfs_realtime
    journeys = read(open_spark(master), folder)
    trace = assign(journeys, clients, kind="travel" if kind == "travel" else "teleport")
    _finish(trace, output, overwrite=overwrite)


@app.command()
def summary(
    samples: Annotated[Path, typer.Argument(help="Parquet: a row per expected message.")],
    picture: Annotated[Path | None, typer.Option(help="A PNG or SVG file.")] = None,
    output: Output = None,
    overwrite: Overwrite = False,
    master: Master = None,
) -> None:
    """Latency, deviation, percentiles, throughput and loss by run and technique (on Spark)."""
    from zonal.pipeline.jobs import open_spark
    from zonal_lab.jobs import draw_summary, from_lab, summarize

    frame = open_spark(master).read.parquet(str(samples))
    numbers = summarize(from_lab(frame) if "sent_us" in frame.columns else frame)
    if picture:
        draw_summary(numbers, picture)
    _finish(numbers, output, overwrite=overwrite)


def _finish(frame: DataFrame, output: Path | None, *, overwrite: bool) -> None:
    """Show the table, or write it."""
    if output is None:
        frame.show(50, truncate=40)
        return
    frame.write.mode("overwrite" if overwrite else "errorifexists").parquet(str(output.absolute()))
    typer.echo(f"written to {output}")
