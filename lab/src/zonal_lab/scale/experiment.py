"""The experiment `scale`: the options of its run."""

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
    quick: Annotated[bool, typer.Option(help="small sizes, two rounds: a minute")] = False,
    rounds: Annotated[int, typer.Option(help="cities and networks of each size")] = 5,
    keys: Annotated[
        str, typer.Option(help="declared at a real router, comma-separated")
    ] = "1000,10000,100000",
    city: Annotated[
        str, typer.Option(help="subscribers of a city that is simulated, comma-separated")
    ] = "10,100,1000,10000,100000",
    sparse: Annotated[
        str, typer.Option(help="subscribers of a simulated city like those of a real network")
    ] = "10,100,1000",
    network: Annotated[
        str, typer.Option(help="subscribers of each of three cities in a real network")
    ] = "20,60,200",
    subscriptions: Annotated[
        str, typer.Option(help="in one broker's index, and of a broker, comma-separated")
    ] = "10000,100000,1000000",
    things: Annotated[str, typer.Option(help="in one store")] = "10000,100000,1000000",
    rows: Annotated[
        str, typer.Option(help="of a lake, of which only the list of files is made")
    ] = "1000000,10000000,100000000",
    parts: Annotated[
        str,
        typer.Option(help="of movement, city, sparse, network, router, index, broker, store, lake"),
    ] = "",
    geolife: Annotated[Path | None, typer.Option(help="folder of Geolife")] = None,
    capmetro: Annotated[Path | None, typer.Option(help="folder of GTFS-realtime CSV")] = None,
    zenohd: RouterProgram = None,
) -> Trial[Any]:
    """Up to ten million subscribers: a model, measured costs, and a real network beside it."""
    from zonal_lab.scale.plan import ScalePlan
    from zonal_lab.scale.trial import ScaleTrial

    plan = ScalePlan(
        rounds, numbers(keys), numbers(city), numbers(sparse), numbers(network),
        numbers(subscriptions), numbers(things), numbers(rows),
    )  # fmt: skip
    if quick:
        plan = ScalePlan(
            2, (200, 400), (10, 100), (10, 50), (10,), (500, 1000), (500, 1000),
            (100_000, 1_000_000),
        )  # fmt: skip
    if parts:
        plan = replace(plan, parts=words(parts))  # type: ignore[arg-type] # the plan checks
    if zenohd is not None:
        plan = replace(plan, routers="zenohd")
    return ScaleTrial(plan, geolife, capmetro, zenohd)


def _page(results: Results, folder: Path, name: str) -> Iterable[str]:
    from zonal_lab.scale.page import page

    return page(results, folder, name)


def _claims(results: Results) -> Iterable[Claim]:
    from zonal_lab.scale.claims import claims

    return claims(results)


EXPERIMENT = Experiment("scale", "Up to ten million subscribers", _trial, _page, _claims)
