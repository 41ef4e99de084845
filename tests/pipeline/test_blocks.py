from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from property_examples import examples
from zonal.geo import HALF_CIRCUMFERENCE_M, Circle, Point, distance_m
from zonal.pipeline import cell_ids
from zonal.pipeline.blocks import BLOCK, Blocks


def sorted_places(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Clusters of places around the world, many of them dense, in the order of their cells."""
    lats = rng.uniform(-89, 89, 8)[rng.integers(0, 8, count)]
    lons = rng.uniform(-179, 179, 8)[rng.integers(0, 8, count)]
    lats = np.clip(lats + rng.normal(0, 0.05, count), -90, 90)
    lons = np.clip(lons + rng.normal(0, 0.05, count), -180, 180)
    order = np.argsort(cell_ids(lats, lons))
    return lats[order], lons[order]


def held(blocks: Blocks, circle: Circle) -> list[int]:
    whole, places = blocks.inside(circle, np.arange(len(blocks.starts)))
    return sorted([*blocks.rows(whole).tolist(), *places.tolist()])


@examples(60)
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(1, 6 * BLOCK),
    radius_m=st.one_of(
        st.floats(0, 20_000), st.floats(0, HALF_CIRCUMFERENCE_M), st.just(HALF_CIRCUMFERENCE_M)
    ),
    on_edge=st.booleans(),
)
def test_blocks_hold_exactly_what_the_circle_holds(
    seed: int, count: int, radius_m: float, *, on_edge: bool
) -> None:
    rng = np.random.default_rng(seed)
    lats, lons = sorted_places(rng, count)
    near = int(rng.integers(count))
    centre = Point(float(np.clip(lats[near] + 0.01, -90, 90)), float(lons[near]))
    if on_edge:  # the radius ends at a place, where rounding could decide
        other = int(rng.integers(count))
        radius_m = distance_m(centre, Point(float(lats[other]), float(lons[other])))
    circle = Circle(centre, radius_m=radius_m)
    expected = np.flatnonzero(circle.contains_many(lats, lons)).tolist()
    assert held(Blocks(lats, lons), circle) == expected


def test_most_places_are_decided_by_their_block() -> None:
    rng = np.random.default_rng(1)
    lats, lons = 39.9 + rng.normal(0, 0.1, 100_000), 116.4 + rng.normal(0, 0.1, 100_000)
    order = np.argsort(cell_ids(lats, lons))
    blocks = Blocks(lats[order], lons[order])
    circle = Circle(Point(39.9, 116.4), radius_m=5000)
    whole, places = blocks.inside(circle, np.arange(len(blocks.starts)))
    assert len(whole) * BLOCK > 2 * len(places)  # of those inside


def test_a_message_without_a_place_is_in_no_circle() -> None:
    lats, lons = np.array([39.9, np.nan, 39.9]), np.array([116.4, np.nan, 116.4])
    assert held(Blocks(lats, lons), Circle(Point(39.9, 116.4), radius_m=10)) == [0, 2]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        ([0], [1], [0]),
        ([BLOCK - 1, 5 * BLOCK], [BLOCK + 1, 5 * BLOCK], [0, 1]),
        ([3, 2 * BLOCK, 2 * BLOCK + 7], [4, 2 * BLOCK + 5, 4 * BLOCK], [0, 2, 3]),
        ([], [], []),
    ],
)
def test_ranges_touch_blocks(low: list[int], high: list[int], expected: list[int]) -> None:
    blocks = Blocks(np.zeros(6 * BLOCK), np.zeros(6 * BLOCK))
    found = blocks.touched(np.array(low, np.int64), np.array(high, np.int64))
    assert found.tolist() == expected
