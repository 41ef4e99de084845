"""`zonal lab workload`: recorded journeys into traces for clients."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 — typer reads annotations at run time
from typing import Annotated

import typer

from zonal_lab.spark_output import Master, Output, Overwrite, finish


def workload(
    folder: Annotated[Path, typer.Argument(help="Geolife .plt or GTFS-realtime CSV files.")],
    clients: Annotated[int, typer.Option(help="How many clients.", min=1)] = 100,
    kind: Annotated[str, typer.Option(help="travel or teleport.")] = "travel",
    output: Output = None,
    overwrite: Overwrite = False,
    master: Master = None,
) -> None:
    """Recorded journeys into traces for clients, assigned by increasing identifier."""
    from zonal.errors import DeclarationError
    from zonal.pipeline.jobs import open_spark
    from zonal_lab.geobroker.workload import assign, geolife, gtfs_realtime

    if kind not in {"travel", "teleport"}:
        raise DeclarationError(f"kind {kind!r} is neither travel nor teleport")
    read = geolife if next(folder.rglob("*.plt"), None) else gtfs_realtime
    journeys = read(open_spark(master), folder)
    trace = assign(journeys, clients, kind="travel" if kind == "travel" else "teleport")
    finish(trace, output, overwrite=overwrite)
