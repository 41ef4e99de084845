"""`zonal pub`: publish from a place, as handy as `mosquitto_pub`."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer
import zenoh

from zonal.cli.connection import connected
from zonal.cli.notation import given, parse_area, parse_length, parse_point
from zonal.cli.options import (
    LOCAL_ROUTER,
    Connect,
    Encoding,
    Geofence,
    Message,
    Mode,
    Precision,
    Secrets,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


def pub(
    key: Annotated[str, typer.Argument(help="The topic, such as city/airquality.")],
    message: Message = None,
    at: Annotated[
        str | None, typer.Option("--at", help="Where the message comes from: lat,lon.")
    ] = None,
    geofence: Geofence = None,
    attested: Annotated[
        bool, typer.Option("--attested", help="Only attested positions are inside the geofence.")
    ] = False,
    sealed: Annotated[
        str | None, typer.Option(help="The zone whose keys open it; needs its --secret.")
    ] = None,
    secret: Secrets = None,
    precision: Precision = None,
    content: Annotated[
        str | None, typer.Option("--content", help="What the payload is, such as application/json.")
    ] = None,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How often to send it.")] = 1,
    interval: Annotated[
        float, typer.Option("--interval", "-i", min=0.0, help="Seconds between messages.")
    ] = 1.0,
    connect: Connect = LOCAL_ROUTER,
    mode: Mode = "client",
    encoding: Encoding = "s2",
) -> None:
    """Publish a message (or the lines of standard input) from a place."""
    place, fence = given(at, parse_point), given(geofence, parse_area)
    with connected(connect, mode, encoding, secrets=secret) as session:
        publisher = session.declare_publisher(
            key,
            location=place,
            geofence=fence,
            attested=attested,
            sealed=sealed,
            precision_m=given(precision, parse_length),
            content_encoding=content,
            congestion_control=zenoh.CongestionControl.BLOCK,
        )
        for number, text in enumerate(messages(message, count)):
            if number and message is not None:
                time.sleep(interval)
            publisher.put(text)


def messages(message: str | None, count: int = 1) -> Iterator[str]:
    """What to publish: the message so many times, or the lines of standard input."""
    if message is not None:
        yield from [message] * count
        return
    for line in sys.stdin:
        yield line.rstrip("\n")
