"""Encodings as a user would write them, known to the process only while a test needs them."""
# ruff: noqa: ARG002

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

import zenoh

from zonal.errors import GeometryError, LocationKeyError
from zonal.geo import Area, Box, Cell, Everywhere, Point, area_from_wkt, cell_of, cover
from zonal.keys import (
    DEFAULT_MAX_EXPRESSIONS,
    Encoding,
    Place,
    Role,
    RoleExpression,
    refine,
    register_encoding,
    registry,
)

_DIGITS = 4


def _intersect(a: RoleExpression, b: RoleExpression) -> bool:
    return bool(zenoh.KeyExpr(a.expression).intersects(zenoh.KeyExpr(b.expression)))


@dataclass(frozen=True)
class DecimalGrid(Encoding):
    """Whole degrees, then a pair of decimal digits a chunk: `@grid/135_189/4_1/6_9`."""

    name: str = "grid"
    prefix: str = "@grid"

    def place_expressions(self, place: Place) -> tuple[str, ...]:
        if isinstance(place, Point):
            return (f"@grid/{_path(place.lat, place.lon, _DIGITS)}",)
        return self.area_expressions(place.bounds, Role.PUBLISHER)

    def area_expressions(
        self, area: Area, role: Role, max_expressions: int = DEFAULT_MAX_EXPRESSIONS
    ) -> tuple[str, ...]:
        best: tuple[str, ...] = ("@grid/**",)
        if isinstance(area, Everywhere):
            return best
        for digits in range(_DIGITS + 1):
            squares = _squares(area.bounds, digits, max_expressions)
            if len(squares) > max_expressions:
                break
            best = tuple(f"@grid/{square}/**" for square in squares)
        return best

    def decode(self, expression: str, role: Role) -> Place | Area:
        path = expression.removeprefix("@grid/").removesuffix("**").removesuffix("/")
        if not path:
            return Everywhere()
        try:
            (south, west), *digits = ([int(n) for n in pair.split("_")] for pair in path.split("/"))
        except ValueError as error:
            raise LocationKeyError(f"{expression!r} is no square of the grid") from error
        lat, lon, size = south - 90.0, west - 180.0, 1.0
        for up, right in digits:
            size /= 10
            lat, lon = lat + up * size, lon + right * size
        return Box(lat, lon, lat + size, lon + size).expanded(1e-9)

    def match(self, a: RoleExpression, b: RoleExpression) -> bool:
        return _intersect(a, b)


def _path(lat: float, lon: float, digits: int) -> str:
    scale = 10**digits
    up, right = math.floor((lat + 90) * scale), math.floor((lon + 180) * scale)
    chunks = [f"{up // scale}_{right // scale}"]
    for number in range(1, digits + 1):
        step = 10 ** (digits - number)
        chunks.append(f"{up // step % 10}_{right // step % 10}")
    return "/".join(chunks)


def _squares(bounds: Box, digits: int, most: int) -> list[str]:
    """The squares that the bounds touch; a few more than `most` where they are too many."""
    scale = 10**digits
    first_row = math.floor((bounds.min_lat + 90) * scale)
    first_column = math.floor((bounds.min_lon + 180) * scale)
    rows = math.floor((bounds.max_lat + 90) * scale) - first_row + 1
    east = bounds.min_lon + bounds.width_deg
    columns = math.floor((east + 180) * scale) - first_column + 1
    if rows * columns > most:
        return [""] * (most + 1)
    return [
        _path((row + 0.5) / scale - 90, (column + 0.5) / scale % 360 - 180, digits)
        for row in range(first_row, first_row + rows)
        for column in range(first_column, first_column + columns)
    ]


