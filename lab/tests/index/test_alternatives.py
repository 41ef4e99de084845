"""The structures that the raster is compared with must answer as the areas themselves do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from index_fences import (
    Operation,
    check_crowd,
    check_edge,
    check_operations,
    given_edges,
    given_operations,
)
from index_model import SameAnswers
from property_examples import examples
from zonal.geo import Circle, Point
from zonal.index import Fences
from zonal_lab.index import BTreeFences, LinearFences, RTreeFences, STRTreeFences

others = pytest.mark.parametrize("make", [RTreeFences, BTreeFences, STRTreeFences, LinearFences])


@others
@examples(60)
@given_operations
def test_the_same_answers_under_random_operations(
    make: Callable[[], Fences], steps: list[Operation], asked: list[Point]
) -> None:
    check_operations(make(), steps, asked)


@others
@examples(60)
@given_edges
def test_points_at_the_edge_are_judged_by_the_area(
    make: Callable[[], Fences], circle: Circle, bearing: float, beyond_m: float
) -> None:
    check_edge(make(), circle, bearing, beyond_m)


@others
def test_a_crowd_of_every_kind(make: Callable[[], Fences]) -> None:
    check_crowd(make())


class Others(SameAnswers):
    structures = (RTreeFences, BTreeFences, STRTreeFences, LinearFences)


TestOthers = Others.TestCase
TestOthers.settings = examples(60, stateful_step_count=40)
