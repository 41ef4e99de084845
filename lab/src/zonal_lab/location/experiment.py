"""The experiment `location`: the options of its run and what its page may be asked."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads annotations at run time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zonal_lab.experiment import Experiment, Results, RouterProgram, Trial, numbers, words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from zonal_lab.experiment import Claim

_QUICK_ROUNDS, _QUICK_SECONDS = 1, 3.0


def _trial(
    *,
    quick: Annotated[bool, typer.Option(help="one round of a few seconds a case")] = False,
    rounds: Annotated[int, typer.Option(help="runs of every case")] = 12,
    seconds: Annotated[float, typer.Option(help="length of a run")] = 180.0,
    variant_seconds: Annotated[
        float | None,
        typer.Option(help="… of one over UDP or with slow routers (default: the same)"),
    ] = None,
    scenarios: Annotated[
        str, typer.Option(help="comma-separated")
    ] = "zoning,near-field,far-field,spread,moving",
    transports: Annotated[str, typer.Option(help="comma-separated")] = "tcp,udp",
    cpu: Annotated[str, typer.Option(help="routers' shares in percent")] = "100,20",
    techniques: Annotated[
        str, typer.Option(help="comma-separated")
    ] = "TOPIC,PAYLOAD,json,mgrs,bloom,s2",
    plain_clients: Annotated[
        bool, typer.Option(help="clients on unlimited cards instead of the packet trace")
    ] = False,
    traces: Annotated[
        Path | None, typer.Option(help="folder of Mahimahi traces (default: a made-up one)")
    ] = None,
    claimed_only: Annotated[
        bool, typer.Option(help="leave out conditions that no claim is about")
    ] = False,
    zenohd: RouterProgram = None,
) -> Trial[Any]:
    """The evaluation of Visotto 2023: techniques × scenarios × transports × CPU (as root)."""
    from zonal_lab.location.plan import LocationPlan
    from zonal_lab.location.trial import LocationTrial

    plan = LocationPlan(
        rounds=_QUICK_ROUNDS if quick else rounds,
        seconds=_QUICK_SECONDS if quick else seconds,
        scenarios=words(scenarios),
        transports=words(transports),  # type: ignore[arg-type] # the plan checks
        cpu_percents=numbers(cpu),
        techniques=words(techniques),  # type: ignore[arg-type] # the plan checks
        client_links="plain" if plain_clients else "trace",
        variant_seconds=None if quick else variant_seconds,
        routers="library" if zenohd is None else "zenohd",
        claimed_only=claimed_only,
    )
    return LocationTrial(plan, traces, zenohd)


def _page(
    results: Results,
    folder: Path,
    name: str,
    *,
    spark: Annotated[
        bool, typer.Option(help="compute the figures on Spark, and check them by this process")
    ] = False,
) -> Iterable[str]:
    from zonal_lab.location.page import page

    return page(results, folder, name, by_spark=spark)


def _claims(results: Results) -> Iterable[Claim]:
    from zonal_lab.location.claims import claims

    return claims(results)


EXPERIMENT = Experiment(
    "location",
    "The location-aware evaluation",
    _trial,
    _page,
    _claims,
    lambda plan: plan["seconds"],
)
