"""`zonal token`: a new token for the web server, with what it grants."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from zonal.cli.options import JsonLines
from zonal.errors import CommandError

_KEYS = "Key expression that it may {}; repeatable."


def token(
    file: Annotated[Path, typer.Argument(help="The token file; made where it is not there.")],
    name: Annotated[str, typer.Argument(help="Who it is for.")],
    read: Annotated[list[str] | None, typer.Option(help=_KEYS.format("query"))] = None,
    events: Annotated[list[str] | None, typer.Option(help=_KEYS.format("listen to"))] = None,
    write: Annotated[list[str] | None, typer.Option(help=_KEYS.format("publish under"))] = None,
    area: Annotated[
        str | None,
        typer.Option(help="Where it is for: well-known text, or a GeoJSON file beside the tokens."),
    ] = None,
    fenced: Annotated[bool, typer.Option(help="It hears all messages with a geofence.")] = False,
    metrics: Annotated[bool, typer.Option(help="It sees the counters.")] = False,
    admin: Annotated[bool, typer.Option(help="It sees routers and their settings.")] = False,
    json_lines: JsonLines = False,
) -> None:
    """Make a token and print it; the file keeps its hash.

    Without keys, the rules of the server decide what its user may.
    """
    from zonal.web import add_token

    keys = {"read": read, "events": events, "write": write}
    rights = {right: topics for right, topics in keys.items() if topics}
    given = {"fenced": fenced, "metrics": metrics, "admin": admin}
    flags = {flag: True for flag, is_given in given.items() if is_given}
    if area is not None and not rights:
        raise CommandError("--area is for the keys of --read, --events and --write; give some")
    where = {} if area is None else {"area": area}
    made = add_token(file, name, {**rights, **where, **flags})
    typer.echo(json.dumps({"name": name, "token": made}) if json_lines else made)
