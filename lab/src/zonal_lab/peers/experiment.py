"""The experiment `peers`: the options of its run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path  # noqa: TC003 - typer reads annotations at run time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zonal_lab.experiment import Experiment, Results, Trial, words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from zonal_lab.experiment import Claim


def _trial(
    *,
    quick: Annotated[bool, typer.Option(help="one round, small sizes: two minutes")] = False,
    rounds: Annotated[int, typer.Option(help="how often each system does each work")] = 5,
    works: Annotated[
        str, typer.Option(help="comma-separated")
    ] = "things,fences,index,use-case,mqtt,rest,joins",
    systems: Annotated[str, typer.Option(help="comma-separated; empty: all")] = "",
    things: Annotated[int, typer.Option(help="things that are stored")] = 50_000,
    fences: Annotated[int, typer.Option(help="circles that are watched")] = 10_000,
    workload_scale: Annotated[
        float, typer.Option(help="share of GeoBroker's 110,000 operations on the index")
    ] = 0.2,
    messages: Annotated[int, typer.Option(help="of the join of deliveries")] = 100_000,
    subscriptions: Annotated[int, typer.Option(help="of the join of deliveries")] = 10_000,
    seconds: Annotated[float, typer.Option(help="of each load on a broker or web server")] = 2.0,
    programs: Annotated[
        Path | None, typer.Option(help="folder with the peers' programs (else those of the path)")
    ] = None,
    geolife: Annotated[Path | None, typer.Option(help="folder of Geolife")] = None,
) -> Trial[Any]:
    """Geo and MQTT servers, GeoBroker's own code and Zenoh's plug-ins beside ours, in one run."""
    from zonal_lab.peers.plan import NAMES, PeersPlan
    from zonal_lab.peers.trial import PeersTrial

    plan = PeersPlan(
        rounds=rounds, works=words(works), things=things, fences=fences,
        workload_scale=workload_scale, seconds=seconds, systems=words(systems) or tuple(NAMES),
        messages=messages, subscriptions=subscriptions,
    )  # fmt: skip
    if quick:
        plan = replace(
            plan, rounds=1, things=1000, questions=20, fences=200, moving=200,
            workload_scale=0.01, seconds=0.5, rate=1000, idle=50,
            clients=20, messages=5000, subscriptions=500,
        )  # fmt: skip
    return PeersTrial(plan, programs, geolife)


def _page(results: Results, folder: Path, name: str) -> Iterable[str]:
    from zonal_lab.peers.page import page

    return page(results, folder, name)


def _claims(results: Results) -> Iterable[Claim]:
    from zonal_lab.peers.claims import claims

    return claims(results)


EXPERIMENT = Experiment(
    "peers", "Peers side by side", _trial, _page, _claims, lambda plan: plan["seconds"]
)
