"""`zonal lab run capture`: bytes per message on the wire."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def capture(
    *,
    quick: Annotated[bool, typer.Option(help="50 messages of each kind")] = False,
    messages: Annotated[int, typer.Option(help="messages of each kind")] = 500,
    size: Annotated[int, typer.Option(help="bytes of payload")] = 64,
    into: Annotated[Path, typer.Option(help="folder of the page")] = Path("out/lab/wire"),
) -> None:
    """Plain Zenoh, every encoding and MQTT: bytes per message, by a raw socket (as root)."""
    from zonal_lab.capture.measure import KINDS, measure, write_wire_report
    from zonal_lab.experiment.progress import showing_progress

    with showing_progress(len(KINDS)) as tell:
        rows = measure(50 if quick else messages, size, tell)
    typer.echo(f"report: {write_wire_report(rows, into)}")
