"""What an encoding is: the small protocol that every way of writing places into keys follows."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from zonal.geo import Area, Cell, Point, cell_intersects

if TYPE_CHECKING:
    from zonal.keys.location_key import LocationKey

Place: TypeAlias = Point | Cell
"""Where a message comes from: a point, or (blurred) no more than a cell."""

DEFAULT_MAX_EXPRESSIONS = 8
"""How many key expressions an area becomes at the most, unless asked otherwise."""


class Role(enum.Enum):
    """The kind of device that a location key stands for; values as in Visotto 2023 (6.2)."""

    PUBLISHER = "p"
    SUBSCRIBER = "s"
    PULL_SUBSCRIBER = "ps"
    QUERYABLE = "q"
    GET = "g"

    def meets(self, other: Role) -> bool:
        """Whether messages or queries pass between two such devices."""
        return frozenset((self, other)) in _PAIRS


_PAIRS = frozenset(
    {
        frozenset((Role.PUBLISHER, Role.SUBSCRIBER)),
        frozenset((Role.PUBLISHER, Role.PULL_SUBSCRIBER)),
        frozenset((Role.GET, Role.QUERYABLE)),
    }
)


@runtime_checkable
class Encoding(Protocol):
    """One way to write places and areas as key-expression chunks.

    Expressions are what stands behind the topic: `@<chunk>/…`. Whenever a place lies in an area,
    one of the place's expressions intersects one of the area's by Zenoh's own rules; the reverse
    need not hold, so `refine` decides at the edge.
    """

    @property
    def name(self) -> str:
        """The name that users give: `s2`, `mgrs`, `bloom:milano`, …."""

    @property
    def prefix(self) -> str:
        """The leading chunks of every expression, the first one verbatim: `@s2`, …."""

    @property
    def announces_areas(self) -> bool:
        """Whether publishers have to know the declared areas, since routers cannot match them."""

    def place_expressions(self, place: Place) -> tuple[str, ...]:
        """What a publisher at this place publishes under; several only for a blurred place."""

    def area_expressions(
        self, area: Area, role: Role, max_expressions: int = DEFAULT_MAX_EXPRESSIONS
    ) -> tuple[str, ...]:
        """What a subscriber, queryable or get with this area declares or asks."""

    def decode(self, expression: str, role: Role) -> Place | Area:
        """The place or area that an expression stands for, at least as large as the encoded one."""

    def match(self, a: LocationKey, b: LocationKey) -> bool:
        """Whether two location keys of this encoding match; roles are already known to meet."""


def refine(area: Area, place: Place) -> bool:
    """The exact answer at the edge: the point is inside, or the blurred place's cell intersects."""
    if isinstance(place, Point):
        return area.contains(place)
    return cell_intersects(place, area)
