"""`zonal router`: a stock Zenoh router."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from zonal.cli.connection import LOCAL_ROUTER, Insecure, JsonLines
from zonal.cli.shared import shared
from zonal.cli.stopping import stop_event
from zonal.session import Router


def router(
    listen: Annotated[
        list[str],
        typer.Option(
            "--listen", "-l", help="Endpoint to listen on; repeatable. Port 0 takes a free one."
        ),
    ] = LOCAL_ROUTER,
    connect: Annotated[
        list[str] | None,
        typer.Option("--connect", "-e", help="Another router to join; repeatable."),
    ] = None,
    scouting: Annotated[bool, typer.Option(help="Let others find it by multicast.")] = False,
    insecure: Insecure = False,
    json_lines: JsonLines = False,
) -> None:
    """Run a stock Zenoh router until Ctrl-C."""
    stop = stop_event()
    with Router(
        listen,
        connect=connect or (),
        scouting=scouting,
        security=shared().security,
        json5=shared().json5,
        insecure=insecure,
    ) as running:
        if json_lines:
            typer.echo(json.dumps({"endpoints": running.endpoints}))
        else:
            typer.echo(f"Stock Zenoh router on {', '.join(running.endpoints)}; Ctrl-C stops it.")
        stop.wait()
