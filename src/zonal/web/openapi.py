"""The OpenAPI document of the REST interface, and a page of our own that shows it."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import zonal
from zonal.keys import encodings
from zonal.web.parameters import PARAMETERS, SHAPES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from zonal.web.access import WebAccess

_SHAPE = ("lat", "long", "shape", *(name for names in SHAPES.values() for name in names))
_OF_MESSAGES = (*_SHAPE, "geofence", "encoding", "precision")
_OPERATIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "get": (
        (
            "Ask those who have values of a key in an area, or with `Accept: text/event-stream` "
            "subscribe to them. Parameters that are not listed go to whoever answers."
        ),
        (*_SHAPE, "encoding", "fenced", "counters", "timeout", "_time", "_raw"),
    ),
    "put": ("Publish the body from a place.", _OF_MESSAGES),
    "post": ("The same as PUT.", _OF_MESSAGES),
    "delete": ("Tell that the key has no value at this place any more.", _OF_MESSAGES),
}
_STATUSES = {
    "200": "done; GET: the replies, or the stream",
    "400": "something is wrong with the key or a parameter; `detail` says what would be right",
    "401": "writing needs a token",
    "403": "writing is not allowed here, or not to pages of this origin",
    "405": "the method has no meaning for a key",
    "413": "the body, area or geofence is over the limit",
    "421": "the server does not answer to this host name",
    "503": "all streams are in use, or the server is shutting down",
}


def document(access: WebAccess) -> dict[str, Any]:
    """The document, by OpenAPI 3.1."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Zonal",
            "version": zonal.__version__,
            "description": "Location-aware publish/subscribe, query and history over HTTP.",
        },
        "paths": {
            "/{key}": {name: _operation(name, access) for name in _OPERATIONS},
            "/metrics": {"get": _plain("Counters for Prometheus.", "text/plain")},
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Sample": _SAMPLE, "Problem": _PROBLEM},
        },
    }


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _text(meaning: str) -> dict[str, Any]:
    return {"type": "string", "description": meaning}


_NUMBER = {"type": "number"}
_SAMPLE = _object(
    key=_text("the topic"),
    value={"description": "JSON as it is, text as a string, other bytes in Base64"},
    encoding=_text("what the value is"),
    timestamp={"type": ["string", "null"], "description": "Zenoh's time stamp"},
    location=_object(lat=_NUMBER, long=_NUMBER, cell=_text("of a blurred place: its S2 cell")),
    geofence={"type": "object", "description": "GeoJSON; circles: Point with radius_m"},
    source=_text("the sending session and its number there"),
) | {"required": ["key", "value", "encoding", "timestamp"]}
_PROBLEM = _object(
    title=_text("of the status"),
    status={"type": "integer"},
    detail=_text("what is wrong, and what would be right"),
    instance=_text("the path that was asked for"),
)


def _operation(name: str, access: WebAccess) -> dict[str, Any]:
    text, parameters = _OPERATIONS[name]
    operation: dict[str, Any] = {
        "summary": text,
        "parameters": [_KEY, *map(_parameter, parameters)],
        "responses": {status: _response(status, name) for status in _STATUSES},
    }
    if name in {"put", "post"}:
        any_body = {"schema": {"description": "any bytes; the content type goes along"}}
        operation["requestBody"] = {"content": {"*/*": any_body}}
    if name != "get" and access.needs_token:
        operation["security"] = [{"token": []}]
    return operation


_KEY = {
    "name": "key",
    "in": "path",
    "required": True,
    "description": "the topic, with slashes; a Zenoh key expression in GET",
    "schema": {"type": "string"},
    "example": "city/airquality",
}


def _parameter(name: str) -> dict[str, Any]:
    kind, text, example = PARAMETERS[name]
    schema: dict[str, Any] = {"type": kind}
    if name == "shape":
        schema["enum"] = list(SHAPES)
    if name == "encoding":
        schema["description"] = ", ".join(encoding.name for encoding in encodings())
    return {"name": name, "in": "query", "description": text, "schema": schema, "example": example}


def _response(status: str, method: str) -> dict[str, Any]:
    response: dict[str, Any] = {"description": _STATUSES[status]}
    if status != "200":
        problem = {"schema": {"$ref": "#/components/schemas/Problem"}}
        response["content"] = {"application/problem+json": problem}
    elif method == "get":
        samples = {"type": "array", "items": {"$ref": "#/components/schemas/Sample"}}
        response["content"] = {
            "application/json": {"schema": samples},
            "text/event-stream": {"schema": {"type": "string"}},
            "text/html": {"schema": {"type": "string"}},
        }
    return response


def _plain(text: str, media_type: str) -> dict[str, Any]:
    content = {media_type: {"schema": {"type": "string"}}}
    return {"summary": text, "responses": {"200": {"description": text, "content": content}}}


def document_page(described: dict[str, Any]) -> str:
    """The document for people: one table for each operation, nothing loaded from elsewhere."""
    sections = (
        _section(path, method, operation)
        for path, operations in described["paths"].items()
        for method, operation in operations.items()
    )
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><title>Zonal: REST</title>"
        "<meta name=viewport content='width=device-width'>"
        "<link rel=stylesheet href=/-/page/docs.css>"
        "<h1>REST interface</h1><p>As <a href=/-/openapi.json>OpenAPI document</a>; "
        "<a href=/>the map</a>; <a href=/metrics>counters</a>.</p>" + "".join(sections)
    )


def _section(path: str, method: str, operation: dict[str, Any]) -> str:
    rows = _rows(operation.get("parameters", ()))
    statuses = "".join(
        f"<tr><td><code>{status}</code><td>{html.escape(response['description'])}"
        for status, response in operation["responses"].items()
    )
    return (
        f"<h2><code>{method.upper()} {html.escape(path)}</code></h2>"
        f"<p>{html.escape(operation['summary'])}</p>"
        + (f"<table><tr><th>parameter<th>meaning<th>example{rows}</table>" if rows else "")
        + f"<table><tr><th>status<th>meaning{statuses}</table>"
    )


def _rows(parameters: Iterable[dict[str, Any]]) -> str:
    return "".join(
        f"<tr><td><code>{html.escape(parameter['name'])}</code>"
        f"<td>{html.escape(parameter['description'])}"
        f"<td><code>{html.escape(str(parameter['example']))}</code>"
        for parameter in parameters
    )
