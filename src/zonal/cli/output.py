"""Samples as lines of standard output: for people, or as JSON."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import typer

from zonal.geo import Cell

if TYPE_CHECKING:
    from zonal.geo import Area, Point
    from zonal.session import Sample


def show(sample: Sample, *, json_lines: bool) -> None:
    """Write a sample as one line."""
    typer.echo(as_json(sample) if json_lines else as_line(sample))


def as_line(sample: Sample) -> str:
    """`city/airquality  45.46420, 9.19000  {"pm10": 21}`."""
    is_gone = str(sample.kind).endswith("DELETE")
    text = "(deleted)" if is_gone else payload_text(sample.payload.to_bytes())
    return line_of(sample.key, sample.location, text, is_blurred=sample.is_blurred)


def line_of(key: str, place: Point | None, text: str, *, is_blurred: bool = False) -> str:
    """A message for people: its topic, where it is from, what it says."""
    where = "nowhere" if place is None else f"{place.lat:.5f}, {place.lon:.5f}"
    return f"{key}  {'near ' if is_blurred else ''}{where}  {text}"


def as_json(sample: Sample) -> str:
    """One JSON object with the message and its geo-context."""
    more: dict[str, Any] = {
        "kind": str(sample.kind).rpartition(".")[2],
        "encoding": str(sample.content_encoding),
        "timestamp": None if sample.timestamp is None else str(sample.timestamp),
    }
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
