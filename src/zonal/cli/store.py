"""`zonal store`: keep the newest value of each thing, and answer what is where now."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from zonal.cli.connection import connected, metrics_served
from zonal.cli.notation import given, parse_area
from zonal.cli.options import (
    LOCAL_ROUTER,
    Area,
    Connect,
    Insecure,
    JsonLines,
    Metrics,
    MetricsToken,
    Mode,
)
from zonal.cli.output import console, report_until
from zonal.cli.stopping import stop_event
from zonal.runtime import collect_seldom, counted


def store(
    topics: Annotated[
        list[str] | None, typer.Argument(help="Topics; * and ** are wildcards. Without any: all.")
    ] = None,
    area: Area = None,
    data: Annotated[
        str, typer.Option(help="Where it is kept: a folder, or postgresql://… with PostGIS.")
    ] = "zonal-store",
    by: Annotated[
        str, typer.Option(help="What a thing is: its key; or key and source; or key and place.")
    ] = "key",
    ttl: Annotated[
        float | None, typer.Option(help="Seconds until a value is forgotten; without it: never.")
    ] = None,
    connect: Connect = LOCAL_ROUTER,
    mode: Mode = "client",
    metrics: Metrics = None,
    metrics_token: MetricsToken = None,
    insecure: Insecure = False,
    json_lines: JsonLines = False,
) -> None:
    """Keep the newest value of each thing and answer `zonal get`, until Ctrl-C."""
    from zonal.store import Store

    progress, stop = console(stderr=True), stop_event()
    wanted = given(area, parse_area)
    collect_seldom()
    with connected(connect, mode) as session:  # noqa: SIM117 - the session closes last
        with Store(session, topics or ["**"], area=wanted, data=data, by=by, ttl_s=ttl) as newest:
            progress.print(f"keeping {len(newest):,} things in {data}")

            def page() -> str:
                return counted("zonal_store", newest.counters, things=len(newest))

            def state() -> str:
                told = newest.counters
                return (
                    f"{told.kept:,} values kept, {told.replies:,} replies to "
                    f"{told.asked:,} questions, {told.overflowed:,} overflowed"
                )

            with metrics_served(metrics, metrics_token, page, insecure=insecure):
                report_until(stop, progress, state)
            kept = len(newest)
    end = {"things": kept, "data": data}
    typer.echo(json.dumps(end) if json_lines else f"{kept} things are kept in {data}")
