"""Places in topics, for clients without user properties: `$geo/<place>/<topic>`.

```
subscribe   $geo/circle:45.46,9.19,2km/<filter>    messages from this circle
            $geo/box:45.4,9.1,45.5,9.3/<filter>    … this box: south, west, north, east
            $geo/zone:DUOMO/<filter>               … this zone of the operator's
            $geo/around:500m/<filter>              … so near; follows the client
publish     $geo/at:45.46,9.19/<topic>             comes from here
            $geo/fence:<circle, box, zone or around>/<topic>   only for clients inside
            $geo/at:45.46,9.19;fence:zone:DUOMO/<topic>        both
```

The place is one level: what the topic tree and rules see is the topic or filter behind it, and
messages are delivered under it. In a name `%2F` and the like stand for signs that a level cannot
have.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from zonal.broker.geocontext import follows, read_length, read_location, shorten
from zonal.broker.topics import GEO
from zonal.errors import GeometryError
from zonal.geo import Area, Box, Circle, GivenArea, Point, as_area

if TYPE_CHECKING:
    from collections.abc import Mapping

AREAS = (
    "circle:<lat>,<lon>,<radius>, box:<south>,<west>,<north>,<east>, zone:<name>, around:<radius>"
)


class Address(NamedTuple):
    """Where a message goes: its plain topic, and what the level before it says about places."""

    topic: str
    location: Point | None
    geofence: Area | None


class GeoTopics:
    """Reads places in topics; knows the operator's zones by name."""

    def __init__(self, zones: Mapping[str, GivenArea]) -> None:
        self._zones = {name: as_area(area) for name, area in zones.items()}

    def address(self, topic: str, here: Point | None) -> Address:
        """What a publication to `$geo/…` says; raises `GeometryError` where that is nothing.

        Args:
            topic: the whole name.
            here: where the client is: the centre of `fence:around:…`, unless `at:` says another.
        """
        level, slash, plain = topic[len(GEO) :].partition("/")
        if not slash or not plain:
            raise GeometryError(f"{shorten(topic)}: a topic must follow the place")
        location: Point | None = None
        geofence: Area | None = None
        for directive in level.split(";"):
            name, _, value = directive.partition(":")
            if name == "at" and location is None:
                location = read_location(value)
            elif name == "fence" and geofence is None:
                geofence = self.area(value)
            else:
                raise GeometryError(
                    f"{shorten(directive)}: a publication is at:<lat>,<lon> or fence:<area>, "
                    "each once, with ';' between them"
                )
        if isinstance(geofence, Circle) and follows(geofence):
            center = location or here
            if center is None:
                raise GeometryError("fence:around needs a place: yours is not known")
            geofence = geofence.at(center)
        return Address(plain, location, geofence)

    def area(self, text: str) -> Area:
        """The area of a subscription or a fence; raises `GeometryError` for anything else."""
        name, _, value = text.partition(":")
        if name == "zone":
            zone = self._zones.get(unquote(value))
            if zone is None:
                known = ", ".join(sorted(self._zones)[:10]) or "there are none"
                raise GeometryError(f"no zone {shorten(unquote(value))}; known here: {known}")
            return zone
        return _area(name, value)


@lru_cache(maxsize=1024)
def _area(name: str, value: str) -> Area:
    parts = value.split(",")
    try:
        if name == "circle" and len(parts) == 3:
            center = Point(float(parts[0]), float(parts[1]))
            return Circle(center, radius_m=read_length(parts[2]))
        if name == "box" and len(parts) == 4:
            return Box(*map(float, parts))
        if name == "around" and len(parts) == 1:
            return Circle(radius_m=read_length(value))
    except ValueError as error:
        raise GeometryError(f"{shorten(f'{name}:{value}')}: {error}") from error
    raise GeometryError(f"{shorten(f'{name}:{value}')} is no area; it is written {AREAS}")
