"""`zonal demo`: a city on this machine, with everything that is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zonal.cli.options import Insecure


def demo(
    seconds: Annotated[
        float | None, typer.Option(help="End by itself after so many seconds.")
    ] = None,
    data: Annotated[Path, typer.Option(help="Where log and lake are kept.")] = Path("out/demo"),
    host: Annotated[str, typer.Option(help="Address of the map.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port of the map; taken: a free one.")] = 8000,
    mqtt: Annotated[bool, typer.Option(help="Some phones speak MQTT.")] = True,
    pipeline: Annotated[bool, typer.Option(help="Record, and answer about the past.")] = True,
    spark: Annotated[bool, typer.Option(help="Zones and alerts by Spark.")] = True,
    router_port: Annotated[
        int, typer.Option(help="Port of the first router; taken: a free one.")
    ] = 7447,
    feed: Annotated[
        str | None,
        typer.Option(help="Show this instead: KIND:SOURCE as of zonal feed, gtfs:https://…."),
    ] = None,
    tiles: Annotated[
        str, typer.Option(help="Streets under it: tiles at an address, or a PMTiles file.")
    ] = "",
    table: Annotated[
        bool, typer.Option("--table", help="No map: a live table of who hears what, nothing else.")
    ] = False,
    insecure: Insecure = False,
) -> None:
    """Watch sensors, cars, phones and a cloud of bad air, on a map."""
    if table:
        from zonal.cli.demo_table import demo_table

        demo_table(seconds)
        return
    if feed is not None:
        from zonal.cli.demo_feed import demo_feed

        demo_feed(feed, host, port, seconds, insecure=insecure, tiles=tiles)
        return
    from zonal.cli.output import console
    from zonal.web.demo import Demo, DemoOptions

    options = DemoOptions(
        seconds=seconds,
        data=data,
        host=host,
        port=port,
        router_port=router_port,
        mqtt=mqtt,
        pipeline=pipeline,
        spark=spark,
        insecure=insecure,
        tiles=tiles,
    )
    with Demo(options, console()) as running:
        running.run()
