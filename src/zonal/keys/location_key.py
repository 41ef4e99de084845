"""Location keys as values, and the one Boolean operation on two of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from zonal.errors import LocationKeyError
from zonal.geo import as_area
from zonal.keys.encoding import DEFAULT_MAX_EXPRESSIONS, GivenPlace, Place, Role, as_place
from zonal.keys.registry import encoding_named, encoding_of_expression

if TYPE_CHECKING:
    from zonal.geo import Area, GivenArea


@dataclass(frozen=True, slots=True)
class LocationKey:
    """One location expression (`@s2/1/10/13/**`) and the kind of device that uses it."""

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


def encode_place(place: GivenPlace, encoding: str = "s2") -> tuple[LocationKey, ...]:
    """The keys of a publisher: one for a point, perhaps several for a blurred place."""
    expressions = encoding_named(encoding).place_expressions(as_place(place))
    return tuple(LocationKey(expression, Role.PUBLISHER) for expression in expressions)


def encode_area(
    area: GivenArea,
    encoding: str = "s2",
    *,
    role: Role = Role.SUBSCRIBER,
    max_expressions: int = DEFAULT_MAX_EXPRESSIONS,
) -> tuple[LocationKey, ...]:
    """The keys of a subscriber, queryable or get: together they contain the area."""
    if role is Role.PUBLISHER:
        raise LocationKeyError("a publisher has a place, not an area; use encode_place")
    kind, area = encoding_named(encoding), as_area(area)
    kind.check_area(area)
    expressions = kind.area_expressions(area, role, max_expressions)
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
