"""The experiment `latency`: the options of its run."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads annotations at run time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zonal_lab.experiment import Experiment, Results, RouterProgram, Trial, words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from zonal_lab.experiment import Claim


def _trial(
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
    traces: Annotated[
        Path | None, typer.Option(help="folder of Mahimahi traces for lte (default: made up)")
    ] = None,
    zenohd: RouterProgram = None,
) -> Trial[Any]:
    """Zenoh against MQTT: round trips in α, β, β + 200 ms, γ and δ (as root)."""
    from zonal_lab.latency.plan import LatencyPlan
    from zonal_lab.latency.stacks import STACKS
    from zonal_lab.latency.trial import LatencyTrial

    plan = LatencyPlan(
        echoes=100 if quick else echoes,
        acknowledged_echoes=30 if quick else acknowledged_echoes,
        delayed_echoes=6 if quick else delayed_echoes,
        rounds=1 if quick else rounds,
        links=links,  # type: ignore[arg-type] # the plan checks
        scenarios=words(scenarios),
        stacks=words(stacks) or tuple(STACKS),
        routers="library" if zenohd is None else "zenohd",
    )
    return LatencyTrial(plan, traces, zenohd)


def _page(results: Results, folder: Path, name: str) -> Iterable[str]:
    from zonal_lab.latency.page import page

    return page(results, folder, name)


def _claims(results: Results) -> Iterable[Claim]:
    from zonal_lab.latency.claims import claims

    return claims(results)


EXPERIMENT = Experiment(
    "latency",
    "Zenoh against MQTT: latency",
    _trial,
    _page,
    _claims,
    lambda plan: plan["echoes"] / plan["rounds"],
)
