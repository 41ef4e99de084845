"""`zonal get`: ask what is known in an area."""

from __future__ import annotations

from typing import Annotated

import typer

from zonal.cli.connection import (
    LOCAL_ROUTER,
    Area,
    ConfigFile,
    Connect,
    Encoding,
    JsonLines,
    Mode,
    Position,
    connected,
)
from zonal.cli.notation import given, parse_area
from zonal.cli.output import show


def get(
    selector: Annotated[
        str, typer.Argument(help="Topic and parameters: 'city/**?_time=[now(-1h)..]'.")
    ],
    area: Area = None,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for replies.")] = 10.0,
    position: Position = None,
    connect: Connect = LOCAL_ROUTER,
    config: ConfigFile = None,
    mode: Mode = "client",
    encoding: Encoding = "s2",
    json_lines: JsonLines = False,
) -> None:
    """Ask the queryables of an area, and print their replies."""
    wanted = given(area, parse_area)
    with connected(connect, mode, encoding, position, file=config) as session:
        replies = session.get(selector, area=wanted, timeout=timeout)
        for reply in replies:
            show(reply, json_lines=json_lines)
        for failure in replies.failures:
            typer.echo(f"a queryable failed: {failure}", err=True)
    if replies.failures:
        raise typer.Exit(1)
