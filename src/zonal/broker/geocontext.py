"""The geo-context that MQTT 5 clients carry in user properties.

| property | on | meaning |
| --- | --- | --- |
| `location` | CONNECT, PUBLISH | where the client, or this message's producer, is |
| `geofence` | SUBSCRIBE | where producers must be for this subscription |
| `geofence` | PUBLISH | where consumers must be for this message |
| `around` | SUBSCRIBE | an ego-centric geofence, `500m` or `2km`: it follows the client |
| `attestation` | CONNECT, `$zonal/location` | an attested position of the client (base64url) |
| `attested` | PUBLISH | `true`: the geofence is for clients with an attested position alone |
| `detect`, `zone` | SUBSCRIBE | events at the geofence's border instead of messages (`watch`) |
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from zonal.errors import GeometryError
from zonal.geo import Area, Box, Cell, Circle, Point, area_from_wkt, point_from_wkt
from zonal.keys import blurred

if TYPE_CHECKING:
    from collections.abc import Sequence

LOCATION_TOPIC = "$zonal/location"
LOCATION, GEOFENCE, AROUND = "location", "geofence", "around"
ATTESTATION = "attestation"
ATTESTED = ("attested", "true")
"""The user property of messages for those alone whose position somebody vouches for."""
LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*(m|km)")
METRES = {"m": 1.0, "km": 1000.0}
NUMBER = r"([-+]?\d+(?:\.\d+)?)"
CORNERS = (
    r"\s*POLYGON\s*\(\s*\(\s*{}\s+{}\s*,\s*{}\s+{}\s*,\s*{}\s+{}\s*,\s*{}\s+{}\s*,"
    r"\s*\1\s+\2\s*\)\s*\)\s*"
)
EAST_FIRST = re.compile(
    CORNERS.format(NUMBER, NUMBER, NUMBER, r"\2", r"\3", NUMBER, r"\1", r"\4"), re.IGNORECASE
)
NORTH_FIRST = re.compile(
    CORNERS.format(NUMBER, NUMBER, r"\1", NUMBER, NUMBER, r"\3", r"\4", r"\2"), re.IGNORECASE
)
"""Polygons of four corners along parallels and meridians: which side their first edge goes to."""
LONGEST_WKT = 1_000_000
LONGEST_KEPT = 20_000
LONGEST_LOCATION_KEPT = 100
LONGEST_NAME = 20
OWN = (LOCATION, GEOFENCE, AROUND)
ALIASES = {"fence": GEOFENCE, "position": LOCATION, "latlon": LOCATION, "geo": GEOFENCE}
"""What others call the same."""


class Context(NamedTuple):
    """What one packet says about places."""

    location: Point | None = None
    geofence: Area | None = None
    unread: str = ""
    """Why a property called `location` is taken for an ordinary one."""
    hint: str = ""
    """What the client may have meant by a property that looks like one of ours."""


NOWHERE = Context()


def read(
    properties: Sequence[tuple[str, str]], maximum_vertices: int = 10_000, *, strict: bool = False
) -> Context:
    """The geo-context in a packet's user properties; raises `GeometryError` for a bad geofence.

    A `location` that cannot be read is an ordinary property of somebody else's, unless `strict`.
    """
    location: Point | None = None
    geofence: Area | None = None
    unread = hint = ""
    for name, value in properties:
        if name == LOCATION:
            try:
                found = read_location(value)
            except GeometryError as error:
                if strict:
                    raise
                unread = str(error)
                continue
            _once(name, location)
            location = found
        elif name in {GEOFENCE, AROUND}:
            _once("geofence", geofence)
            geofence = _geofence(value, maximum_vertices) if name == GEOFENCE else _around(value)
        else:
            hint = hint or _hint(name[:LONGEST_NAME])
    if location is None and geofence is None and not unread and not hint:
        return NOWHERE
    return Context(location, geofence, unread, hint)


@lru_cache(maxsize=1024)
def _hint(name: str) -> str:
    """What to say about a property whose name is nearly one of ours."""
    plain = name.strip().lower().replace("-", "").replace("_", "")
    meant = ALIASES.get(plain) or next(iter(get_close_matches(plain, OWN, 1, 0.85)), None)
    return f"user property {name!r} is not read here; did you mean {meant!r}?" if meant else ""


def _once(name: str, known: object) -> None:
    if known is not None:
        raise GeometryError(f"user property {name}: given more than once")


def read_location(text: str) -> Point:
    """A location as `lat,lon` or as a WKT point (longitude first, as WKT has it)."""
    if len(text) <= LONGEST_LOCATION_KEPT:
        return _read_location(text)
    return _read_location.__wrapped__(text)


@lru_cache(maxsize=4096)
def _read_location(text: str) -> Point:
    try:
        if text.lstrip()[:1].isalpha():
            return point_from_wkt(text)
        lat, lon = text.split(",")
        return Point(float(lat), float(lon))
    except (GeometryError, ValueError) as error:
        detail = f": {error}" if isinstance(error, GeometryError) else ""
        raise GeometryError(
            f"user property location: {shorten(text)} is neither 'lat,lon' in degrees "
            f"nor a WKT point such as 'POINT (9.19 45.46)'{detail}"
        ) from error


def _geofence(text: str, maximum_vertices: int) -> Area:
    # The cheapest bound comes first: a vertex takes a comma, and nothing was parsed yet.
    if len(text) > LONGEST_WKT or text.count(",") > maximum_vertices:
        raise GeometryError(
            f"user property geofence: more than {maximum_vertices} vertices are not allowed"
        )
    return read_geofence(text)


def read_geofence(text: str) -> Area:
    """A geofence in WKT: POLYGON, MULTIPOLYGON, or our own `CIRCLE (lon lat, metres)`.

    Equal texts are read into the same object, unless they are so long that keeping them is dear.
    """
    return _read_geofence(text) if len(text) <= LONGEST_KEPT else _read_geofence.__wrapped__(text)


@lru_cache(maxsize=1024)
def _read_geofence(text: str) -> Area:
    try:
        return _box(text) or area_from_wkt(text)
    except GeometryError as error:
        raise GeometryError(f"user property geofence: {shorten(text)}: {error}") from error


def _box(text: str) -> Box | None:
    """The box that a polygon is, away from poles and antimeridian; None of any other.

    Both contain the same points; a box is read and matched in a fraction of the time.
    """
    if text.count(",") != 4:
        return None
    found = EAST_FIRST.fullmatch(text)
    if found is not None:
        west, south, east, north = map(float, found.groups())
    else:
        found = NORTH_FIRST.fullmatch(text)
        if found is None:
            return None
        west, south, north, east = map(float, found.groups())
    if west > east:
        west, east = east, west
    if south > north:
        south, north = north, south
    on_globe = -180.0 < west < east < 180.0 and -90.0 < south < north < 90.0
    return Box(south, west, north, east) if on_globe else None


@lru_cache(maxsize=1024)
def _around(text: str) -> Circle:
    try:
        return Circle(radius_m=read_length(text))
    except GeometryError as error:
        raise GeometryError(f"user property around: {error}") from error


def read_length(text: str) -> float:
    """A distance such as `500m` or `2km`, in metres."""
    found = LENGTH.fullmatch(text.strip())
    if found is None:
        raise GeometryError(f"{shorten(text)} is no distance such as '500m' or '2km'")
    return float(found[1]) * METRES[found[2]]


def follows(area: Area | None) -> bool:
    """Whether an area is ego-centric: it has no place of its own."""
    return isinstance(area, Circle) and area.is_ego_centric


def shorten(text: str) -> str:
    """A value as it is quoted in a reason string."""
    return repr(text if len(text) <= 60 else text[:57] + "…")


def with_location(
    properties: list[tuple[str, str]], context: Context, location: Point | None
) -> list[tuple[str, str]]:
    """User properties for receivers, with the producer's location as they may know it."""
    if location is None or location == context.location:
        return properties
    if context.location is not None:
        properties = [(name, value) for name, value in properties if name != LOCATION]
    return [*properties, (LOCATION, location_text(location))]


def location_text(location: Point) -> str:
    """A location as `lat,lon`."""
    return f"{location.lat!r},{location.lon!r}"


def holds(area: Area, place: Point | None, here: Point | None) -> bool:
    """Whether the area of somebody who is here holds a place; neither need be known."""
    if area.is_ego_centric:
        return place is not None and here is not None and area.at(here).contains(place)
    return place is not None and area.contains(place)


def middle_of(place: Point, precision_m: float | None) -> Point:
    """A place as finely as it may be known: the middle of the cell around it."""
    told = blurred(place, precision_m)
    return told.center if isinstance(told, Cell) else told
