"""Areas that are declared by themselves: a crowd is declared as a whole, and not computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import zenoh
from hypothesis import given
from hypothesis import strategies as st

from property_examples import examples
from zonal.geo import Circle, Point, destination
from zonal.keys import encoding_named, message_keys
from zonal.session import Wish, area_keys
from zonal.session.interest import Interest

DUOMO = Point(45.4642, 9.19)
MGRS = encoding_named("mgrs")


def interest_of(crowd: int) -> Interest:
    interest = Interest("t", [MGRS], area_cells=64, cells_an_area=8)
    for number in range(crowd):
        interest.want(number, circle(number))
    return interest


def circle(number: int, moved_m: float = 0.0) -> Wish:
    middle = destination(DUOMO, number * 40.0, 3000.0 * number)
    return Wish(Circle(destination(middle, 90.0, moved_m), radius_m=1100))


def is_whole(interest: Interest) -> bool:
    return not interest.keys().isdisjoint({"t/@mgrs/**"})


def test_few_areas_are_declared_by_themselves_and_a_crowd_as_a_whole() -> None:
    few, crowd = interest_of(5), interest_of(60)
    assert not is_whole(few)
    assert 5 <= len(few.keys()) <= 96
    assert is_whole(crowd)
    assert len(crowd.keys()) == 1


def counted(compute: Callable[..., tuple[str, ...]], calls: list[int]) -> Any:
    def count_and_compute(*args: Any, **options: Any) -> tuple[str, ...]:
        calls[0] += 1
        return compute(*args, **options)

    return count_and_compute


def test_the_moves_of_a_crowd_compute_next_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    interest = interest_of(60)
    computed = [0]
    for name in ("area_keys", "following_keys"):
        monkeypatch.setattr(area_keys, name, counted(getattr(area_keys, name), computed))
    for step in range(1, 6):
        for number in range(60):
            assert not interest.want(number, circle(number, 50.0 * step))
    assert computed[0] == 0
    for step in range(6, 20):
        for number in range(60):
            interest.want(number, circle(number, 50.0 * step))
    assert computed[0] < 60  # once counted anew, up to what is too much


def test_when_half_of_a_crowd_is_gone_the_others_may_be_declared_by_themselves_again() -> None:
    interest = interest_of(60)
    for number in range(55):
        interest.want(number, None)
    assert not is_whole(interest)
    assert interest.keys() == interest_of_these(range(55, 60)).keys()


def interest_of_these(numbers: range) -> Interest:
    interest = Interest("t", [MGRS], area_cells=64, cells_an_area=8)
    for number in numbers:
        interest.want(number, circle(number))
    return interest


def test_a_crowd_that_comes_together_is_declared_by_its_few_keys_again() -> None:
    interest = interest_of(30)
    assert is_whole(interest)
    changed = False
    for metres in range(17):
        for number in range(30):
            wish = Wish(Circle(destination(DUOMO, 0.0, metres), radius_m=1100))
            changed = interest.want(number, wish) or changed
    assert changed
    assert not is_whole(interest)


@given(
    steps=st.lists(
        st.tuples(
            st.integers(0, 24),
            st.one_of(st.none(), st.integers(0, 5000), st.sampled_from([-1, -5, -48])),
        ),
        max_size=120,
    ),
    name=st.sampled_from(["mgrs", "s2", "bloom:45.2,8.9,45.8,9.6,12x12,0.2"]),
)
@examples(40)
def test_whoever_comes_moves_or_goes_every_area_left_is_declared(
    steps: list[tuple[int, int | None]], name: str
) -> None:
    encoding = encoding_named(name)
    """Negative numbers are how many keys each area may have from then on."""
    interest = Interest("t", [encoding], area_cells=16, cells_an_area=4)
    left: dict[int, Wish] = {}
    before = interest.keys()
    for number, moved_m in steps:
        if moved_m is not None and moved_m < 0:
            wish, changed = left.get(number), interest.fit(-moved_m)
        else:
            wish = None if moved_m is None else circle(number % 8, float(moved_m))
            changed = interest.want(number, wish)
        now = interest.keys()
        assert changed or now == before
        before = now
        left.pop(number, None)
        if wish is not None:
            left[number] = wish
    declared = [zenoh.KeyExpr(key) for key in before]
    for wish in left.values():
        assert isinstance(wish.area, Circle)
        assert wish.area.center is not None
        for key in message_keys("t", wish.area.center, None, encoding):
            assert any(each.intersects(zenoh.KeyExpr(key)) for each in declared)
    if not left:
        assert not declared


@pytest.mark.parametrize("name", ["s2", "mgrs"])
def test_areas_that_are_covered_anew_have_the_keys_of_new_ones(name: str) -> None:
    encoding = encoding_named(name)
    few, many = (Interest("t", [encoding], cells_an_area=cells) for cells in (5, 48))
    anew = Interest("t", [encoding], cells_an_area=5)
    for interest in (few, many, anew):
        interest.want("someone", circle(0))
    assert not anew.fit(5)
    assert anew.fit(48)
    assert anew.keys() == many.keys()
    assert len(many.keys()) > 3 * len(few.keys())
    assert anew.fit(5)
    assert anew.keys() == few.keys()
