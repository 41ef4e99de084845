"""`zonal lab run reliability`: losses and round trips of five megabytes at once."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer


def reliability(
    *,
    quick: Annotated[bool, typer.Option(help="one sample a case: a few minutes")] = False,
    samples: Annotated[int, typer.Option(help="samples of every case")] = 100,
    sizes: Annotated[str, typer.Option(help="bytes a message, comma-separated")] = "1000,500,100",
    transports: Annotated[str, typer.Option(help="comma-separated")] = "tcp,udp",
    stacks: Annotated[str, typer.Option(help="comma-separated")] = "zenoh,session,recovery",
    into: Annotated[
        Path | None, typer.Option(help="folder of results; continued if it exists")
    ] = None,
) -> None:
    """Reliability and congestion control over TCP and UDP, then the report (as root)."""
    from zonal_lab.experiment.progress import showing_progress
    from zonal_lab.reliability.evaluation import BurstEvaluation, BurstResults
    from zonal_lab.reliability.plan import BurstPlan
    from zonal_lab.reliability.report import write_burst_report

    plan = BurstPlan(
        samples=1 if quick else samples,
        sizes=tuple(int(each) for each in sizes.split(",")),
        transports=tuple(transports.split(",")),
        stacks=tuple(stacks.split(",")),  # type: ignore[arg-type] # the plan checks
    )
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    results = BurstResults(into or Path("out/lab") / f"reliability-{stamp}")
    total = len(list(plan.bursts())) + len(list(plan.paced()))
    with showing_progress(total) as tell:
        evaluation = BurstEvaluation(plan, results, on_case=tell)
        evaluation.run()
    for each in evaluation.failures:
        typer.echo(f"failed: {each}", err=True)
    typer.echo(f"report: {write_burst_report(results, results.folder)}")


def reliability_report(
    folder: Annotated[Path, typer.Argument(help="folder of results")],
    to: Annotated[Path | None, typer.Option(help="folder of the page (default: the same)")] = None,
    name: Annotated[str, typer.Option(help="name of the page and its pictures")] = "reliability",
) -> None:
    """Write the report on stored bursts; needs neither root nor a network."""
    from zonal_lab.reliability.evaluation import BurstResults
    from zonal_lab.reliability.report import write_burst_report

    typer.echo(f"report: {write_burst_report(BurstResults(folder), to or folder, name)}")
