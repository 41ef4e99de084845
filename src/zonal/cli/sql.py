"""`zonal sql`: ask the tables of a lake in SQL."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from zonal.cli.notation import parse_area
from zonal.cli.options import JsonLines


def sql(
    query: Annotated[
        str, typer.Argument(help="SQL, such as: select zone, max(mean) from windows group by zone.")
    ],
    lake: Annotated[str, typer.Argument(help="Where the lake is: a folder or s3://….")],
    version: Annotated[int | None, typer.Option(help="As the tables were at a version.")] = None,
    json_lines: JsonLines = False,
) -> None:
    """Ask the tables of a lake; in_area(latitude, longitude, 'circle:45.46,9.19,2km') helps."""
    from zonal.pipeline import LakeQuery

    with LakeQuery(lake, version=version, parse=parse_area) as asked:
        if json_lines:
            for row in asked.rows(query):
                typer.echo(json.dumps(row, ensure_ascii=False, default=str))
        else:
            typer.echo(str(asked.ask(query)).rstrip())
