"""The experiment `reliability`: the options of its run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from zonal_lab.experiment import Experiment, Results, RouterProgram, Trial, numbers, words

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from zonal_lab.experiment import Claim


def _trial(
    *,
    quick: Annotated[bool, typer.Option(help="one sample a case: a few minutes")] = False,
    samples: Annotated[int, typer.Option(help="samples of every burst")] = 100,
    paced_samples: Annotated[int, typer.Option(help="samples of every paced case")] = 20,
    sizes: Annotated[str, typer.Option(help="bytes a message, comma-separated")] = "1000,500,100",
    transports: Annotated[str, typer.Option(help="comma-separated")] = "tcp,udp",
    stacks: Annotated[str, typer.Option(help="comma-separated")] = "zenoh,session,recovery",
    zenohd: RouterProgram = None,
) -> Trial[Any]:
    """Reliability and congestion control over TCP and UDP: five megabytes at once (as root)."""
    from zonal_lab.reliability.plan import ReliabilityPlan
    from zonal_lab.reliability.trial import ReliabilityTrial

    plan = ReliabilityPlan(
        samples=1 if quick else samples,
        paced_samples=1 if quick else paced_samples,
        sizes=numbers(sizes),
        transports=words(transports),
        stacks=words(stacks),  # type: ignore[arg-type] # the plan checks
        routers="none" if zenohd is None else "zenohd",
    )
    return ReliabilityTrial(plan, zenohd)


def _page(results: Results, folder: Path, name: str) -> Iterable[str]:
    from zonal_lab.reliability.page import page

    return page(results, folder, name)


def _claims(results: Results) -> Iterable[Claim]:
    from zonal_lab.reliability.claims import claims

    return claims(results)


EXPERIMENT = Experiment(
    "reliability",
    "Zenoh's reliability and congestion control",
    _trial,
    _page,
    _claims,
    lambda plan: plan["samples"],
)
