"""S2 cells as key chunks, our own default: the face, then one hexadecimal digit per two levels.

A publisher writes the path of its cell; a subscriber declares the paths of a bounded cover, each
followed by `**`. Containment of cells is then prefix matching of paths, which routers do.
"""

from __future__ import annotations

from dataclasses import dataclass

from zonal.errors import LocationKeyError
from zonal.geo import Area, Cell, Everywhere, Point, cell_id_of, cover
from zonal.keys.encoding import (
    DEFAULT_MAX_EXPRESSIONS,
    Encoding,
    Place,
    Role,
    RoleExpression,
)

KEY_LEVEL = 20
"""The finest level in keys: cells of 7 to 11 m. The exact place travels with the message."""


def path_of_cell(cell: Cell) -> str:
    """The chunks of a cell of an even level: `1/4/7/8`."""
    return _path(cell.id, cell.level)


def _path(cell_id: int, level: int) -> str:
    # Behind the three bits of the face every hexadecimal digit holds two levels.
    digits = f"{(cell_id << 3) & 0xFFFF_FFFF_FFFF_FFFF:016x}"[: level // 2]
    return "/".join(f"{cell_id >> 61}{digits}")


def cell_of_path(path: str) -> Cell:
    """The cell of such chunks."""
    face, *digits = path.split("/")
    try:
        if len(digits) > 15 or any(len(digit) != 1 for digit in digits):
            raise ValueError("one hexadecimal digit a chunk, at most 15")  # noqa: TRY301
        position = int("".join(digits), 16) if digits else 0
        bits = 4 * len(digits)
        return Cell((int(face) << 61) | (position << (61 - bits)) | (1 << (60 - bits)))
    except ValueError as error:
        raise LocationKeyError(f"{path!r} is no path of an S2 cell: {error}") from error


@dataclass(frozen=True, slots=True)
class S2Encoding(Encoding):
    """Paths of S2 cells."""

    name: str = "s2"
    prefix: str = "@s2"
    cell_level: int = KEY_LEVEL

    def place_expressions(self, place: Place) -> tuple[str, ...]:
        """The path of the point's cell; for a blurred place all that lies in its cell."""
        if isinstance(place, Point):
            return (f"@s2/{_path(cell_id_of(place, KEY_LEVEL), KEY_LEVEL)}",)
        even = place.parent(min(KEY_LEVEL, place.level - place.level % 2))
        return (f"@s2/{path_of_cell(even)}/**",)

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
        path = expression.removeprefix("@s2/")
        is_finest = path.count("/") == KEY_LEVEL // 2 and not path.endswith("*")
        return cell_of_path(path).center if is_finest else None

    def match(self, a: RoleExpression, b: RoleExpression) -> bool:
        """One path is the beginning of the other (and the shorter one ends in `**`)."""
        return paths_intersect(a.expression, b.expression)


def paths_intersect(a: str, b: str) -> bool:
    """Whether two expressions of plain chunks, perhaps with a final `**`, intersect."""
    open_a, open_b = a.endswith("/**"), b.endswith("/**")
    path_a = a[:-2] if open_a else f"{a}/"
    path_b = b[:-2] if open_b else f"{b}/"
    if path_a == path_b:
        return True
    return (open_a and path_b.startswith(path_a)) or (open_b and path_a.startswith(path_b))
