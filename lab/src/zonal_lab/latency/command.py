"""`zonal lab run latency`: round trips of Zenoh, MQTT, our session and our broker."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

TRACE_FOLDERS = (Path("../shared/data/mahimahi"), Path("data/mahimahi"))


def latency(
    *,
    quick: Annotated[bool, typer.Option(help="few echoes, one round: a few minutes")] = False,
    echoes: Annotated[int, typer.Option(help="echoes of every case")] = 1000,
    acknowledged_echoes: Annotated[int, typer.Option(help="… of MQTT at QoS 1 and 2")] = 1000,
    delayed_echoes: Annotated[int, typer.Option(help="… where 200 ms are added")] = 1000,
    rounds: Annotated[int, typer.Option(help="the echoes are spread over so many turns")] = 10,
    links: Annotated[str, typer.Option(help="wireless cards: wifi, lte or wired")] = "wifi",
    scenarios: Annotated[
        str, typer.Option(help="comma-separated")
    ] = "alpha,beta,beta-delay,gamma,delta",
    stacks: Annotated[str, typer.Option(help="comma-separated; empty: all")] = "",
    traces: Annotated[Path | None, typer.Option(help="folder of Mahimahi traces")] = None,
    into: Annotated[
        Path | None, typer.Option(help="folder of results; continued if it exists")
    ] = None,
) -> None:
    """Zenoh against MQTT: round trips in α, β, β + 200 ms, γ and δ, then the report (as root)."""
    from zonal_lab.experiment.progress import showing_progress
    from zonal_lab.latency.evaluation import EchoEvaluation
    from zonal_lab.latency.plan import EchoPlan
    from zonal_lab.latency.report import write_echo_report
    from zonal_lab.latency.results import EchoResults
    from zonal_lab.latency.stacks import STACKS

    plan = EchoPlan(
        echoes=100 if quick else echoes,
        acknowledged_echoes=30 if quick else acknowledged_echoes,
        delayed_echoes=6 if quick else delayed_echoes,
        rounds=1 if quick else rounds,
        links=links,  # type: ignore[arg-type] # the plan checks
        scenarios=tuple(scenarios.split(",")),
        stacks=tuple(stacks.split(",")) if stacks else tuple(STACKS),
    )
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    results = EchoResults(into or Path("out/lab") / f"latency-{stamp}")
    folders = (traces,) if traces else TRACE_FOLDERS
    with showing_progress(plan.count) as tell:
        evaluation = EchoEvaluation(plan, results, folders, on_case=lambda case: tell(case.name))
        evaluation.run()
    for each in evaluation.failures:
        typer.echo(f"failed: {each}", err=True)
    typer.echo(f"report: {write_echo_report(results, results.folder)}")


def latency_report(
    folder: Annotated[Path, typer.Argument(help="folder of results")],
    to: Annotated[Path | None, typer.Option(help="folder of the page (default: the same)")] = None,
    name: Annotated[str, typer.Option(help="name of the page and its pictures")] = "latency",
) -> None:
    """Write the report on stored echoes; needs neither root nor a network."""
    from zonal_lab.latency.report import write_echo_report
    from zonal_lab.latency.results import EchoResults

    typer.echo(f"report: {write_echo_report(EchoResults(folder), to or folder, name)}")
