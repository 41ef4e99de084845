"""The experiment `capture`: the options of its run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from zonal_lab.experiment import Experiment, Results, RouterProgram, Trial

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from zonal_lab.experiment import Claim


def _trial(
    *,
    quick: Annotated[bool, typer.Option(help="50 messages of each kind")] = False,
    messages: Annotated[int, typer.Option(help="messages of each kind")] = 500,
    size: Annotated[int, typer.Option(help="bytes of payload")] = 64,
    zenohd: RouterProgram = None,
) -> Trial[Any]:
    """Plain Zenoh, every encoding and MQTT: bytes per message, by a raw socket (as root)."""
    from zonal_lab.capture.plan import CapturePlan
    from zonal_lab.capture.trial import CaptureTrial

    routers: Literal["none", "zenohd"] = "none" if zenohd is None else "zenohd"
    return CaptureTrial(CapturePlan(50 if quick else messages, size, routers), zenohd)


def _page(results: Results, folder: Path, name: str) -> Iterable[str]:
    from zonal_lab.capture.page import page

    return page(results, folder, name)


def _claims(results: Results) -> Iterable[Claim]:
    from zonal_lab.capture.claims import claims

    return claims(results)


EXPERIMENT = Experiment(
    "capture",
    "Bytes per message on the wire",
    _trial,
    _page,
    _claims,
    lambda plan: plan["messages"],
)