@dataclass(frozen=True)
class Quarters(Encoding):
    """S2 cells, a letter for each quarter: its areas are cells, so subscribers share them."""

    name: str = "quarters"
    prefix: str = "@quarters"
    cell_level: int = 18

    def place_expressions(self, place: Place) -> tuple[str, ...]:
        if isinstance(place, Point):
            return (f"@quarters/{_letters(cell_of(place, self.cell_level))}",)
        return (self.cell_expression(place.parent(place.level - place.level % 2)),)

    def area_expressions(
        self, area: Area, role: Role, max_expressions: int = DEFAULT_MAX_EXPRESSIONS
    ) -> tuple[str, ...]:
        if isinstance(area, Everywhere):
            return ("@quarters/**",)
        return tuple(map(self.cell_expression, cover(area, max_expressions, max_level=18)))

    def cell_expression(self, cell: Cell) -> str:
        return f"@quarters/{_letters(cell.parent(min(cell.level, self.cell_level)))}/**"

    def decode(self, expression: str, role: Role) -> Place | Area:
        path = expression.removeprefix("@quarters/").removesuffix("**").removesuffix("/")
        if not path:
            return Everywhere()
        face, *letters = path.split("/")
        try:
            cell = Cell.from_face(int(face))
            for letter in letters:
                cell = list(cell.children())["nesw".index(letter)]
        except (ValueError, GeometryError) as error:
            raise LocationKeyError(f"{expression!r} names no quarters") from error
        return cell

    def middle(self, expression: str) -> Point | None:
        place = None if expression.endswith("*") else self.decode(expression, Role.PUBLISHER)
        return place.center if isinstance(place, Cell) else None

    def match(self, a: RoleExpression, b: RoleExpression) -> bool:
        return _intersect(a, b)


def _letters(cell: Cell) -> str:
    steps = [cell.parent(level).id for level in range(cell.level + 1)]
    letters = [
        "nesw"[[child.id for child in Cell(parent).children()].index(child_id)]
        for parent, child_id in pairwise(steps)
    ]
    return "/".join([str(cell.face), *letters])


@dataclass(frozen=True)
class Spelt(Encoding):
    """Areas as they are, in hexadecimal, without a word on who uses them: they are announced."""

    name: str = "spelt"
    prefix: str = "@spelt"
    announces_areas: bool = True

    def place_expressions(self, place: Place) -> tuple[str, ...]:
        if isinstance(place, Cell):
            return (f"@spelt/cell/{place.token}",)
        return (f"@spelt/point/{place.lat.hex()}/{place.lon.hex()}",)

    def area_expressions(
        self, area: Area, role: Role, max_expressions: int = DEFAULT_MAX_EXPRESSIONS
    ) -> tuple[str, ...]:
        text = "" if isinstance(area, Everywhere) else area.to_wkt()
        return (f"@spelt/area/x{text.encode().hex()}",)

    def decode(self, expression: str, role: Role) -> Place | Area:
        kind, *words = expression.removeprefix("@spelt/").split("/")
        try:
            match kind, words:
                case "cell", [token]:
                    return Cell.from_token(token)
                case "point", [lat, lon]:
                    return Point(float.fromhex(lat), float.fromhex(lon))
                case "area", [text]:
                    shape = bytes.fromhex(text[1:]).decode()
                    return area_from_wkt(shape) if shape else Everywhere()
        except (ValueError, GeometryError) as error:
            raise LocationKeyError(f"{expression!r} is not spelt right") from error
        raise LocationKeyError(f"{expression!r} is not spelt right")

    def match(self, a: RoleExpression, b: RoleExpression) -> bool:
        first, second = self.decode(a.expression, a.role), self.decode(b.expression, b.role)
        if isinstance(first, Area):
            return first.intersects(second) if isinstance(second, Area) else refine(first, second)
        assert isinstance(second, Area)
        return refine(second, first)


OWN_ENCODINGS = (DecimalGrid(), Quarters(), Spelt())


@contextmanager
def registered(encoding: Encoding) -> Iterator[str]:
    """Known by its name, until the test is over."""
    register_encoding(encoding)
    try:
        yield encoding.name
    finally:
        del registry._ENCODINGS[encoding.name]
