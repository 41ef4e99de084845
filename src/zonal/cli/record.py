"""`zonal record`: append every message of some topics to a durable log."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

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

if TYPE_CHECKING:
    from zonal.pipeline import Recorder


def record(
    log: Annotated[
        str, typer.Argument(help="Where the log is: a folder or s3://…; made if it is not there.")
    ],
    topics: Annotated[
        list[str] | None, typer.Argument(help="Topics; * and ** are wildcards. Without any: all.")
    ] = None,
    area: Area = None,
    name: Annotated[
        str, typer.Option(help="Whose offsets: recorders that share a log have different ones.")
    ] = "recorder",
    drop: Annotated[
        bool, typer.Option(help="Drop what comes too fast, instead of holding publishers up.")
    ] = False,
    flush: Annotated[float, typer.Option(help="Seconds until a message is in the log.")] = 1.0,
    max_age: Annotated[float | None, typer.Option(help="Days that messages are kept.")] = None,
    max_size: Annotated[float | None, typer.Option(help="Gigabytes that are kept.")] = None,
    seconds: Annotated[float | None, typer.Option("--seconds", "-s", help="Stop then.")] = None,
    connect: Connect = LOCAL_ROUTER,
    mode: Mode = "client",
    metrics: Metrics = None,
    metrics_token: MetricsToken = None,
    insecure: Insecure = False,
    json_lines: JsonLines = False,
) -> None:
    """Record messages, with their places, until Ctrl-C."""
    from zonal.pipeline import Recorder, RecorderPlan, Retention
    from zonal.session import Overflow

    progress = console(stderr=True)
    wanted = given(area, parse_area)
    retention = Retention(
        None if max_age is None else max_age * 86_400,
        None if max_size is None else int(max_size * 1e9),
    )
    stop = stop_event()
    overflow = Overflow.DROP_NEWEST if drop else Overflow.BLOCK
    collect_seldom()
    plan = RecorderPlan(flush_s=flush, name=name, retention=retention, overflow=overflow)
    with connected(connect, mode) as session:  # noqa: SIM117 - the session closes last
        with Recorder(session, log, topics or ["**"], area=wanted, plan=plan) as recorder:
            start = recorder.log.next_offset()
            progress.print(f"recording into {log} from offset {start}")
            with metrics_served(metrics, metrics_token, lambda: _page(recorder), insecure=insecure):
                report_until(stop, progress, lambda: _state(recorder), seconds=seconds)
    told = recorder.counters
    if json_lines:
        typer.echo(json.dumps({**asdict(told), "next_offset": recorder.log.next_offset()}))
        return
    typer.echo(
        f"{told.written} messages, next offset {recorder.log.next_offset()}, "
        f"{told.doubles} doubles, {told.overflowed} overflowed"
    )


def _page(recorder: Recorder) -> str:
    told = recorder.counters
    return counted(
        "zonal_recorder", told, waiting=told.waiting, next_offset=recorder.log.next_offset()
    )


def _state(recorder: Recorder) -> str:
    told = recorder.counters
    return (
        f"{told.written:,} written in {told.commits:,} commits, {told.waiting:,} waiting, "
        f"{told.doubles:,} doubles, {told.overflowed:,} overflowed"
        + (f"; {recorder.last_error}" if recorder.last_error else "")
    )
