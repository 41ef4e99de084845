"""The declared union: bounded, complete at every moment, and told as differences."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index_places import areas, points
from property_examples import examples
from zonal.errors import GeometryError, SubscriptionError
from zonal.geo import Area, Cell, Circle, Everywhere, Point, cell_of, cover
from zonal.index import InterestCover
from zonal.index.union import bounded_union, maximal


def city_circle(source: random.Random) -> Circle:
    center = Point(source.uniform(45.38, 45.54), source.uniform(9.04, 9.28))
    return Circle(center, radius_m=source.uniform(100.0, 1500.0))


def is_covered(cell: Cell, cells: set[Cell]) -> bool:
    return any(each.contains(cell) for each in cells)


def some_points(area: Area) -> list[Point]:
    """Points of the area, on a grid over its bounds."""
    bounds, shares = area.bounds, [number / 8 for number in range(9)]
    lats = [min(90.0, bounds.min_lat + share * bounds.height_deg) for share in shares]
    lons = [bounds.min_lon + share * bounds.width_deg for share in shares]
    places = [Point(lat, lon - 360.0 * (lon > 180.0)) for lat in lats for lon in lons]
    return [place for place in places if area.contains(place)]


@examples(150)
@given(
    st.lists(
        st.tuples(st.integers(0, 8), st.one_of(st.none(), areas, st.sampled_from([1, 5, 48]))),
        max_size=30,
    ),
    st.sampled_from([6, 8, 16, 128]),
)
def test_the_declared_cells_contain_every_area_at_every_moment(
    steps: list[tuple[int, Area | int | None]], max_cells: int
) -> None:
    """Whatever areas come, move and go, and however closely they are covered meanwhile."""
    interest = InterestCover(max_cells)
    kept: dict[int, Area] = {}
    declared: set[Cell] = set()
    for id_, area in steps:
        if isinstance(area, int):
            interest.fit(area)
        elif area is None:
            if kept.pop(id_, None) is not None:
                interest.remove(id_)
        else:
            (interest.update if id_ in kept else interest.add)(id_, area)
            kept[id_] = area
        change = interest.take_changes()
        assert declared.isdisjoint(change.declare)
        assert declared.issuperset(change.undeclare)
        declared = (declared | set(change.declare)) - set(change.undeclare)
        assert declared == set(interest.cells)
        assert len(declared) <= max_cells
        assert bool(declared) is bool(kept)
    for area in kept.values():
        assert all(is_covered(cell_of(point), declared) for point in some_points(area))


@examples(100)
@given(st.lists(st.tuples(points, st.integers(0, 15)), max_size=60), st.integers(6, 40))
def test_a_bounded_union_contains_its_cells(
    places: list[tuple[Point, int]], max_cells: int
) -> None:
    cells = [cell_of(point, 2 * half_level) for point, half_level in places]
    union = bounded_union((cell.id for cell in cells), max_cells)
    assert len(union) <= max_cells
    assert union == maximal(union)
    assert all(is_covered(cell, set(map(Cell, union))) for cell in cells)
    if len(maximal(cell.id for cell in cells)) <= max_cells:
        assert union == maximal(cell.id for cell in cells)


def test_ten_thousand_areas_of_a_city_become_few_cells_in_little_time() -> None:
    source = random.Random(1)
    circles = [city_circle(source) for _ in range(10_000)]
    interest = InterestCover()
    start = time.process_time()
    for number, circle in enumerate(circles):
        interest.add(number, circle)
    taken_s = time.process_time() - start
    change = interest.take_changes()
    assert taken_s < 4.0  # 0.5 s on the machine this was written on
    assert len(change.declare) <= 256
    assert change.undeclare == ()
    # The cells stay near the city: its circles span about 400 km², the globe 510 million.
    share = sum(cell.id & -cell.id for cell in interest.cells) / (6 << 60)
    assert share * 510e6 < 1000.0


def test_many_adds_in_a_row_are_one_small_change() -> None:
    source = random.Random(2)
    interest = InterestCover(32)
    for number in range(500):
        interest.add(number, city_circle(source))
    first = interest.take_changes()
    assert 0 < len(first.declare) <= 32
    assert not first.undeclare
    assert not interest.take_changes()


def test_the_union_is_fine_again_when_most_areas_have_gone() -> None:
    source = random.Random(3)
    interest = InterestCover(16)
    for number in range(400):
        interest.add(number, city_circle(source))
    for number in range(1, 400):
        interest.remove(number)
    small = Circle(Point(45.46, 9.19), radius_m=100.0)
    interest.update(0, small)
    assert interest.cells == cover(small, 16)
    interest.remove(0)
    assert interest.cells == ()


def test_the_union_follows_areas_that_all_move_away() -> None:
    source = random.Random(4)
    interest = InterestCover(16)
    for number in range(50):
        world = Point(source.uniform(-80.0, 80.0), source.uniform(-180.0, 180.0))
        interest.add(number, Circle(world, radius_m=1000.0))
    for number in range(50):
        interest.update(number, city_circle(source))
    share = sum(cell.id & -cell.id for cell in interest.cells) / (6 << 60)
    assert share * 510e6 < 5000.0


def test_areas_share_cells_and_a_cell_stays_while_one_area_needs_it() -> None:
    interest = InterestCover()
    circle = Circle(Point(45.46, 9.19), radius_m=500.0)
    interest.add("a", circle)
    interest.add("b", circle)
    assert interest.take_changes().declare == cover(circle)
    interest.remove("a")
    assert not interest.take_changes()
    interest.remove("b")
    assert interest.take_changes().undeclare == cover(circle)


def test_everywhere_is_the_six_faces() -> None:
    interest = InterestCover(6)
    interest.add("x", Circle(Point(1.0, 1.0), radius_m=10.0))
    interest.add("all", Everywhere())
    assert [cell.level for cell in interest.cells] == [0] * 6


def test_bad_use_is_refused() -> None:
    with pytest.raises(GeometryError, match="6"):
        InterestCover(5)
    interest = InterestCover()
    interest.add("a", Everywhere())
    with pytest.raises(SubscriptionError, match="update"):
        interest.add("a", Everywhere())
    with pytest.raises(SubscriptionError, match="'b'"):
        interest.remove("b")
    with pytest.raises(SubscriptionError, match="'b'"):
        interest.update("b", Everywhere())
    assert ("a" in interest, "b" in interest, len(interest)) == (True, False, 1)


def test_areas_covered_anew_are_covered_as_others_that_come() -> None:
    source = random.Random(5)
    areas = [city_circle(source) for _ in range(3)]
    interest, finer, coarser = (
        InterestCover(cells_an_area=5),
        InterestCover(),
        InterestCover(cells_an_area=5),
    )
    for each in (interest, finer, coarser):
        for number, area in enumerate(areas):
            each.add(number, area)
    interest.take_changes()
    interest.fit(48)
    change = interest.take_changes()
    assert interest.cells == finer.cells
    assert set(change.undeclare) == set(coarser.cells) - set(finer.cells)
    interest.fit(5)
    assert interest.cells == coarser.cells
