"""`zonal sub`: subscribe in an area, as handy as `mosquitto_sub`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from zonal.cli.connection import connected
from zonal.cli.key_files import read_issuers
from zonal.cli.notation import given, parse_area
from zonal.cli.options import (
    LOCAL_ROUTER,
    Area,
    Connect,
    Encoding,
    Fenced,
    JsonLines,
    Mode,
    Most,
    Pattern,
    Position,
    Seconds,
    Secrets,
)
from zonal.cli.output import show
from zonal.cli.stopping import stop_event
from zonal.errors import ClosedError


def sub(
    key: Pattern,
    area: Area = None,
    fenced: Fenced = False,
    count: Most = None,
    seconds: Seconds = None,
    position: Position = None,
    secret: Secrets = None,
    zone: Annotated[
        str | None, typer.Option(help="The zone whose sealed messages to open, from inside.")
    ] = None,
    attester: Annotated[
        str | None, typer.Option(help="Who vouches for our position: its name (zonal attest).")
    ] = None,
    evidence: Annotated[str, typer.Option(help="What the attester asks for.")] = "",
    issuers: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="Public keys (PEM) of the attester and the key service.",
        ),
    ] = None,
    connect: Connect = LOCAL_ROUTER,
    mode: Mode = "client",
    encoding: Encoding = "s2",
    json_lines: JsonLines = False,
) -> None:
    """Print the messages of a topic in an area, until Ctrl-C."""
    wanted = given(area, parse_area)
    stop = stop_event()
    deadline = None if seconds is None else time.monotonic() + seconds
    with connected(connect, mode, encoding, position, secrets=secret) as session:
        if issuers is not None:
            session.trust(read_issuers(issuers))
        if attester is not None:
            session.request_attestation(attester, evidence.encode(), keep=True)
        if zone is not None:
            session.keyring.join(zone)
        subscriber = session.declare_subscriber(
            key, area=wanted, fenced=fenced, encoding=None if wanted is None else encoding
        )
        typer.echo(f"listening under {len(subscriber.declared_keys)} keys", err=True)
        if session.position is None and not fenced:
            typer.echo(
                "without --position, messages with a geofence are not heard (--fenced: all are)",
                err=True,
            )
        shown = 0
        while not stop.is_set() and (deadline is None or time.monotonic() < deadline):
            try:
                sample = subscriber.recv(timeout=0.1)
            except ClosedError:
                break
            if sample is None:
                continue
            show(sample, json_lines=json_lines)
            shown += 1
            if shown == count:
                break
