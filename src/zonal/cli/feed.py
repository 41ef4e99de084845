"""`zonal feed`: real data onto the network, with places."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Annotated

import typer

from zonal import feeds
from zonal.cli.connection import connected
from zonal.cli.options import LOCAL_ROUTER, Connect, JsonLines, Mode, Seconds
from zonal.cli.output import counting
from zonal.cli.stopping import stop_event
from zonal.errors import FeedError

_NAMES = (*feeds.KINDS, *feeds.LIVE)


def feed(
    kind: Annotated[str, typer.Argument(help=f"One of {', '.join(_NAMES)}.")],
    source: Annotated[
        str,
        typer.Argument(
            help="An address or file; of nmea a device, file or host:port, of gpsd host:port, of "
            "owntracks mqtt://host."
        ),
    ],
    topic: Annotated[
        str | None, typer.Option("--topic", "-t", help="What the things are published below.")
    ] = None,
    interval: Annotated[
        float | None, typer.Option("--interval", "-i", min=1.0, help="Seconds between two looks.")
    ] = None,
    speed: Annotated[
        float, typer.Option(min=0.0, help="Of a file's time; 2 is twice as fast, 0 does not wait.")
    ] = 1.0,
    loop: Annotated[bool, typer.Option(help="Begin a file again when it ends.")] = False,
    routes: Annotated[
        Path | None, typer.Option(help="GTFS archive or routes.txt: names for an agency's routes.")
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(help="HTTP header, such as 'X-API-Key: …'; repeatable.", hide_input=True),
    ] = None,
    once: Annotated[bool, typer.Option(help="Look once, then end.")] = False,
    seconds: Seconds = None,
    connect: Connect = LOCAL_ROUTER,
    mode: Mode = "client",
    json_lines: JsonLines = False,
) -> None:
    """Put vehicles, ships, aircraft, stations, phones, a receiver or a file on the network."""
    known = None if routes is None else feeds.read_routes(routes)
    found = feeds.FeedSource(kind, source, interval, speed, once, _headers(header), known)
    found.check()
    stop = _stop_after(seconds)
    below = topic or found.topic
    with connected(connect, mode) as session, counting(f"feeding {below}") as count:
        publisher = feeds.FeedPublisher(session, below)
        began = time.monotonic()
        while not stop.is_set():
            for each in found.observations(stop, _tell):
                if publisher.put(each) and json_lines:
                    typer.echo(json.dumps(_record(each), ensure_ascii=False))
                count(publisher.sent)
                if stop.is_set():
                    break
            if not loop:
                break
    took = time.monotonic() - began
    told = f"{publisher.sent} messages of {publisher.things} things in {took:.1f} s"
    typer.echo(f"{told}, {publisher.unchanged} unchanged", err=True)


def _stop_after(seconds: float | None) -> threading.Event:
    stop = stop_event()
    if seconds is not None:
        timer = threading.Timer(seconds, stop.set)
        timer.daemon = True
        timer.start()
    return stop


def _record(each: feeds.Observation) -> dict[str, object]:
    place = each.place
    return {
        "name": each.name,
        "lat": None if place is None else place.lat,
        "lon": None if place is None else place.lon,
        **feeds.value_of_observation(each),
    }


def _headers(given: list[str] | None) -> dict[str, str]:
    pairs = [text.partition(":") for text in given or ()]
    if any(not colon for _, colon, _ in pairs):
        raise FeedError("a header is written 'Name: value'")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _tell(text: str) -> None:
    typer.echo(text, err=True)
