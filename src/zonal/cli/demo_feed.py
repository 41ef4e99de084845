"""`zonal demo --feed`: a real feed on a map, with everything it needs in one process."""

from __future__ import annotations

import itertools
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

import typer

from zonal import feeds
from zonal.cli.connection import connected
from zonal.errors import FeedError
from zonal.session import Router

if TYPE_CHECKING:
    from collections.abc import Iterable

_REPEAT_S = 5.0
"""Who opens the map sees all that stands still within this time."""
_ZOOM = 12


def demo_feed(
    text: str, host: str, port: int, seconds: float | None, *, insecure: bool, tiles: str
) -> None:
    """Show `kind:source`, such as `gtfs:https://…`, on a map around the first thing it has."""
    from zonal.web import MapView, WebOptions, WebServer
    from zonal.web.demo import port_or_any

    kind, _, source = text.partition(":")
    feed = feeds.FeedSource(kind, source)
    feed.check()
    stop = threading.Event()
    seen = feed.observations(stop, lambda said: typer.echo(said, err=True))
    first = next((each for each in seen if each.place is not None), None)
    if first is None or first.place is None:
        raise FeedError(f"{source} says of nothing where it is")
    view = MapView(
        title=f"Zonal: {kind}",
        topics=(f"{feed.topic}/**",),
        latitude=first.place.lat,
        longitude=first.place.lon,
        zoom=_ZOOM,
        tiles=tiles,
    )
    options = WebOptions(host=host, port=port_or_any(port, host), insecure=insecure, view=view)
    with ExitStack() as stack:
        router = stack.enter_context(Router(["tcp/127.0.0.1:0"]))
        web, own = (
            stack.enter_context(connected(list(router.endpoints), "client")) for _ in range(2)
        )
        server = WebServer(web, options)
        publisher = feeds.FeedPublisher(own, feed.topic, repeat_s=_REPEAT_S)

        def pump() -> None:
            again: Iterable[feeds.Observation] = itertools.chain([first], seen)
            while not stop.is_set():
                for each in again:
                    publisher.put(each)
                    if stop.is_set():
                        return
                stop.wait(_REPEAT_S)  # a file begins anew
                again = feed.observations(stop)

        thread = threading.Thread(target=pump, name="zonal-feed")
        stack.enter_context(server)
        thread.start()
        typer.echo(f"router   {', '.join(router.endpoints)}")
        typer.echo(f"open {server.url}   (stop with Ctrl-C)")
        try:
            threading.Event().wait(seconds)
        except KeyboardInterrupt:
            pass
        finally:
            stop.set()
            thread.join()
    typer.echo(f"{publisher.sent} messages of {publisher.things} things")
