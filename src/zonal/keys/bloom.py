"""Bloom filters over a grid as key chunks (Visotto 2023, 5.3 and 6.2.3).

A domain is a grid with a name, shared by publishers and subscribers, and a probability of false
positives. Its parameters follow Visotto 2023: m = −n·ln p / (ln 2)², rounded up to a multiple of
32 bits, and k = ⌈(m/n)·ln 2⌉ hash functions. The hash is one that any language reproduces: the
SHA-256 digest of the ASCII text `<column>-<row>`; its first and second eight bytes are the
unsigned big-endian integers a and b, b is made odd, and bit number i (of k) is (a + i·b) mod m.

In the key the bits are grouped into chunks of one hexadecimal digit each (bit 0 is the highest
bit of the first digit). A publisher writes the digits of its one field; a subscriber writes `*`
where its filter has a bit in the digit and `0` where it has none. So routers filter by digit, and
the edge by bit: subscriber & publisher == publisher.
"""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from zonal.errors import EncodingError, GeometryError, LocationKeyError
from zonal.geo import Area, Box, Grid, GridCell, MultiPolygon, Point, Polygon, outline
from zonal.keys.encoding import (
    DEFAULT_MAX_EXPRESSIONS,
    Encoding,
    Place,
    Role,
    RoleExpression,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

BLOOM_CHUNK = "@bloom"
_WORD_BITS = 32
_DIGIT_BITS = 4
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
MAX_FILTER_CHUNKS = 864
"""Chunks of a filter: with a topic and a fence far below what a stock router stands."""
_MAX_BITS = MAX_FILTER_CHUNKS * _DIGIT_BITS
_FEW, _MOST_ASKED = 8, 32
"""Who may ask under a few expressions asks up to so many fields, which cannot be joined."""
_NUMBER = r"-?[0-9.e+-]{1,24}"
_OPTION, _OPTION_NAME = (
    re.compile(
        rf"{start}({_NUMBER}){between}({_NUMBER}){between}({_NUMBER}){between}({_NUMBER}){between}"
        rf"(\d{{1,4}})x(\d{{1,4}}){between}({_NUMBER})",
        re.ASCII,
    )
    for start, between in (("bloom:", ","), ("bloom:d", "_"))
)
_MOST_FIELDS_OF_OPTION = 8_192
"""Reading an area of a domain looks at all its fields, and anybody may name one by its numbers."""


@dataclass(frozen=True, slots=True)
class BloomDomain:
    """A named grid with a probability of false positives, and the filter's size that follows."""

    name: str
    grid: Grid
    probability: float = 0.25
    bits: int = field(init=False)
    hashes: int = field(init=False)

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise EncodingError(
                f"a domain's name is letters, digits, -, _ and ., not {self.name!r}"
            )
        if not 0.0 < self.probability < 1.0:
            raise EncodingError(f"a probability lies between 0 and 1, not {self.probability}")
        ideal = -len(self.grid) * math.log(self.probability) / math.log(2) ** 2
        bits = math.ceil(ideal / _WORD_BITS) * _WORD_BITS
        if bits > _MAX_BITS:
            raise EncodingError(
                f"{len(self.grid)} fields at a probability of {self.probability:g} need "
                f"{bits // _DIGIT_BITS:,} chunks in a key, more than {MAX_FILTER_CHUNKS}; use "
                f"fewer fields (at most {self._most_fields()} at this probability) or a higher "
                "probability"
            )
        object.__setattr__(self, "bits", bits)
        object.__setattr__(self, "hashes", math.ceil(bits / len(self.grid) * math.log(2)))

    def _most_fields(self) -> int:
        return int(-_MAX_BITS * math.log(2) ** 2 / math.log(self.probability))

    def filter_of(self, cells: Iterable[GridCell]) -> int:
        """The filter of some fields as an integer of `bits` bits, bit 0 highest."""
        result = 0
        for cell in cells:
            result |= _bits_of_field(cell.column, cell.row, self.bits, self.hashes)
        return result


@lru_cache(maxsize=65536)
def _bits_of_field(column: int, row: int, bits: int, hashes: int) -> int:
    digest = hashlib.sha256(f"{column}-{row}".encode("ascii")).digest()
    start = int.from_bytes(digest[:8], "big")
    step = int.from_bytes(digest[8:16], "big") | 1
    result = 0
    for number in range(hashes):
        result |= 1 << (bits - 1 - (start + number * step) % bits)
    return result


def filters_match(subscriber: int, publisher: int) -> bool:
    """The test of Visotto 2023: every bit of the publisher is set in the subscriber's filter."""
    return subscriber & publisher == publisher


@dataclass(frozen=True, slots=True)
class BloomEncoding(Encoding):
    """Filters over one domain."""

    domain: BloomDomain

    @property
    def name(self) -> str:
        """`bloom` for the built-in world grid, `bloom:<domain>` for others."""
        return "bloom" if self.domain == WORLD else f"bloom:{self.domain.name}"

    @property
    def prefix(self) -> str:
        """The verbatim chunk and the domain's name."""
        return f"{BLOOM_CHUNK}/{self.domain.name}"

    def place_expressions(self, place: Place) -> tuple[str, ...]:
        """The filter of the point's field; one for each field that a blurred place touches."""
        return tuple(map(self._field_expression, self._fields_of_place(place)))

    def _fields_of_place(self, place: Place) -> list[GridCell]:
        try:
            if isinstance(place, Point):
                return [self.domain.grid.cell_of(place)]
            fields = list(self.domain.grid.cells_of(outline(place)))
        except GeometryError as error:
            raise LocationKeyError(f"domain {self.domain.name!r}: {error}") from error
        if not fields:
            raise LocationKeyError(f"{place} lies outside the domain {self.domain.name!r}")
        return fields

    def filter_of_area(self, area: Area) -> int:
        """The filter of the fewest fields that cover the area inside the domain."""
        return self.domain.filter_of(self.domain.grid.cells_of(area))

    def check_area(self, area: Area) -> None:
        """A `LocationKeyError` where the area lies outside the domain."""
        if not area.is_ego_centric and not any(self.domain.grid.cells_of(area)):
            raise LocationKeyError(
                f"{area.to_wkt()[:80]} lies outside the domain {self.domain.name!r}, which is "
                f"{self.domain.grid.domain.to_wkt()}"
            )

    def area_expressions(
        self,
        area: Area,
        role: Role,
        max_expressions: int = DEFAULT_MAX_EXPRESSIONS,
    ) -> tuple[str, ...]:
        """One expression, whatever the shape; none where the area misses the domain.

        A get asks each of its fields, as a publisher there would write it; where these are more
        than 32 (or than `max_expressions`, if that is less than eight) it asks the whole domain:
        one expression for several fields would meet every queryable.
        """
        fields = list(self.domain.grid.cells_of(area))
        if not fields:
            return ()
        if role is Role.GET:
            if len(fields) > (max_expressions if max_expressions < _FEW else _MOST_ASKED):
                return (f"{self.prefix}/**",)
            return tuple(dict.fromkeys(map(self._field_expression, fields)))
        digits = self._digits(self.domain.filter_of(fields))
        chunks = ("*" if digit != "0" else "0" for digit in digits)
        return (f"{self.prefix}/{'/'.join(chunks)}",)

    def _field_expression(self, cell: GridCell) -> str:
        return f"{self.prefix}/{'/'.join(self._digits(self.domain.filter_of([cell])))}"

    def _digits(self, bits: int) -> str:
        return f"{bits:0{self.domain.bits // _DIGIT_BITS}x}"

    def decode(self, expression: str, role: Role) -> Place | Area:  # noqa: ARG002
        """The fields whose bits are all open in the expression, as one area."""
        bits = self._bits_of(expression)
        grid = self.domain.grid
        boxes = [
            grid.box_of(GridCell(row, column)).expanded(1e-9)  # fields' edges are rounded
            for row in range(grid.rows)
            for column in range(grid.columns)
            if filters_match(bits, self.domain.filter_of([GridCell(row, column)]))
        ]
        if not boxes:
            raise LocationKeyError(f"{expression!r} holds no field of {self.domain.name!r}")
        return (
            boxes[0] if len(boxes) == 1 else MultiPolygon(tuple(Polygon(box.ring) for box in boxes))
        )

    def _bits_of(self, expression: str) -> int:
        rest = expression.removeprefix(self.prefix).removeprefix("/")
        if rest == "**":
            return (1 << self.domain.bits) - 1
        digits = ["f" if chunk == "*" else chunk for chunk in rest.split("/")]
        if len(digits) * _DIGIT_BITS != self.domain.bits:
            raise LocationKeyError(
                f"{expression!r} has {len(digits)} digits, the domain {self.domain.name!r} has "
                f"{self.domain.bits // _DIGIT_BITS}"
            )
        try:
            return int("".join(digits), 16)
        except ValueError as error:
            raise LocationKeyError(f"{expression!r} is no Bloom filter: {error}") from error

    def match(self, a: RoleExpression, b: RoleExpression) -> bool:
        """All bits of the publisher's, or of the asked, field are open for the other one."""
        asked, other = (a, b) if a.role in {Role.PUBLISHER, Role.GET} else (b, a)
        if asked.expression == f"{self.prefix}/**":
            return True
        return filters_match(self._bits_of(other.expression), self._bits_of(asked.expression))


def domain_of_option(text: str) -> BloomDomain | None:
    """The domain of `bloom:45.3,9.0,45.6,9.3,20x20,0.25`; None for a text of another form.

    South, west, north and east in degrees, rows and columns (8,192 fields at most), the probability
    of false positives. Its name is made of these numbers, so all who write them mean the same
    domain, and `bloom:` with that name is read as well.
    """
    found = _OPTION.fullmatch(text) or _OPTION_NAME.fullmatch(text)
    if found is None:
        return None
    try:
        south, west, north, east = map(float, found.groups()[:4])
        probability = float(found[7])
        grid = Grid(Box(south, west, north, east), int(found[5]), int(found[6]))
    except ValueError as error:
        raise EncodingError(f"{text!r} is no Bloom domain: {error}") from error
    if len(grid) > _MOST_FIELDS_OF_OPTION:
        raise EncodingError(
            f"{text!r}: a domain that is named by its numbers has at most "
            f"{_MOST_FIELDS_OF_OPTION:,} fields, not {len(grid):,}"
        )
    numbers = (south, west, north, east, f"{grid.rows}x{grid.columns}", probability)
    return BloomDomain("d" + "_".join(map(str, numbers)), grid, probability)


WORLD = BloomDomain("world", Grid(Box(-90.0, -180.0, 90.0, 180.0), rows=10, columns=10))
"""A coarse built-in domain (fields of 18° × 36°); register one of your own for real use."""
