"""The OpenAPI document of the REST interface.

By OpenAPI 3.0, which the Swagger UI of `assets` can show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import zonal
from zonal.keys import encodings
from zonal.web.vocabulary import PARAMETERS, SHAPES, Operation, parameters_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from zonal.web.access import WebAccess

_OPERATIONS: dict[str, tuple[str, tuple[Operation, ...]]] = {
    "get": (
        "Ask those who have values of a key in an area; with `Accept: text/event-stream` subscribe",
        ("query", "stream"),
    ),
    "put": ("Publish the body from a place", ("message",)),
    "post": ("The same as PUT", ("message",)),
    "delete": ("Tell that the key has no value at this place any more", ("message",)),
}
_STATUSES = {
    "200": "done; GET: the replies, or the stream",
    "400": "something is wrong with the key or a parameter; `detail` says what would be right",
    "401": "a token is missing or not known",
    "403": "the token does not grant it, or pages of this origin may not write",
    "404": "GET of one key without an area: nobody has a value of it",
    "405": "the method has no meaning for a key",
    "413": "the body, area or geofence is over the limit",
    "414": "the key is over the limit of bytes or chunks",
    "421": "the server does not answer to this host name",
    "429": "this address asks too often, or has too much open",
    "503": "all streams are in use, or the server is shutting down",
}
_PAGES = {
    "/health": ("Whether the server runs", "application/json", ("200",)),
    "/ready": ("Whether it is connected to a router or peer", "application/json", ("200", "503")),
    "/metrics": ("Counters for Prometheus", "text/plain", ("200",)),
}


def document(access: WebAccess) -> dict[str, Any]:
    """The document, as it can be written as JSON."""
    keys = {name: _operation(name, access) for name in _OPERATIONS}
    pages = {path: {"get": _page(path)} for path in _PAGES}
    return {
        "openapi": "3.0.3",
        "info": {
            "title": "Zonal",
            "version": zonal.__version__,
            "description": "Location-aware publish/subscribe, query and history over HTTP.",
            "license": {"name": "Apache-2.0"},
        },
        "paths": {"/{key}": keys, **pages},
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Sample": _SAMPLE, "Feature": _FEATURE, "Problem": _PROBLEM},
        },
    }


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _text(meaning: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": meaning, **more}


_NUMBER = {"type": "number"}
_SAMPLE = _object(
    key=_text("the topic"),
    value={"description": "JSON as it is, text as a string, other bytes in Base64"},
    encoding=_text("what the value is"),
    timestamp=_text("when it was sent, in UTC", format="date-time", nullable=True),
    location=_object(lat=_NUMBER, long=_NUMBER, cell=_text("of a blurred place: its S2 cell")),
    geofence={"type": "object", "description": "GeoJSON; circles: Point with radius_m"},
    source=_text("the sending session and its number there"),
) | {"required": ["key", "value", "encoding", "timestamp"]}
_FEATURE = _object(
    type=_text("always this", enum=["Feature"]),
    geometry={"type": "object", "nullable": True, "description": "where it was sent from"},
    properties={"type": "object", "description": "the sample without its location"},
)
_PROBLEM = _object(
    title=_text("of the status"),
    status={"type": "integer"},
    detail=_text("what is wrong, and what would be right"),
    instance=_text("the path that was asked for"),
)
_KEY = {
    "name": "key",
    "in": "path",
    "required": True,
    "description": "the topic, with slashes; a Zenoh key expression in GET",
    "schema": {"type": "string"},
    "example": "city/airquality",
}


def _operation(method: str, access: WebAccess) -> dict[str, Any]:
    text, kinds = _OPERATIONS[method]
    names = dict.fromkeys(name for kind in kinds for name in parameters_of(kind))
    operation: dict[str, Any] = {
        "summary": text,
        "operationId": method,
        "parameters": [_KEY, *map(_parameter, names)],
        "responses": _responses(_STATUSES, _ANSWERS if method == "get" else {}),
    }
    if method in {"put", "post"}:
        any_body = {"schema": {"type": "string", "description": "the content type goes along"}}
        operation["requestBody"] = {"content": {"application/json": any_body, "*/*": any_body}}
    if access.needs_token:
        operation["security"] = [{"token": []}]
    return operation


def _parameter(name: str) -> dict[str, Any]:
    meaning = PARAMETERS[name]
    schema: dict[str, Any] = {"type": meaning.kind}
    if name == "shape":
        schema["enum"] = list(SHAPES)
    if name == "encoding":
        schema["description"] = ", ".join(encoding.name for encoding in encodings())
    text = f"{meaning.text} (example: {meaning.example})"
    return {"name": name, "in": "query", "description": text, "schema": schema}


_STRING = {"schema": {"type": "string"}}
_FEATURES = {"type": "array", "items": {"$ref": "#/components/schemas/Feature"}}
_ANSWERS = {
    "application/json": {
        "schema": {"type": "array", "items": {"$ref": "#/components/schemas/Sample"}}
    },
    "application/geo+json": {
        "schema": _object(type=_text("always this", enum=["FeatureCollection"]), features=_FEATURES)
    },
    "text/event-stream": _STRING,
    "text/html": _STRING,
}


def _responses(statuses: Iterable[str], answers: dict[str, Any]) -> dict[str, Any]:
    problem = {"schema": {"$ref": "#/components/schemas/Problem"}}
    found: dict[str, Any] = {
        status: {
            "description": _STATUSES[status],
            "content": {"application/problem+json": problem},
        }
        for status in statuses
    }
    found["200"] = {"description": _STATUSES["200"]} | ({"content": answers} if answers else {})
    return found


def _page(path: str) -> dict[str, Any]:
    text, media_type, statuses = _PAGES[path]
    return {
        "summary": text,
        "operationId": path.strip("/"),
        "responses": _responses(statuses, {media_type: _STRING}),
    }
