"""The words of a query string: which parameters there are, for which operations, and what they say.

The names are those of Visotto 2023 (4.2.2 and 6.4); `lon` is taken for `long`.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import parse_qsl

from zonal.web.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable

Operation = Literal["message", "query", "stream", "overlay"]
"""PUT, POST and DELETE; GET; GET of an event stream; what the map draws behind the data."""

SHAPES = {
    "circle": ("r",),
    "box": ("min_lat", "min_long", "max_lat", "max_long"),
    "polygon": ("wkt",),
}
OF_SHAPES = frozenset(name for names in SHAPES.values() for name in names)

_MESSAGE: tuple[Operation, ...] = ("message",)
_QUERY: tuple[Operation, ...] = ("query",)
_STREAM: tuple[Operation, ...] = ("stream",)
_ALL: tuple[Operation, ...] = ("message", "query", "stream", "overlay")


class Meaning(NamedTuple):
    """What a parameter is: JSON's type, what it says, an example, where it may stand."""

    kind: str
    text: str
    example: Any
    of: tuple[Operation, ...] = _ALL


PARAMETERS: dict[str, Meaning] = {
    "lat": Meaning("number", "latitude in degrees: of message, circle's centre or reader", 45.46),
    "long": Meaning("number", "longitude in degrees; `lon` is the same", 9.19),
    "shape": Meaning("string", "circle, box or polygon; of a message: its geofence", "circle"),
    "r": Meaning("number", "radius of the circle in metres", 500),
    "min_lat": Meaning("number", "southern edge of the box", 45.4),
    "min_long": Meaning("number", "western edge; east of max_long: across the antimeridian", 9.1),
    "max_lat": Meaning("number", "northern edge of the box", 45.5),
    "max_long": Meaning("number", "eastern edge of the box", 9.3),
    "wkt": Meaning("string", "polygon as well-known text, longitude first", "POLYGON ((9 45, …))"),
    "geofence": Meaning(
        "string", "whom a message is for: well-known text", "CIRCLE (9.19 45.46, 500)", _MESSAGE
    ),
    "attested": Meaning(
        "boolean", "the fence is for those whose position somebody vouches for", True, _MESSAGE
    ),
    "encoding": Meaning("string", "how places are written into keys; several: s2,mgrs", "s2"),
    "precision": Meaning(
        "string",
        "of a message, metres: only a cell at least so wide leaves this server; or POINT, MGRS, "
        "BLOOM_FILTER: the encoding, by its name in Visotto 2023",
        "100",
    ),
    "fenced": Meaning("boolean", "hear messages with a geofence wherever you are", True, _STREAM),
    "counters": Meaning("boolean", "a `counters` event every second", True, _STREAM),
    "detect": Meaning(
        "string",
        "events at the border of the shape instead of messages: enter, leave, cross, dwell:60s, "
        "silence:120s, hysteresis:25m",
        "enter,leave,hysteresis:25m",
        _STREAM,
    ),
    "thing": Meaning(
        "string",
        "of `detect`: the member of JSON values that tells a key's things apart",
        "id",
        _STREAM,
    ),
    "nearest": Meaning("integer", "so many of the nearest to lat and long, sorted", 10, _QUERY),
    "within": Meaning("number", "of the nearest: metres they are away at most", 5000, _QUERY),
    "timeout": Meaning("number", "seconds to wait for replies", 5, _QUERY),
    "format": Meaning("string", "json, geojson or html, whatever `Accept` says", "geojson", _QUERY),
    "selector": Meaning(
        "string", "parameters for whoever answers, as Zenoh writes them", "a=1;b=2", _QUERY
    ),
    "_time": Meaning(
        "string", "the time that is asked about, as Zenoh writes it", "[now(-1h)..]", _QUERY
    ),
    "_limit": Meaning("integer", "how many messages of the past at most", 100, _QUERY),
    "_raw": Meaning("boolean", "the first reply's own bytes instead of JSON", True, _QUERY),
}
"""All that there are."""
ALIASES = {"lon": "long", "min_lon": "min_long", "max_lon": "max_long"}
HANDED_ON = ("_time", "_limit")
"""Those that whoever answers a query gets as they are."""
_OFTEN_MEANT = {
    "radius": "r",
    "latitude": "lat",
    "longitude": "long",
    "lng": "long",
    "fence": "geofence",
    "area": "shape",
    "limit": "_limit",
    "time": "_time",
}
_MOST = 64


def parameters_of(operation: Operation) -> list[str]:
    """The names that have a meaning for an operation."""
    return [name for name, meaning in PARAMETERS.items() if operation in meaning.of]


def read_names(query: bytes, operation: Operation) -> dict[str, str]:
    """The parameters as they are given, each once and with a meaning here; else a `Problem`."""
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST)
    except ValueError as error:
        raise Problem(400, f"cannot read the query string: {error}") from error
    given: dict[str, str] = {}
    for written, value in pairs:
        name = ALIASES.get(written, written)
        if name not in PARAMETERS or operation not in PARAMETERS[name].of:
            raise Problem(400, _why_not(written, name, operation))
        if name in given:
            raise Problem(400, f"parameter {name!r} is given twice")
        given[name] = value
    return given


def _why_not(written: str, name: str, operation: Operation) -> str:
    possible = parameters_of(operation)
    if name in PARAMETERS:
        where = " or ".join(PARAMETERS[name].of)
        return f"parameter {written!r} is of a {where}; this is a {operation}"
    meant = _OFTEN_MEANT.get(written.lower()) or _nearest(written.lower(), possible)
    hint = f"did you mean {meant!r}?" if meant in possible else f"here are {', '.join(possible)}"
    on = "; `selector` hands parameters on to whoever answers" if operation == "query" else ""
    return f"there is no parameter {written!r}: {hint}{on}"


def _nearest(written: str, possible: Iterable[str]) -> str | None:
    return next(iter(get_close_matches(written, possible, 1)), None)
