from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from places import points
from property_examples import examples
from zonal.geo import Cell, Point, cell_of
from zonal.trust.cell_ranges import EVERYWHERE, CellRanges

_CELLS = st.lists(st.builds(cell_of, points, st.integers(0, 20)), max_size=6)


def _holds(cells: list[Cell] | tuple[Cell, ...], point: Point) -> bool:
    return any(cell.contains(cell_of(point)) for cell in cells)


@examples(40)
@given(_CELLS, _CELLS, st.lists(points, max_size=5))
def test_sets_of_cells_hold_what_they_should(
    a: list[Cell], b: list[Cell], some: list[Point]
) -> None:
    left, right = CellRanges.of(a), CellRanges.of(b)
    for point in [*some, *(cell.center for cell in (*a, *b))]:
        in_a, in_b = _holds(a, point), _holds(b, point)
        assert _holds((left | right).cells(), point) == (in_a or in_b)
        assert _holds((left & right).cells(), point) == (in_a and in_b)
        assert _holds((left - right).cells(), point) == (in_a and not in_b)
        assert _holds((EVERYWHERE - left).cells(), point) != in_a


@given(_CELLS)
def test_the_cells_are_the_fewest_and_apart(cells: list[Cell]) -> None:
    found = CellRanges.of(cells).cells()
    assert len(found) <= max(len(cells), 0)
    assert all(a.range_max < b.range_min for a, b in itertools.pairwise(found))


def test_what_is_taken_away_is_given_back() -> None:
    duomo = CellRanges.of([cell_of(Point(45.4642, 9.19), 12)])
    rest = EVERYWHERE - duomo
    assert len(rest.cells()) == 5 + 3 * 12
    assert (rest | duomo).is_everywhere
