"""`zonal export`: rows of a lake's table as a file for other tools."""

from __future__ import annotations

import time as clock
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from zonal.cli.notation import given, parse_area
from zonal.cli.options import Area
from zonal.cli.output import console


def export(
    lake: Annotated[str, typer.Argument(help="Where the lake is: a folder or s3://….")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    table: Annotated[
        str, typer.Option(help="One of silver, quarantine, windows, tracks, alerts.")
    ] = "silver",
    kind: Annotated[
        str, typer.Option("--format", "-f", help="One of geoparquet, geojson, csv.")
    ] = "geoparquet",
    topic: Annotated[str | None, typer.Option(help="The topic; * and ** are wildcards.")] = None,
    area: Area = None,
    time: Annotated[str, typer.Option("--time", "-t", help="As in Zenoh.")] = "[..]",
    version: Annotated[int | None, typer.Option(help="As the table was at a version.")] = None,
) -> None:
    """Write the rows of a table, or those of an area and a time, into a file."""
    from zonal.pipeline import Lake, Selection, parse_time_range
    from zonal.pipeline import export as write

    span = parse_time_range(time, datetime.now(UTC))
    wanted = Selection(topic, given(area, parse_area), span.since, span.until)
    began = clock.monotonic()
    with console(stderr=True).status("reading") as status:
        rows = write(
            Lake(lake),
            table,
            output,
            kind,
            wanted,
            version=version,
            tell=lambda count: status.update(f"{count:,} rows written"),
        )
    rate = rows / max(clock.monotonic() - began, 1e-3)
    typer.echo(f"{rows} rows of {table} in {output}, {rate:,.0f} a second", err=True)
