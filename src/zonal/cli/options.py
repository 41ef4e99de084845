"""The options that several commands have, each said once: name, help and type."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zonal.cli.notation import AREA_HELP
from zonal.session import DEFAULT_ENDPOINT

Connect = Annotated[
    list[str],
    typer.Option(
        "--connect",
        "-e",
        help="Endpoint to connect to; repeatable. 'scout' finds routers by multicast.",
    ),
]
Mode = Annotated[
    str, typer.Option("--mode", "-m", help="How to take part: client, peer or router.")
]
Area = Annotated[str | None, typer.Option("--area", "-a", help=f"{AREA_HELP} Without it: all.")]
Encoding = Annotated[
    str,
    typer.Option(
        "--encoding",
        help="How places are written into keys: s2, mgrs, bloom, json, or a Bloom domain by its "
        "numbers (bloom:45.3,9.0,45.6,9.3,20x20,0.25).",
    ),
]
Position = Annotated[
    str | None,
    typer.Option(
        "--position", "-p", help="Where we are: lat,lon in degrees; --area around:2km is around it."
    ),
]
Precision = Annotated[
    str | None,
    typer.Option("--precision", help="Give the place only to a cell of this size, such as 1km."),
]
Message = Annotated[
    str | None, typer.Argument(help="The message; without it, one a line from standard input.")
]
Geofence = Annotated[
    str | None, typer.Option("--geofence", "-g", help=f"Only those inside hear it. {AREA_HELP}")
]
Pattern = Annotated[str, typer.Argument(help="The topic; * and ** are wildcards.")]
Fenced = Annotated[bool, typer.Option(help="Hear all messages with a geofence too.")]
Most = Annotated[
    int | None, typer.Option("--count", "-n", min=1, help="Stop after so many messages.")
]
Seconds = Annotated[
    float | None, typer.Option("--seconds", "-s", min=0.0, help="Stop after so long.")
]
Secrets = Annotated[
    list[str] | None,
    typer.Option(
        "--secret", help="The secret of a zone, NAME=FILE; repeatable. It opens what is sealed."
    ),
]
LOCAL_ROUTER = [DEFAULT_ENDPOINT]
"""Where `zonal router` listens unless told otherwise."""

Insecure = Annotated[
    bool, typer.Option(help="Listen beyond this machine without asking who comes.")
]
Metrics = Annotated[
    str | None,
    typer.Option(help="Serve figures for Prometheus on this port of loopback, or host:port."),
]
MetricsToken = Annotated[
    Path | None, typer.Option(help="File with the token that is asked for before figures.")
]
JsonLines = Annotated[bool, typer.Option("--json", help="Write one JSON object a line.")]
