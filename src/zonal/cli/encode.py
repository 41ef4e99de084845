"""`zonal encode`: the location keys of a point or an area, in every encoding."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.table import Table

from zonal.cli.notation import given, parse_area, parse_length, parse_point
from zonal.cli.options import JsonLines, Precision
from zonal.cli.output import console
from zonal.errors import GeometryError, ZonalError
from zonal.geo import Area, cover
from zonal.keys import Encoding, Place, Role, blurred, encodings


def encode(
    place: Annotated[
        str,
        typer.Argument(help="A point (45.4642,9.19) or an area (circle:45.46,9.19,2km, WKT, …)."),
    ],
    precision: Precision = None,
    json_lines: JsonLines = False,
) -> None:
    """Show the location keys of a point or an area, in every encoding.

    Of an area also its cover, in S2 cells.
    """
    what = _parse(place, precision)
    keys = {encoding.name: _expressions(encoding, what) for encoding in encodings()}
    cells = [cell.token for cell in cover(what)] if isinstance(what, Area) else []
    if json_lines:
        typer.echo(json.dumps({"keys": keys, "cover": cells}))
        return
    table = Table("encoding", title=str(what), title_justify="left")
    table.add_column("key expressions", overflow="fold")
    for name, expressions in keys.items():
        table.add_row(name, "\n".join(expressions))
    if cells:
        table.add_row("cover", " ".join(cells))
    console().print(table)


def _parse(text: str, precision: str | None) -> Place | Area:
    try:
        point = parse_point(text)
    except GeometryError as error:
        try:
            return parse_area(text)
        except GeometryError:
            if text[:1].isdigit() or text[:1] in "+-.":
                raise error from None
            raise
    return blurred(point, given(precision, parse_length))


def _expressions(encoding: Encoding, what: Place | Area) -> list[str]:
    try:
        if isinstance(what, Area):
            return list(encoding.area_expressions(what, Role.SUBSCRIBER))
        return list(encoding.place_expressions(what))
    except ZonalError as error:
        return [f"({error})"]
