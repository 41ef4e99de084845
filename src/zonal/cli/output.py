"""What commands print: samples as lines, for people or as JSON; progress on a terminal."""

from __future__ import annotations

import base64
import json
from contextlib import contextmanager
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
)

from zonal.geo import Cell
from zonal.session import NearSample, rfc3339

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from threading import Event

    from zonal.geo import Area, Point
    from zonal.session import Sample

_ANY_WIDTH = 100_000
_REPORT_S = 1.0


def console(*, stderr: bool = False) -> Console:
    """Where tables go; as wide as the terminal, and never wrapped where there is none."""
    made = Console(stderr=stderr)
    return made if made.is_terminal else Console(stderr=stderr, width=_ANY_WIDTH)


def report_until(
    stop: Event, console: Console, tell: Callable[[], str], *, seconds: float | None = None
) -> None:
    """Show a line that is told anew each second, until `stop` is set or the time is over."""
    end = inf if seconds is None else monotonic() + seconds
    with console.status("waiting for messages") as status:
        while not stop.wait(min(_REPORT_S, max(0.0, end - monotonic()))) and monotonic() < end:
            status.update(tell())


@contextmanager
def counting(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal's standard error that is told how many are done; silent in a pipe."""
    shown = console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    if not shown.is_terminal:
        yield lambda _: None
        return
    with Progress(*columns, TimeRemainingColumn(), console=shown, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)


def show(sample: Sample, *, json_lines: bool) -> None:
    """Write a sample as one line."""
    typer.echo(as_json(sample) if json_lines else as_line(sample))


def as_line(sample: Sample) -> str:
    """`city/airquality  45.46420, 9.19000  {"pm10": 21}`."""
    is_gone = str(sample.kind).endswith("DELETE")
    text = "(deleted)" if is_gone else payload_text(sample.payload.to_bytes())
    distance_m = sample.distance_m if isinstance(sample, NearSample) else None
    return line_of(
        sample.key, sample.location, text, is_blurred=sample.is_blurred, distance_m=distance_m
    )


def line_of(
    key: str,
    place: Point | None,
    text: str,
    *,
    is_blurred: bool = False,
    distance_m: float | None = None,
) -> str:
    """A message for people: its topic, where it is from, what it says."""
    where = "nowhere" if place is None else f"{place.lat:.5f}, {place.lon:.5f}"
    if is_blurred:
        where = f"near {where}"
    if distance_m is not None:
        where = f"{where} ({distance_m:.0f} m)"
    return f"{key}  {where}  {text}"


def as_json(sample: Sample) -> str:
    """One JSON object with the message and its geo-context."""
    more: dict[str, Any] = {
        "kind": str(sample.kind).rpartition(".")[2],
        "encoding": str(sample.content_encoding),
        "timestamp": rfc3339(sample.timestamp),
    }
    if isinstance(sample, NearSample):
        more["distance_m"] = round(sample.distance_m, 3)
    if isinstance(sample.place, Cell):
        more["cell"] = sample.place.token
    if sample.source is not None:
        more["source"], more["sequence"] = sample.source
    payload = sample.payload.to_bytes()
    return json_of(sample.key, sample.location, sample.geofence, payload, more)


def json_of(
    key: str, place: Point | None, fence: Area | None, payload: bytes, more: dict[str, Any]
) -> str:
    """A message as one JSON object, with further members."""
    record = {
        "key": key,
        "lat": None if place is None else place.lat,
        "lon": None if place is None else place.lon,
        **more,
    }
    if fence is not None:
        record["geofence"] = fence.to_wkt()
    return json.dumps(record | payload_member(payload), ensure_ascii=False)


def payload_member(payload: bytes) -> dict[str, str]:
    """The member of a JSON object that holds a payload: `payload` for text, else Base64."""
    try:
        return {"payload": payload.decode()}
    except UnicodeDecodeError:
        return {"payload_base64": base64.b64encode(payload).decode()}


def payload_text(payload: bytes) -> str:
    """A payload for people: its text, or how many bytes it has."""
    try:
        return payload.decode()
    except UnicodeDecodeError:
        return f"<{len(payload)} bytes>"
