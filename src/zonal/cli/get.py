"""`zonal get`: ask what is known in an area."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from zonal.cli.connection import connected
from zonal.cli.notation import given, parse_area, parse_length, parse_point
from zonal.cli.options import LOCAL_ROUTER, Area, Connect, Encoding, JsonLines, Mode, Position
from zonal.cli.output import show

if TYPE_CHECKING:
    from zonal.session import Neighbours, Replies


def get(
    selector: Annotated[
        str, typer.Argument(help="Topic and parameters: 'city/**?_time=[now(-1h)..]'.")
    ],
    area: Area = None,
    nearest: Annotated[
        int | None, typer.Option(min=1, help="Only so many of the nearest, nearest first.")
    ] = None,
    to: Annotated[
        str | None, typer.Option(help="Nearest to this place, lat,lon; without it: to --position.")
    ] = None,
    within: Annotated[
        str | None, typer.Option(help="With --nearest: at most so far away, such as 2km.")
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for replies.")] = 10.0,
    position: Position = None,
    connect: Connect = LOCAL_ROUTER,
    mode: Mode = "client",
    encoding: Encoding = "s2",
    json_lines: JsonLines = False,
) -> None:
    """Ask the queryables of an area, or for the nearest, and print their replies."""
    wanted = given(area, parse_area)
    with connected(connect, mode, encoding, position) as session:
        replies: Replies | Neighbours
        if nearest is None:
            replies = session.get(selector, area=wanted, timeout=timeout)
        else:
            replies = session.get(
                selector,
                nearest=nearest,
                to=given(to, parse_point),
                within_m=given(within, parse_length),
                timeout=timeout,
            )
        for reply in replies:
            show(reply, json_lines=json_lines)
        for failure in replies.failures:
            typer.echo(f"a queryable failed: {failure}", err=True)
    if replies.failures:
        raise typer.Exit(1)
