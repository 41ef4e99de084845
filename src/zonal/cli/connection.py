"""The options that commands share, and the session that those of the network open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast, get_args

import typer
import zenoh

import zonal
from zonal.cli.key_files import read_zone
from zonal.cli.notation import AREA_HELP, given, parse_point
from zonal.errors import ConfigurationError, TrustError, ZonalError
from zonal.session import DEFAULT_ENDPOINT

if TYPE_CHECKING:
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
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        exists=True,
        dir_okay=False,
        help="Zenoh's own configuration (JSON5): TLS, credentials, …; --connect is added to it.",
    ),
]
ZenohMode = Literal["client", "peer", "router"]
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

JsonLines = Annotated[bool, typer.Option("--json", help="Write one JSON object a line.")]


def connected(
    connect: list[str],
    mode: str,
    encoding: str = "s2",
    position: str | None = None,
    settings: dict[str, Any] | None = None,
    file: Path | None = None,
    secrets: list[str] | None = None,
) -> Session:
    """Open a session (with further `settings` of Zenoh's), or say clearly why not.

    With a configuration `file` the mode and the endpoints are its own, unless other than the
    default ones are given.
    """
    endpoints = [endpoint for endpoint in connect if endpoint != "scout"]
    if file is None:
        config = zonal.config(check_mode(mode), connect=endpoints, settings=settings)
    else:
        config = _from_file(file, connect, mode)
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


def _from_file(file: Path, connect: list[str], mode: str) -> zenoh.Config:
    try:
        config = zenoh.Config.from_file(str(file))
        if connect != LOCAL_ROUTER:
            config.insert_json5("connect/endpoints", json.dumps(connect))
        if config.get_json("mode") == "null":
            config.insert_json5("mode", json.dumps(check_mode(mode)))
    except zenoh.ZError as error:
        raise ConfigurationError(f"{file} is no configuration of Zenoh: {error}") from error
    return config


def check_mode(text: str) -> ZenohMode:
    """How to take part in Zenoh, if it is one of the ways that there are."""
    if text not in get_args(ZenohMode):
        raise ZonalError(f"mode {text!r} is none of {', '.join(get_args(ZenohMode))}")
    return cast("ZenohMode", text)
