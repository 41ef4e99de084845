"""Samples as JSON, in the shape of Zenoh's own REST plug-in, extended by their place."""

from __future__ import annotations

import base64
import html
import json
from typing import TYPE_CHECKING, Any, NoReturn

import zenoh

from zonal.geo import Cell, Circle, Point, outline
from zonal.session import NearSample, rfc3339

if TYPE_CHECKING:
    from collections.abc import Iterable

    from zonal.border import FenceEvent
    from zonal.geo import Area
    from zonal.session import ReplyFailure, Sample

_JSON_TYPES = ("application/json", "text/json", "application/geo+json", "application/problem+json")
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_decode = json.JSONDecoder(parse_constant=_no_constant).decode


def value_of(payload: bytes, content_encoding: str) -> Any:
    """The payload as a JSON value: JSON as it is, text as a string, other bytes in Base64."""
    if not payload:
        return None
    try:
        if content_encoding.startswith(_JSON_TYPES):
            return _decode(payload.decode())
        if content_encoding.startswith(("text/", "zenoh/string")):
            return payload.decode()
    except ValueError:
        pass  # it is not what it says it is: show the bytes
    return base64.b64encode(payload).decode()


def name_of_thing(sample: Sample, *, member: str) -> str:
    """A thing's name: its key and what this member of its JSON value says; else its key alone."""
    try:
        value = _decode(sample.payload.to_bytes().decode())
    except ValueError:
        return sample.key
    said = value.get(member) if isinstance(value, dict) else None
    return sample.key if said is None else f"{sample.key}/{said}"


def sample_to_dict(sample: Sample) -> dict[str, Any]:
    """A sample with the members of Zenoh's plug-in, then ours where there is a place."""
    content_encoding = str(sample.content_encoding)
    shown: dict[str, Any] = {
        "key": sample.key,
        "value": value_of(sample.payload.to_bytes(), content_encoding),
        "encoding": content_encoding,
        "timestamp": rfc3339(sample.timestamp),
    }
    place = sample.place
    if isinstance(place, Point):
        shown["location"] = {"lat": place.lat, "long": place.lon}
    elif isinstance(place, Cell):
        center = place.center
        shown["location"] = {"lat": center.lat, "long": center.lon, "cell": place.token}
    if isinstance(sample, NearSample):
        shown["distance_m"] = round(sample.distance_m, 3)
    fence = sample.geofence
    if fence is not None:
        shown["geofence"] = fence_to_dict(fence)
    if sample.source is not None:
        shown["source"] = f"{sample.source.id}:{sample.source.sequence}"
    return shown


def fence_to_dict(fence: Area) -> dict[str, Any]:
    """A geofence as GeoJSON; a circle as a `Point` with `radius_m`."""
    if isinstance(fence, Circle) and fence.is_ego_centric:
        return {}
    return fence.to_geojson()


def failure_to_dict(failure: ReplyFailure) -> dict[str, Any]:
    """An error that a queryable replied, as Zenoh's plug-in shows it."""
    text = failure.payload.decode(errors="replace")
    return {"key": "ERROR", "value": text, "encoding": "text/plain"}


def to_json(samples: Iterable[Sample], failures: Iterable[ReplyFailure]) -> bytes:
    """All replies of a query."""
    lines = [_encode(sample_to_dict(sample)) for sample in samples]
    lines += [_encode(failure_to_dict(failure)) for failure in failures]
    return ("[" + ",\n".join(lines) + "]\n").encode()


def to_geojson(samples: Iterable[Sample], failures: Iterable[ReplyFailure]) -> bytes:
    """All replies as a FeatureCollection (RFC 7946): what is no place stands in the properties.

    A blurred place is the outline of its cell. Errors that somebody replied stand in the member
    `errors`, which others may ignore.
    """
    collection: dict[str, Any] = {
        "type": "FeatureCollection",
        "features": [_feature(sample) for sample in samples],
    }
    if errors := [failure_to_dict(failure)["value"] for failure in failures]:
        collection["errors"] = errors
    return f"{_encode(collection)}\n".encode()


def _feature(sample: Sample) -> dict[str, Any]:
    properties = sample_to_dict(sample)
    properties.pop("location", None)
    place, geometry = sample.place, None
    if isinstance(place, Point):
        geometry = {"type": "Point", "coordinates": [place.lon, place.lat]}
    elif isinstance(place, Cell):
        geometry = outline(place, 4).to_geojson()
        properties["cell"] = place.token
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def to_html(samples: Iterable[Sample], failures: Iterable[ReplyFailure]) -> bytes:
    """The same for a person who opens the address in a browser."""
    rows = [(s.key, s.payload.to_bytes().decode(errors="replace")) for s in samples]
    rows += [("ERROR", str(failure)) for failure in failures]
    items = (f"<dt>{html.escape(key)}</dt>\n<dd>{html.escape(text)}</dd>" for key, text in rows)
    return ("<!doctype html>\n<dl>\n" + "\n".join(items) + "\n</dl>\n").encode()


def to_event(sample: Sample) -> bytes:
    """One server-sent event; its name is PUT or DELETE."""
    name = "DELETE" if sample.kind == zenoh.SampleKind.DELETE else "PUT"
    return event(name, sample_to_dict(sample))


def border_event(happened: FenceEvent) -> bytes:
    """An event at a border, under its own name, with the message that showed it."""
    shown = happened.to_dict()
    for name in ("location", "previous"):
        if shown[name] is not None:
            shown[name] = {"lat": shown[name]["lat"], "long": shown[name]["lon"]}
    if happened.sample is not None:
        shown["sample"] = sample_to_dict(happened.sample)
    return event(happened.kind, shown)


def event(name: str, data: Any) -> bytes:
    """A server-sent event of our own."""
    return f"event: {name}\ndata: {_encode(data)}\n\n".encode()
