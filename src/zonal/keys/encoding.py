"""What an encoding is: the protocol that every way of writing places into keys follows."""

from __future__ import annotations

import enum
from abc import abstractmethod
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from zonal.errors import EncodingError
from zonal.geo import (
    Area,
    Cell,
    GivenArea,
    GivenPoint,
    Point,
    as_area,
    as_point,
    cell_intersects,
    cell_of,
    level_for_size,
)

if TYPE_CHECKING:
    from collections.abc import Collection

Place: TypeAlias = Point | Cell
"""Where a message comes from: a point, or (blurred) no more than a cell."""

GivenPlace: TypeAlias = "GivenPoint | Cell"
"""A place as users have it."""

DEFAULT_MAX_EXPRESSIONS = 48
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


class RoleExpression(Protocol):
    """A location expression and the kind of device that uses it; `LocationKey` is one."""

    @property
    def expression(self) -> str:
        """What stands behind the topic: `@s2/1/10/13/**`."""

    @property
    def role(self) -> Role:
        """Who uses it."""


@runtime_checkable
class Encoding(Protocol):
    """One way to write places and areas as key-expression chunks.

    Expressions are what stands behind the topic: `@<chunk>/…`. Whenever a place lies in an area,
    one of the place's expressions intersects one of the area's by Zenoh's own rules; the reverse
    need not hold, so `refine` decides at the edge. No expression ends in a chunk that begins with
    `=`, and none has a verbatim chunk behind its prefix.

    An encoding of one's own derives from this class, defines what is abstract here, and may
    leave the rest as it is. Its objects are values: equal ones write the same, and have a hash.
    """

    def __hash__(self) -> int:
        return super().__hash__()

    @property
    @abstractmethod
    def name(self) -> str:
        """The name that users give: `s2`, `mgrs`, `bloom:milano`, …."""

    @property
    @abstractmethod
    def prefix(self) -> str:
        """The leading chunks of every expression, the first one verbatim: `@s2`, …."""

    @property
    def announces_areas(self) -> bool:
        """Whether publishers have to know the declared areas, since routers cannot match them."""
        return False

    @property
    def cell_level(self) -> int | None:
        """The finest level of the S2 cells that its areas consist of; None: they are no S2 cells.

        Where there is one, all areas of a topic can be declared together, as the fewest cells
        that contain them. Otherwise each area is declared by itself or, where there are too many,
        the whole encoding.
        """
        return None

    def expressions_for(self, cells: int) -> int:
        """How many expressions an area may have that would have at most so many S2 cells."""
        return cells

    @abstractmethod
    def place_expressions(self, place: Place) -> tuple[str, ...]:
        """What a publisher at this place publishes under; several only for a blurred place."""

    @abstractmethod
    def area_expressions(
        self, area: Area, role: Role, max_expressions: int = DEFAULT_MAX_EXPRESSIONS
    ) -> tuple[str, ...]:
        """What a subscriber, queryable or get with this area declares or asks."""

    def following_expressions(
        self,
        expressions: Collection[str],  # noqa: ARG002  (overridden)
        last: Area,  # noqa: ARG002
        area: Area,
        role: Role,
        max_expressions: int = DEFAULT_MAX_EXPRESSIONS,
        *,
        closely: bool = True,  # noqa: ARG002
    ) -> tuple[str, ...]:
        """What is declared for an area that was `last` before, for which these were declared.

        As many of those as may be kept. With `closely` little may come from outside, otherwise
        few expressions may change as the area moves on.
        """
        return self.area_expressions(area, role, max_expressions)

    def check_area(self, area: Area) -> None:  # noqa: ARG002  (overridden)
        """Nothing where the area can be written; a `LocationKeyError` where it cannot at all."""
        return

    def cell_expression(self, cell: Cell) -> str:
        """What is declared for all places in an S2 cell of any level.

        A cell finer than `cell_level` is declared as the one of that level around it. An
        `EncodingError` where there is no `cell_level`.
        """
        raise EncodingError(f"{self.name} has no expression for the S2 cell {cell.token}")

    @abstractmethod
    def decode(self, expression: str, role: Role) -> Place | Area:
        """The place or area that an expression stands for, at least as large as the encoded one.

        A `LocationKeyError` where it stands for none, or for one of another role.
        """

    def middle(self, expression: str) -> Point | None:  # noqa: ARG002  (overridden)
        """A point within some metres of any publisher that uses this expression.

        With it a message tells only by how much its place differs. None where the expression
        says too little; then the message carries the whole place.
        """
        return None

    @abstractmethod
    def match(self, a: RoleExpression, b: RoleExpression) -> bool:
        """Whether two location keys of this encoding match; roles are already known to meet."""


def as_place(given: GivenPlace) -> Place:
    """The place that was meant; `GeometryError` where none was."""
    return given if isinstance(given, Cell) else as_point(given)


def blurred(place: GivenPoint, precision_m: float | None) -> Place:
    """The place to give away: the point, or only the cell that is at least so wide."""
    if precision_m is None:
        return as_point(place)
    return cell_of(place, level_for_size(precision_m, step=2))


def refine(area: GivenArea, place: GivenPlace) -> bool:
    """The exact answer at the edge: the point is inside, or the blurred place's cell intersects."""
    if isinstance(place, Cell):
        return cell_intersects(place, area)
    return as_area(area).contains(place)
