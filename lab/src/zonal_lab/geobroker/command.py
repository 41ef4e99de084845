"""`zonal lab run geobroker`: GeoBroker's use case and its experiments beside it."""

from __future__ import annotations

from dataclasses import replace
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
    teleport: Annotated[
        str, typer.Option(help="numbers of teleporting clients, comma-separated; '' for none")
    ] = "250,1000",
    teleport_seconds: Annotated[float, typer.Option(help="length of a teleporting case")] = 60.0,
    index_seconds: Annotated[
        float, typer.Option(help="for each point of figures 7 and 8 (the index); 0: without")
    ] = 0.4,
    matching_seconds: Annotated[
        float, typer.Option(help="for each of five rounds of 'everything matches'; 0: without")
    ] = 60.0,
    spark: Annotated[
        bool,
        typer.Option(
            help="journeys and checks by the jobs on Spark; without: made-up journeys, checked by "
            "the job's predicate alone"
        ),
    ] = True,
    geolife: Annotated[
        Path | None, typer.Option(help="folder of Geolife; made-up walks where there is none")
    ] = None,
    into: Annotated[
        Path | None, typer.Option(help="folder of results; continued if it exists")
    ] = None,
) -> None:
    """GeoBroker's evaluation: clients on four systems, checked; the index; then the report."""
    from zonal_lab.experiment.progress import showing_progress
    from zonal_lab.geobroker.evaluation import UseCaseEvaluation
    from zonal_lab.geobroker.plan import UseCasePlan
    from zonal_lab.geobroker.report import write_use_case_report
    from zonal_lab.geobroker.results import UseCaseResults

    plan = UseCasePlan(
        seconds=seconds,
        clients=_numbers(clients),
        systems=tuple(systems.split(",")),  # type: ignore[arg-type] # the plan checks
        ramp_s=ramp,
        processes=processes,
        teleport=_numbers(teleport),
        teleport_seconds=teleport_seconds,
        index_seconds=index_seconds,
        matching_seconds=matching_seconds,
    )
    if quick:
        plan = replace(
            plan, seconds=8.0, clients=(50, 100), teleport=(50,), teleport_seconds=3.0,
            index_seconds=0.02, matching_seconds=3.0,
        )  # fmt: skip
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    results = UseCaseResults(into or Path("out/lab") / f"geobroker-{stamp}")
    folder = geolife or next((each for each in GEOLIFE_FOLDERS if each.is_dir()), None)
    evaluation = UseCaseEvaluation(plan, results, folder, spark=spark)
    with showing_progress(evaluation.steps(), emulating=False) as tell:
        evaluation.on_case = tell
        evaluation.run()
    for each in evaluation.failures:
        typer.echo(f"failed: {each}", err=True)
    typer.echo(f"report: {write_use_case_report(results, results.folder)}")


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in text.split(",") if each.strip())


def geobroker_report(
    folder: Annotated[Path, typer.Argument(help="folder of results")],
    to: Annotated[Path | None, typer.Option(help="folder of the page (default: the same)")] = None,
    name: Annotated[str, typer.Option(help="name of the page and its pictures")] = "geobroker",
) -> None:
    """Write the report on stored use cases."""
    from zonal_lab.geobroker.report import write_use_case_report
    from zonal_lab.geobroker.results import UseCaseResults

    typer.echo(f"report: {write_use_case_report(UseCaseResults(folder), to or folder, name)}")
