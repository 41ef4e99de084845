"""`zonal sub`: subscribe in an area, as handy as `mosquitto_sub`."""

from __future__ import annotations

import signal
import threading
import time
from typing import Annotated

import typer

from zonal.cli.connection import (
    LOCAL_ROUTER,
    Connect,
    Encoding,
    JsonLines,
    Mode,
    Position,
    connected,
)
from zonal.cli.notation import AREA_HELP, parse_area
from zonal.cli.output import as_json, as_line
from zonal.errors import ClosedError


def sub(
    key: Annotated[str, typer.Argument(help="The topic; * and ** are wildcards.")],
    area: Annotated[
        str | None,
        typer.Option(
            "--area", "-a", help=f"{AREA_HELP} around:2km is around --position. Without it: all."
        ),
    ] = None,
    fenced: Annotated[bool, typer.Option(help="Hear all messages with a geofence too.")] = False,
    count: Annotated[
        int | None, typer.Option("--count", "-n", min=1, help="Stop after so many messages.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", "-s", min=0.0, help="Stop after so long.")
    ] = None,
    position: Position = None,
    connect: Connect = LOCAL_ROUTER,
    mode: Mode = "client",
    encoding: Encoding = "s2",
    json_lines: JsonLines = False,
) -> None:
    """Print the messages of a topic that come from an area, until Ctrl-C."""
    wanted = None if area is None else parse_area(area)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    deadline = None if seconds is None else time.monotonic() + seconds
    with connected(connect, mode, encoding, position) as session:
        subscriber = session.declare_subscriber(
            key, area=wanted, fenced=fenced, encoding=None if wanted is None else encoding
        )
        typer.echo(f"listening under {len(subscriber.declared_keys)} keys", err=True)
        shown = 0
        while not stop.is_set() and (deadline is None or time.monotonic() < deadline):
            try:
                sample = subscriber.recv(timeout=0.1)
            except ClosedError:
                break
            if sample is None:
                continue
            typer.echo(as_json(sample) if json_lines else as_line(sample))
            shown += 1
            if shown == count:
                break
