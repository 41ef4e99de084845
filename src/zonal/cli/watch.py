"""`zonal watch`: who comes into an area or a zone, leaves it, crosses it, or stays."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zonal.border import ZoneSet
from zonal.cli.connection import connected
from zonal.cli.notation import given, parse_area, parse_length
from zonal.cli.options import (
    LOCAL_ROUTER,
    Area,
    Connect,
    Encoding,
    JsonLines,
    Mode,
    Position,
    Seconds,
)
from zonal.cli.stopping import stop_event
from zonal.cli.webhook import Webhook
from zonal.errors import ClosedError, CommandError

if TYPE_CHECKING:
    from zonal.border import FenceEvent


def watch(
    key: Annotated[str, typer.Argument(help="The things' topic; * and ** are wildcards.")],
    area: Area = None,
    zones: Annotated[
        Path | None, typer.Option(help="A GeoJSON file whose features are zones with names.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="The property of a feature that names its zone.")
    ] = None,
    on: Annotated[
        str, typer.Option(help="Events, with commas: enter, leave, cross, dwell.")
    ] = "enter,leave",
    dwell: Annotated[
        float | None, typer.Option(help="Seconds in a zone until a thing dwells in it.")
    ] = None,
    hysteresis: Annotated[
        str, typer.Option(help="How far outside a thing has left, such as 25m.")
    ] = "0m",
    silence: Annotated[
        float | None, typer.Option(help="Seconds without a message until a thing has left.")
    ] = None,
    reach: Annotated[
        str | None, typer.Option(help="How far around zones things are heard, such as 500m.")
    ] = None,
    post: Annotated[
        str | None, typer.Option(help="Post each event to this URL, too: at least once.")
    ] = None,
    count: Annotated[
        int | None, typer.Option("--count", "-n", min=1, help="Stop after so many events.")
    ] = None,
    seconds: Seconds = None,
    position: Position = None,
    connect: Connect = LOCAL_ROUTER,
    mode: Mode = "client",
    encoding: Encoding = "s2",
    json_lines: JsonLines = False,
) -> None:
    """Print who comes into an area, leaves it, crosses it or stays, until Ctrl-C."""
    watched = _zones(area, zones, name)
    stop = stop_event()
    deadline = None if seconds is None else time.monotonic() + seconds
    with contextlib.ExitStack() as stack:
        hook = None if post is None else stack.enter_context(Webhook(post))
        session = stack.enter_context(connected(connect, mode, encoding, position))
        fence = session.declare_fence(
            key,
            watched,
            on=tuple(each.strip() for each in on.split(",")),
            dwell_s=dwell,
            hysteresis_m=parse_length(hysteresis),
            silence_s=silence,
            reach_m=given(reach, parse_length),
        )
        typer.echo(
            f"watching {len(watched)} zones, {len(fence.inside())} things are inside", err=True
        )
        shown = 0
        while not stop.is_set() and (deadline is None or time.monotonic() < deadline):
            try:
                event = fence.recv(timeout=0.1)
            except ClosedError:
                break
            if event is None:
                continue
            typer.echo(json.dumps(event.to_dict()) if json_lines else _as_line(event))
            if hook is not None:
                hook.post(event)
            shown += 1
            if shown == count:
                break


def _zones(area: str | None, zones: Path | None, name: str | None) -> ZoneSet:
    if (area is None) == (zones is None):
        raise CommandError("watch needs either --area or --zones")
    if zones is None:
        assert area is not None
        return ZoneSet.given(parse_area(area))
    try:
        return ZoneSet.from_geojson(zones.read_text(encoding="utf-8"), name)
    except OSError as error:
        raise CommandError(f"cannot read {zones}: {error.strerror}") from error


def _as_line(event: FenceEvent) -> str:
    place = event.location
    where = "" if place is None else f"  {place.lat:.5f}, {place.lon:.5f}"
    why = "" if event.reason == "moved" else f"  ({event.reason})"
    zone = "" if event.zone is None else f"  {event.zone}"
    return f"{event.at:%Y-%m-%d %H:%M:%S}  {event.kind:5}  {event.thing}{zone}{where}{why}"
