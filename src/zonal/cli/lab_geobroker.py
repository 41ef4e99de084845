"""`zonal lab run geobroker`: GeoBroker's use case with travelling clients."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

GEOLIFE_FOLDERS = (Path("../shared/data/geolife"), Path("data/geolife"))


def geobroker(
    *,
    quick: Annotated[bool, typer.Option(help="few clients, a few seconds: some minutes")] = False,
    seconds: Annotated[float, typer.Option(help="length of a case")] = 1500.0,
    clients: Annotated[str, typer.Option(help="comma-separated")] = "250,500,750,1000",
    systems: Annotated[
        str, typer.Option(help="comma-separated")
    ] = "geo,no-geo,mosquitto,federated",
    ramp: Annotated[float, typer.Option(help="seconds until all clients travel")] = 10.0,
    processes: Annotated[int, typer.Option(help="processes that carry the clients")] = 1,
    spark: Annotated[
        bool, typer.Option(help="check deliveries by the job on Spark, or by its predicate alone")
    ] = True,
    geolife: Annotated[
        Path | None, typer.Option(help="folder of Geolife; made-up walks where there is none")
    ] = None,
    into: Annotated[
        Path | None, typer.Option(help="folder of results; continued if it exists")
    ] = None,
) -> None:
    """GeoBroker's use case: travelling clients on four systems, checked, then the report."""
    from zonal.lab.geobroker.evaluation import UseCaseEvaluation
    from zonal.lab.geobroker.plan import UseCasePlan
    from zonal.lab.geobroker.report import write_use_case_report
    from zonal.lab.geobroker.results import UseCaseResults
    from zonal.lab.progress import showing_progress

    plan = UseCasePlan(
        seconds=10.0 if quick else seconds,
        clients=(50, 100) if quick else tuple(int(each) for each in clients.split(",")),
        systems=tuple(systems.split(",")),  # type: ignore[arg-type] # the plan checks
        ramp_s=ramp,
        processes=processes,
    )
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    results = UseCaseResults(into or Path("out/lab") / f"geobroker-{stamp}")
    folder = geolife or next((each for each in GEOLIFE_FOLDERS if each.is_dir()), None)
    with showing_progress(len(list(plan.cases())), emulating=False) as tell:
        evaluation = UseCaseEvaluation(plan, results, folder, spark=spark, on_case=tell)
        evaluation.run()
    for each in evaluation.failures:
        typer.echo(f"failed: {each}", err=True)
    typer.echo(f"report: {write_use_case_report(results, results.folder)}")


def geobroker_report(
    folder: Annotated[Path, typer.Argument(help="folder of results")],
    to: Annotated[Path | None, typer.Option(help="folder of the page (default: the same)")] = None,
    name: Annotated[str, typer.Option(help="name of the page and its pictures")] = "geobroker",
) -> None:
    """Write the report on stored use cases."""
    from zonal.lab.geobroker.report import write_use_case_report
    from zonal.lab.geobroker.results import UseCaseResults

    typer.echo(f"report: {write_use_case_report(UseCaseResults(folder), to or folder, name)}")
