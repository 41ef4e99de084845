"""`zonal history`: ask the lake and the log what was said where and when, or serve it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Annotated, Any

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
from zonal.cli.output import payload_member, payload_text
from zonal.cli.stopping import stop_event
from zonal.runtime import counted


def history(
    topic: Annotated[str, typer.Argument(help="The topic; * and ** are wildcards.")] = "**",
    lake: Annotated[str | None, typer.Option(help="The lake: a folder or s3://….")] = None,
    log: Annotated[str | None, typer.Option(help="The log: a folder or s3://….")] = None,
    version: Annotated[
        int | None, typer.Option(help="As it was known at a version of silver (or of the log).")
    ] = None,
    time: Annotated[str, typer.Option("--time", "-t", help="As in Zenoh.")] = "[now(-1h)..]",
    area: Area = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most so many.")] = 1000,
    serve: Annotated[bool, typer.Option(help="Answer queries of the network instead.")] = False,
    connect: Connect = LOCAL_ROUTER,
    mode: Mode = "client",
    metrics: Metrics = None,
    metrics_token: MetricsToken = None,
    insecure: Insecure = False,
    json_lines: JsonLines = False,
) -> None:
    """Print messages of the past; no Spark is started."""
    from zonal.pipeline import History, HistoryService, Selection, parse_time_range

    past = History(lake=lake, log=log, version=version)
    wanted = given(area, parse_area)
    if serve:
        stop = stop_event()
        with (
            connected(connect, mode) as session,
            HistoryService(session, past, topic, area=wanted, max_replies=limit) as served,
            metrics_served(
                metrics,
                metrics_token,
                lambda: counted("zonal_history", served.counters),
                insecure=insecure,
            ),
        ):
            typer.echo(f"answering queries about {topic}", err=True)
            stop.wait()
        return
    span = parse_time_range(time, datetime.now(UTC))
    selection = Selection(topic, wanted, span.since, span.until)
    rows = past.table(selection, limit=limit).to_pylist()
    for row in rows:
        typer.echo(_as_json(row) if json_lines else _as_line(row))
    scan = past.last_scan
    typer.echo(f"{len(rows)} messages; {scan.files_opened} of {scan.files} files opened", err=True)


def _as_line(row: dict[str, Any]) -> str:
    moment = row["timestamp"] or row["received"]
    place = row["latitude"]
    where = "nowhere" if place is None else f"{place:.5f}, {row['longitude']:.5f}"
    return f"{moment:%Y-%m-%d %H:%M:%S}  {row['topic']}  {where}  {payload_text(row['payload'])}"


def _as_json(row: dict[str, Any]) -> str:
    moment = row["timestamp"] or row["received"]
    record = {
        "recorder": row["recorder"],
        "offset": row["offset"],
        "key": row["topic"],
        "kind": row["kind"],
        "time": moment.isoformat(),
        "lat": row["latitude"],
        "lon": row["longitude"],
        "encoding": row["encoding"],
        "source": row["source"],
        "sequence": row["sequence"],
        **payload_member(row["payload"]),
    }
    return json.dumps(record, ensure_ascii=False)
