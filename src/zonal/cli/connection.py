"""The options that commands share, and the session that those of the network open."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import zonal
from zonal.cli.key_files import read_zone
from zonal.cli.notation import AREA_HELP, given, parse_point
from zonal.cli.shared import shared
from zonal.errors import TrustError
from zonal.runtime import MetricsDoor, MetricsServer
from zonal.session import DEFAULT_ENDPOINT, check_mode

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.session import Session
    from zonal.trust import Zone

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


def connected(
    connect: list[str],
    mode: str,
    encoding: str = "s2",
    position: str | None = None,
    settings: dict[str, Any] | None = None,
    secrets: list[str] | None = None,
) -> Session:
    """Open a session (with further `settings` of Zenoh's), or say clearly why not.

    Certificates and credentials are those of the shared options. With Zenoh's own configuration
    file the mode and the endpoints are its own, unless other than the default ones are given.
    """
    options = shared()
    endpoints = [endpoint for endpoint in connect if endpoint != "scout"]
    make = partial(
        zonal.config,
        listen=options.listen,
        scouting=options.scouting,
        security=options.security,
        json5=options.json5,
        settings=settings,
    )
    if options.json5 is None:
        config = make(check_mode(mode), connect=endpoints)
    else:
        config = make(connect=[] if connect == LOCAL_ROUTER else endpoints)
        if config.get_json("mode") == "null":
            config.insert_json5("mode", json.dumps(check_mode(mode)))
    zones = [_zone(text) for text in secrets or ()]
    session = zonal.open(config, encoding=encoding, position=given(position, parse_point))
    for zone in zones:
        session.keyring.add_secret(zone)
    return session


def _zone(text: str) -> Zone:
    name, equals, path = text.partition("=")
    if not equals:
        raise TrustError(f"a secret is NAME=FILE such as duomo=duomo.secret, not {text!r}")
    return read_zone(name, Path(path))


def metrics_door(
    text: str | None, token: Path | None, *, insecure: bool = False
) -> MetricsDoor | None:
    """Where figures are served; nowhere if nobody asks for it."""
    return None if text is None else MetricsDoor.read(text, token, insecure=insecure)


def metrics_served(
    text: str | None, token: Path | None, page: Callable[[], str], *, insecure: bool = False
) -> AbstractContextManager[object]:
    """Serves figures while a command runs, if it is asked to."""
    door = metrics_door(text, token, insecure=insecure)
    return nullcontext() if door is None else MetricsServer(door, page)
