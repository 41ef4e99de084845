"""The experiment `discovery`: the options of its run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from zonal_lab.experiment import Experiment, Results, RouterProgram, Trial

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def _trial(
    *,
    quick: Annotated[bool, typer.Option(help="two times each")] = False,
    rounds: Annotated[int, typer.Option(help="how often each")] = 20,
    zenohd: RouterProgram = None,
) -> Trial[Any]:
    """Clique, mesh, brokered, routed; by multicast, by gossip or told (as root)."""
    from zonal_lab.discovery.plan import DiscoveryPlan
    from zonal_lab.discovery.trial import DiscoveryTrial

    plan = DiscoveryPlan(2 if quick else rounds, "library" if zenohd is None else "zenohd")
    return DiscoveryTrial(plan, zenohd)


def _page(results: Results, folder: Path, name: str) -> Iterable[str]:
    from zonal_lab.discovery.page import page

    return page(results, folder, name)


EXPERIMENT = Experiment("discovery", "Topologies and discovery", _trial, _page)
