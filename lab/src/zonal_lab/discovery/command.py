"""`zonal lab run discovery`: time until a location-aware subscriber hears its first message."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def discovery(
    *,
    quick: Annotated[bool, typer.Option(help="two times each")] = False,
    rounds: Annotated[int, typer.Option(help="how often each")] = 20,
    into: Annotated[Path, typer.Option(help="folder of the page")] = Path("out/lab/discovery"),
) -> None:
    """Clique, mesh, brokered, routed; by multicast, by gossip or told (as root)."""
    from zonal_lab.discovery.measure import WAYS, measure, write_meeting_report
    from zonal_lab.experiment.progress import showing_progress

    with showing_progress(len(WAYS)) as tell:
        rows = measure(2 if quick else rounds, tell)
    typer.echo(f"report: {write_meeting_report(rows, into)}")
