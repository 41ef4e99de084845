from __future__ import annotations

import numpy as np
import s2geometry
from hypothesis import given
from hypothesis import strategies as st

from property_examples import examples
from zonal.pipeline import cell_ids
from zonal.pipeline.cells import joined_ranges, leaf_range, parent_sql, signed, unsigned

latitudes = st.floats(-90, 90, allow_nan=False)
longitudes = st.floats(-180, 180, allow_nan=False)


def s2_cell(lat: float, lon: float) -> s2geometry.S2CellId:
    return s2geometry.S2CellId(s2geometry.S2LatLng.FromDegrees(lat, lon))


@examples(300)
@given(latitudes, longitudes, st.integers(0, 30))
def test_ids_and_ancestors_are_those_of_s2(lat: float, lon: float, level: int) -> None:
    cells = cell_ids(np.array([lat]), np.array([lon]))
    expected = s2_cell(lat, lon)
    assert unsigned(int(cells[0])) == expected.id()
    ancestor = eval(parent_sql("cell", level).replace("L", ""), {"cell": int(cells[0])})
    assert unsigned(ancestor) == expected.parent(level).id()


@examples(100)
@given(latitudes, longitudes, st.integers(0, 30))
def test_a_cell_holds_its_leaves_in_one_signed_range(lat: float, lon: float, level: int) -> None:
    leaf = s2_cell(lat, lon)
    cell = leaf.parent(level)
    low, high = leaf_range(cell.id())
    assert (unsigned(low), unsigned(high)) == (cell.range_min().id(), cell.range_max().id())
    assert low <= signed(leaf.id()) <= high


@examples(100)
@given(st.lists(st.tuples(latitudes, longitudes, st.integers(8, 12)), max_size=6))
def test_joined_ranges_hold_the_same_leaves(places: list[tuple[float, float, int]]) -> None:
    cells = [s2_cell(lat, lon).parent(level) for lat, lon, level in places]
    ranges = [leaf_range(child.id()) for cell in cells for child in map(cell.child, range(4))]
    joined = joined_ranges(ranges)
    assert len(joined) <= len(cells)
    for low, high in ranges:
        assert any(first <= low and high <= last for first, last in joined)
    assert {end for pair in joined for end in pair} <= {end for pair in ranges for end in pair}
