"""The experiment `geobroker`: the options of its run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path  # noqa: TC003 - typer reads annotations at run time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zonal_lab.experiment import Experiment, Results, RouterProgram, Trial, numbers, words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from zonal_lab.experiment import Claim


def _trial(
    *,
    quick: Annotated[bool, typer.Option(help="few clients, a few seconds: some minutes")] = False,
    rounds: Annotated[int, typer.Option(help="runs of every case")] = 5,
    seconds: Annotated[float, typer.Option(help="length of a case")] = 300.0,
    clients: Annotated[str, typer.Option(help="comma-separated")] = "250,500,750,1000",
    systems: Annotated[
        str, typer.Option(help="comma-separated")
    ] = "geo,no-geo,mosquitto,federated",
    ramp: Annotated[float, typer.Option(help="seconds until all clients travel")] = 10.0,
    speed: Annotated[
        float, typer.Option(help="travel so many times as fast as recorded, to provoke overload")
    ] = 1.0,
    processes: Annotated[int, typer.Option(help="processes that carry the clients")] = 1,
    teleport: Annotated[
        str, typer.Option(help="numbers of teleporting clients, comma-separated; '' for none")
    ] = "250,1000",
    teleport_seconds: Annotated[float, typer.Option(help="length of a teleporting case")] = 60.0,
    index_seconds: Annotated[
        float, typer.Option(help="for each point of figures 7 and 8 (the index); 0: without")
    ] = 0.4,
    workload_scale: Annotated[
        float, typer.Option(help="share of the index workload's 110,000 operations; 0: without")
    ] = 1.0,
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
        Path | None, typer.Option(help="folder of Geolife (default: made-up walks)")
    ] = None,
    zenohd: RouterProgram = None,
) -> Trial[Any]:
    """GeoBroker's evaluation: clients on four systems, checked; everything matching; the index."""
    from zonal_lab.geobroker.plan import GeobrokerPlan
    from zonal_lab.geobroker.trial import GeobrokerTrial

    plan = GeobrokerPlan(
        rounds=rounds,
        seconds=seconds,
        clients=numbers(clients),
        systems=words(systems),  # type: ignore[arg-type] # the plan checks
        ramp_s=ramp,
        speed=speed,
        processes=processes,
        teleport=numbers(teleport),
        teleport_seconds=teleport_seconds,
        index_seconds=index_seconds,
        workload_scale=workload_scale,
        matching_seconds=matching_seconds,
        routers="none" if zenohd is None else "zenohd",
    )
    if quick:
        plan = replace(
            plan, rounds=1, seconds=8.0, clients=(50, 100), teleport=(50,), teleport_seconds=3.0,
            index_seconds=0.02, workload_scale=0.01, matching_seconds=3.0,
        )  # fmt: skip
    return GeobrokerTrial(plan, geolife, spark=spark, zenohd=zenohd)


def _page(results: Results, folder: Path, name: str) -> Iterable[str]:
    from zonal_lab.geobroker.page import page

    return page(results, folder, name)


def _claims(results: Results) -> Iterable[Claim]:
    from zonal_lab.geobroker.claims import claims

    return claims(results)


EXPERIMENT = Experiment(
    "geobroker", "GeoBroker's evaluation", _trial, _page, _claims, lambda plan: plan["seconds"]
)
