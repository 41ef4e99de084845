"""Location keys as values, and the one Boolean operation on two of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from zonal.errors import LocationKeyError, TopicError
from zonal.geo import Everywhere, cover
from zonal.keys.encoding import DEFAULT_MAX_EXPRESSIONS, Place, Role
from zonal.keys.mgrs_grid import corner_of_path
from zonal.keys.registry import encoding_named, encoding_of_expression
from zonal.keys.s2 import KEY_LEVEL, cell_of_path, path_of_cell

if TYPE_CHECKING:
    from zonal.geo import Area, Point

FENCE_CHUNK = "@to"
"""The verbatim chunk behind which a message names the cells of its producer geofence."""

MGRS_STEPS = 6
"""Chunks behind the zone in the key of a square metre: the 100 km square and five digit pairs."""

LONGEST_TOPIC = 60_000
"""Bytes: Zenoh writes the length of a key into two bytes, and panics if it does not fit; the rest
is for the location."""

FENCE_LEVEL = KEY_LEVEL
"""The finest level of cells in fences."""


@dataclass(frozen=True, slots=True)
class LocationKey:
    """One location expression (`@s2/1/4/7/**`) and the kind of device that uses it."""

    expression: str
    role: Role

    @property
    def encoding(self) -> str:
        """The name of the encoding that the expression is written in."""
        return encoding_of_expression(self.expression).name

    def decode(self) -> Place | Area:
        """The place or area that the key stands for."""
        return encoding_of_expression(self.expression).decode(self.expression, self.role)

    def __str__(self) -> str:
        return self.expression


def encode_place(place: Place, encoding: str = "s2") -> tuple[LocationKey, ...]:
    """The keys of a publisher: one for a point, perhaps several for a blurred place."""
    expressions = encoding_named(encoding).place_expressions(place)
    return tuple(LocationKey(expression, Role.PUBLISHER) for expression in expressions)


def encode_area(
    area: Area,
    encoding: str = "s2",
    *,
    role: Role = Role.SUBSCRIBER,
    max_expressions: int = DEFAULT_MAX_EXPRESSIONS,
) -> tuple[LocationKey, ...]:
    """The keys of a subscriber, queryable or get: together they contain the area."""
    if role is Role.PUBLISHER:
        raise LocationKeyError("a publisher has a place, not an area; use encode_place")
    expressions = encoding_named(encoding).area_expressions(area, role, max_expressions)
    return tuple(LocationKey(expression, role) for expression in expressions)


def match(a: LocationKey, b: LocationKey) -> bool:
    """Whether a message or query with one key is meant for the device with the other.

    Publishers match (pull) subscribers, gets match queryables; keys of different encodings never
    match. True whenever the place and the area, or the two areas, have a point in common.
    """
    if not a.role.meets(b.role):
        raise LocationKeyError(
            f"a {a.role.name.lower()} and a {b.role.name.lower()} exchange nothing; publishers "
            "meet subscribers, and gets meet queryables"
        )
    encoding = encoding_of_expression(a.expression)
    other = encoding_of_expression(b.expression)
    return encoding.prefix == other.prefix and encoding.match(a, b)


def join(topic: str, expression: str) -> str:
    """The key expression of a location-aware message: the topic, then the location."""
    return f"{topic}/{expression}"


def check_topic(topic: str) -> str:
    """The topic itself, if it can carry a location key; otherwise an error that says why not."""
    if not isinstance(topic, str) or not topic:
        raise TopicError(f"a topic is a non-empty key expression, not {topic!r}")
    if len(topic) * 4 > LONGEST_TOPIC and (size := len(topic.encode())) > LONGEST_TOPIC:
        raise TopicError(f"a topic has at most {LONGEST_TOPIC:,} bytes, not {size:,}")
    for chunk in topic.split("/"):
        if chunk.startswith("@"):
            raise TopicError(
                f"topic {topic!r} contains the verbatim chunk {chunk!r}; such chunks are kept for "
                "location keys (use session.zenoh for plain Zenoh keys)"
            )
    return topic


def middle_of_expression(expression: str) -> Point | None:
    """A point within some metres of where the publisher of this key is; None for coarser keys."""
    scheme, _, path = expression.partition("/")
    steps = path.count("/")
    if scheme == "@s2" and steps == KEY_LEVEL // 2:
        return cell_of_path(path).center
    if scheme == "@mgrs" and steps == MGRS_STEPS:
        return corner_of_path(path)
    return None


def split(key: str) -> tuple[str, str, str]:
    """A key's topic, its location expression and the cells of its fence (empty where missing)."""
    topic, at, rest = key.partition("/@")
    if not at:
        return topic, "", ""
    location, fence_at, fence = f"@{rest}".partition(f"{FENCE_CHUNK}/")
    return topic, location.rstrip("/"), fence if fence_at else ""


def fence_expressions(fence: Area) -> tuple[str, ...]:
    """What a message with this producer geofence appends to its key: one for each cell."""
    if isinstance(fence, Everywhere):
        return (f"{FENCE_CHUNK}/**",)
    cells = cover(fence, max_level=FENCE_LEVEL)
    return tuple(f"{FENCE_CHUNK}/{path_of_cell(cell)}/**" for cell in cells)
