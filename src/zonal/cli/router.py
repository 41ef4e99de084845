"""`zonal router`: a stock Zenoh router."""

from __future__ import annotations

import json
import signal
import threading
from typing import Annotated

import typer

from zonal.session.router import DEFAULT_ENDPOINT, Router


def router(
    listen: Annotated[
        list[str],
        typer.Option("--listen", "-l", help="Endpoint to listen on; port 0 takes a free one."),
    ] = [DEFAULT_ENDPOINT],  # noqa: B006  (typer copies it)
    connect: Annotated[
        list[str] | None, typer.Option("--connect", "-e", help="Other routers to connect to.")
    ] = None,
    scouting: Annotated[bool, typer.Option(help="Let others find it by multicast.")] = False,
    json_lines: Annotated[bool, typer.Option("--json", help="Write endpoints as JSON.")] = False,
) -> None:
    """Run a stock Zenoh router until Ctrl-C."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with Router(listen, connect=connect or (), scouting=scouting) as running:
        if json_lines:
            typer.echo(json.dumps({"endpoints": running.endpoints}))
        else:
            typer.echo(f"Stock Zenoh router on {', '.join(running.endpoints)}; Ctrl-C stops it.")
        stop.wait()
