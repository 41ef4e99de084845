"""`zonal replay`: what was recorded goes onto the network again."""

from __future__ import annotations

import json
import time as clock
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
import zenoh

from zonal.cli.connection import connected
from zonal.cli.notation import given, parse_area
from zonal.cli.options import LOCAL_ROUTER, Area, Connect, JsonLines, Mode
from zonal.cli.output import counting
from zonal.cli.stopping import stop_event
from zonal.geo import Point

if TYPE_CHECKING:
    from zonal.session import Session


def replay(
    past: Annotated[str, typer.Argument(help="Where the log is; with --lake, where the lake is.")],
    topic: Annotated[str, typer.Option("--topic", "-t", help="* and ** are wildcards.")] = "**",
    below: Annotated[
        str, typer.Option(help="Put everything below this topic instead of where it was.")
    ] = "",
    time: Annotated[str, typer.Option(help="Which time, as in Zenoh.")] = "[..]",
    area: Area = None,
    lake: Annotated[bool, typer.Option(help="It is a lake, not a log.")] = False,
    speed: Annotated[
        float, typer.Option(min=0.0, help="2 is twice as fast, 0 does not wait.")
    ] = 1.0,
    connect: Connect = LOCAL_ROUTER,
    mode: Mode = "client",
    json_lines: JsonLines = False,
) -> None:
    """Put recorded messages on the network again, as far apart as they were.

    They are new messages, from the places and to the geofences of the old ones. What is asked for
    is sorted in memory: ask for less time where that is too much.
    """
    from zonal.pipeline import History, Selection, parse_time_range

    stop = stop_event()
    history = History(lake=past) if lake else History(log=past)
    span = parse_time_range(time, datetime.now(UTC))
    wanted = Selection(topic, given(area, parse_area), span.since, span.until)
    rows = history.table(wanted)
    sent, first, began = 0, None, clock.monotonic()
    with (
        connected(connect, mode) as session,
        counting(f"replaying {past}", rows.num_rows) as count,
    ):
        for row in (row for batch in rows.to_batches() for row in batch.to_pylist()):
            moment = row["timestamp"] or row["received"]
            first = first or moment
            due = began + (moment - first).total_seconds() / speed if speed else began
            if stop.wait(max(0.0, due - clock.monotonic())):
                break
            _put(session, row, f"{below}/{row['topic']}" if below else row["topic"])
            sent += 1
            count(sent)
    took = clock.monotonic() - began
    if json_lines:
        typer.echo(json.dumps({"messages": sent, "seconds": round(took, 3)}))
    else:
        typer.echo(f"{sent} of {rows.num_rows} messages in {took:.1f} s")


def _put(session: Session, row: dict[str, Any], topic: str) -> None:
    from zonal.pipeline import area_from_columns

    place = None if row["latitude"] is None else Point(row["latitude"], row["longitude"])
    fence = row["geofence"]
    whence: dict[str, Any] = {
        "location": place,
        "geofence": None if fence is None else area_from_columns(fence, row["geofence_radius_m"]),
        "congestion_control": zenoh.CongestionControl.BLOCK,
    }
    if row["kind"] == "delete":
        session.delete(topic, **whence)
    else:
        session.put(topic, row["payload"], content_encoding=row["encoding"], **whence)
