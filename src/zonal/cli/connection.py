"""The options by which a command finds the network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
import zenoh

import zonal
from zonal.cli.notation import parse_point
from zonal.errors import ZonalError
from zonal.session.router import DEFAULT_ENDPOINT

if TYPE_CHECKING:
    from zonal.session import Session

Connect = Annotated[
    list[str],
    typer.Option(
        "--connect",
        "-e",
        help="Endpoint to connect to; several allowed. 'scout' finds routers by multicast.",
    ),
]
Mode = Annotated[str, typer.Option("--mode", "-m", help="client, peer or router.")]
Encoding = Annotated[
    str, typer.Option("--encoding", help="How places are written into keys: s2, mgrs, bloom, json.")
]
Position = Annotated[
    str | None, typer.Option("--position", "-p", help="Where we are: lat,lon in degrees.")
]
LOCAL_ROUTER = [DEFAULT_ENDPOINT]
"""Where `zonal router` listens unless told otherwise."""

JsonLines = Annotated[bool, typer.Option("--json", help="Write one JSON object a line.")]


def connected(
    connect: list[str], mode: str, encoding: str = "s2", position: str | None = None
) -> Session:
    """Open a session, or say clearly why not."""
    if mode not in {"client", "peer", "router"}:
        raise ZonalError(f"mode {mode!r} is none of client, peer, router")
    options: dict[str, Any] = {} if position is None else {"position": parse_point(position)}
    try:
        endpoints = [endpoint for endpoint in connect if endpoint != "scout"]
        config = zonal.config(mode, connect=endpoints)  # type: ignore[arg-type]
        return zonal.open(config, encoding=encoding, **options)
    except zenoh.ZError as error:
        raise ZonalError(
            f"cannot reach {', '.join(connect)} (is a router running? `zonal router` starts one): "
            f"{error}"
        ) from error
