"""`zonal lab`: emulated networks and the location-aware evaluation."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zonal_lab.capture.command import capture
from zonal_lab.discovery.command import discovery
from zonal_lab.errors import EmulationError
from zonal_lab.experiment.summary_command import summary
from zonal_lab.geobroker.command import geobroker, geobroker_report
from zonal_lab.geobroker.workload_command import workload
from zonal_lab.latency.command import latency, latency_report
from zonal_lab.psvr import app as psvr_app
from zonal_lab.reliability.command import reliability, reliability_report

if TYPE_CHECKING:
    from zonal_lab.experiment.results import Results
    from zonal_lab.location.plan import Plan

app = typer.Typer(
    no_args_is_help=True, help="Emulate networks on this machine and run experiments on them."
)
run_app = typer.Typer(no_args_is_help=True, help="Run an experiment (as root).")
app.add_typer(run_app, name="run")
for _experiment in (latency, reliability, geobroker, discovery, capture):
    run_app.command()(_experiment)
for _report in (latency_report, reliability_report, geobroker_report):
    app.command(_report.__name__.replace("_", "-"))(_report)
for _job in (workload, summary):
    app.command()(_job)
app.add_typer(psvr_app, name="psvr")

_QUICK_ROUNDS, _QUICK_SECONDS = 1, 3.0
_TRACE_FOLDERS = (Path("../shared/data/mahimahi"), Path("data/mahimahi"))


@app.command()
def check() -> None:
    """Say what this machine can emulate, and what is missing."""
    from zonal_lab.emulation.machine import examine_machine

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
    from zonal_lab.emulation.runs import remove_leftovers

    removed = remove_leftovers()
    typer.echo(
        f"removed {removed.runs} dead runs, {removed.processes} processes, "
        f"{removed.groups} control groups"
    )


@run_app.command()
def location(
    *,
    quick: Annotated[bool, typer.Option(help="one round of a few seconds a case")] = False,
    rounds: Annotated[int, typer.Option(help="runs of every case")] = 12,
    seconds: Annotated[float, typer.Option(help="length of a run")] = 180.0,
    variant_seconds: Annotated[
        float | None,
        typer.Option(help="… of one over UDP or with slow routers (default: the same)"),
    ] = None,
    scenarios: Annotated[str, typer.Option(help="comma-separated")] = "zoning,near-field,far-field",
    transports: Annotated[str, typer.Option(help="comma-separated")] = "tcp,udp",
    cpu: Annotated[str, typer.Option(help="routers' shares in percent")] = "100,20",
    techniques: Annotated[
        str, typer.Option(help="comma-separated")
    ] = "TOPIC,PAYLOAD,json,mgrs,bloom,s2",
    plain_clients: Annotated[
        bool, typer.Option(help="clients on unlimited cards instead of the packet trace")
    ] = False,
    traces: Annotated[Path | None, typer.Option(help="folder of Mahimahi traces")] = None,
    into: Annotated[
        Path | None, typer.Option(help="folder of results; continued if it exists")
    ] = None,
) -> None:
    """The evaluation of Visotto 2023: techniques × scenarios × transports × CPU, then its page."""
    _require_packages()
    from zonal_lab.experiment.results import Results
    from zonal_lab.location.bloom_table import run_bloom_table
    from zonal_lab.location.plan import Plan
    from zonal_lab.location.report import write_report

    plan = Plan(
        rounds=_QUICK_ROUNDS if quick else rounds,
        seconds=_QUICK_SECONDS if quick else seconds,
        scenarios=tuple(scenarios.split(",")),
        transports=tuple(transports.split(",")),  # type: ignore[arg-type] # the plan checks
        cpu_percents=tuple(int(each) for each in cpu.split(",")),
        techniques=tuple(techniques.split(",")),  # type: ignore[arg-type] # the plan checks
        client_links="plain" if plain_clients else "trace",
        variant_seconds=None if quick else variant_seconds,
    )
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    results = Results(into or Path("out/lab") / f"location-{stamp}")
    folders = (traces,) if traces else _TRACE_FOLDERS
    _run(plan, results, folders)
    if "bloom" in plan.techniques:
        typer.echo("false positives of Bloom filters …")
        results.add_bloom_table(run_bloom_table())
    typer.echo(f"report: {write_report(results, results.folder)}")


def _require_packages() -> None:
    """Say what to install where the extras are missing."""
    missing = [name for name in ("pyarrow", "matplotlib") if find_spec(name) is None]
    if missing:
        raise EmulationError(
            f"{' and '.join(missing)} must be installed: pip install 'zonal[pipeline,figures]'"
        )


def _run(plan: Plan, results: Results, folders: tuple[Path, ...]) -> None:
    """Run, showing progress; what is there already is not run again."""
    from zonal_lab.experiment.progress import showing_progress
    from zonal_lab.location.evaluation import Evaluation

    with showing_progress(plan.count) as tell:
        evaluation = Evaluation(
            plan, results, folders, on_case=lambda case, number: tell(case.name, number)
        )
        evaluation.run()
    for each in evaluation.failures:
        typer.echo(f"failed: {each}", err=True)


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="folder of results")],
    to: Annotated[Path | None, typer.Option(help="folder of the page (default: the same)")] = None,
    name: Annotated[str, typer.Option(help="name of the page and its pictures")] = "location",
    *,
    spark: Annotated[
        bool | None, typer.Option(help="compute on Spark or not (default: where a Java is there)")
    ] = None,
) -> None:
    """Write the report of stored results; needs neither root nor a network."""
    _require_packages()
    from zonal_lab.experiment.results import Results
    from zonal_lab.location.report import write_report

    typer.echo(f"report: {write_report(Results(folder), to or folder, name, by_spark=spark)}")
