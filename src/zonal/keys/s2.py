"""S2 cells as key chunks, our own default: the face, then two quarters (0 to 3) a chunk.

A publisher writes the path of its cell; a subscriber declares the paths of a bounded cover, each
followed by `**`. Containment of cells is then prefix matching of paths, which routers do. A cell
of an odd level ends in half a chunk, `3$*`, which stands for `30`, `31`, `32` and `33`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from zonal.errors import LocationKeyError
from zonal.geo import MAX_LEVEL, Area, Cell, Everywhere, Point, cell_id_of, cover, middle_of
from zonal.keys.encoding import (
    DEFAULT_MAX_EXPRESSIONS,
    Encoding,
    Place,
    Role,
    RoleExpression,
)

KEY_LEVEL = 20
"""The finest level in keys: cells of 7 to 11 m. The exact place travels with the message."""

_PAIRS = {f"{number:x}": f"/{number >> 2}{number & 3}" for number in range(16)}
_LONGEST_PATH = MAX_LEVEL // 2
_FINEST_PATH = re.compile(rf"[0-5](?:/[0-3]{{2}}){{{KEY_LEVEL // 2}}}")
_PATH = re.compile(rf"[0-5](?:/[0-3]{{2}}){{0,{_LONGEST_PATH - 1}}}(?:/[0-3](?:[0-3]|\$\*))?")


def path_of_cell(cell: Cell) -> str:
    """The chunks of a cell: `1/10/13` at level 4, `1/10/1$*` at level 3."""
    return _path(cell.id, cell.level)


def _path(cell_id: int, level: int) -> str:
    # Behind the three bits of the face every hexadecimal digit holds two levels.
    digits = f"{(cell_id << 3) & 0xFFFF_FFFF_FFFF_FFFF:016x}"[: (level + 1) // 2]
    path = f"{cell_id >> 61}{''.join(map(_PAIRS.__getitem__, digits))}"
    return f"{path[:-1]}$*" if level % 2 else path


def cell_of_path(path: str) -> Cell:
    """The cell of such chunks."""
    if _PATH.fullmatch(path) is None:
        raise LocationKeyError(
            f"{path[:80]!r} is no path of an S2 cell: the face (0 to 5), then at most "
            f"{_LONGEST_PATH} chunks of two digits from 0 to 3, of which the last may be like 3$*"
        )
    digits = path[1:].replace("/", "").removesuffix("$*")
    free = 2 * (MAX_LEVEL - len(digits))
    position = int(digits, 4) if digits else 0
    return Cell((int(path[0]) << 61) | (position << free + 1) | (1 << free))


@dataclass(frozen=True, slots=True)
class S2Encoding(Encoding):
    """Paths of S2 cells of any level."""

    name: str = "s2"
    prefix: str = "@s2"
    cell_level: int = KEY_LEVEL

    def place_expressions(self, place: Place) -> tuple[str, ...]:
        """The path of the point's cell; for a blurred place all that lies in its cell."""
        if isinstance(place, Point):
            return (f"@s2/{_path(cell_id_of(place, KEY_LEVEL), KEY_LEVEL)}",)
        return (self.cell_expression(place),)

    def area_expressions(
        self,
        area: Area,
        role: Role,  # noqa: ARG002  (the same for all roles)
        max_expressions: int = DEFAULT_MAX_EXPRESSIONS,
    ) -> tuple[str, ...]:
        """One expression for each cell of a cover."""
        if isinstance(area, Everywhere):
            return ("@s2/**",)
        cells = cover(area, max_expressions, max_level=KEY_LEVEL)
        return tuple(f"@s2/{path_of_cell(cell)}/**" for cell in cells)

    def cell_expression(self, cell: Cell) -> str:
        """The path of the cell and all below it."""
        return f"@s2/{path_of_cell(cell.parent(min(cell.level, KEY_LEVEL)))}/**"

    def decode(self, expression: str, role: Role) -> Place | Area:  # noqa: ARG002
        """The cell; everywhere for `@s2/**`."""
        path = expression.removeprefix("@s2/").removesuffix("**").removesuffix("/")
        return cell_of_path(path) if path else Everywhere()

    def middle(self, expression: str) -> Point | None:
        """The centre of a cell of the finest level."""
        path = expression[len("@s2/") :]
        if _FINEST_PATH.fullmatch(path) is None:
            return None
        # As the centre of its `Cell`, which need not be made: this is asked for every message.
        return Point(*middle_of(int(path[0]), int(path[2:].replace("/", ""), 4), KEY_LEVEL))

    def match(self, a: RoleExpression, b: RoleExpression) -> bool:
        """One path is the beginning of the other (and the shorter one ends in `**`)."""
        return paths_intersect(a.expression, b.expression)


def paths_intersect(a: str, b: str) -> bool:
    """Whether two expressions intersect: plain chunks, perhaps half a chunk and a final `**`."""
    open_a, open_b = a.endswith("/**"), b.endswith("/**")
    path_a, path_b = _beginning(a, is_open=open_a), _beginning(b, is_open=open_b)
    if path_a == path_b:
        return True
    return (open_a and path_b.startswith(path_a)) or (open_b and path_a.startswith(path_b))


def _beginning(expression: str, *, is_open: bool) -> str:
    path = expression[:-2] if is_open else f"{expression}/"
    return path.removesuffix("$*/")
