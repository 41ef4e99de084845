from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zonal_lab.experiment import Claim, Draw, Ruling, Unit, Verdict, change, judge


def claim(values: list[float], *, exact: bool = False, **bounds: float) -> Claim:
    return Claim("a work", "1.1", "it is so", "", Unit.CHANGE, lambda draw: draw(values),
                 exact=exact, **bounds)  # fmt: skip


def verdict(values: list[float], *, exact: bool = False, **bounds: float) -> Verdict:
    (found,) = judge([claim(values, exact=exact, **bounds)])
    return found


def test_a_claim_holds_when_all_of_the_interval_lies_where_it_says() -> None:
    found = verdict([-60, -55, -58, -61, -57], most=-50, neutral=0)
    assert found.ruling is Ruling.HOLDS
    assert -61 <= found.low <= found.value <= found.high <= -55
    assert found.ours.startswith("−58.2 % (−")
    assert found.ours.endswith("; 5 rounds)")


def test_it_does_not_hold_when_none_does_and_cannot_be_told_between() -> None:
    assert verdict([-10, -12, -9, -11, -10], most=-43).ruling is Ruling.FAILS
    assert verdict([-10, -80, -20, -60, -43], most=-43).ruling is Ruling.OPEN


def test_a_size_that_is_missed_may_leave_the_direction() -> None:
    assert verdict([-10, -12, -9, -11, -10], most=-43, neutral=0).words == (
        "does not hold (its direction does)"
    )
    assert verdict([10, 12, 9, 11, 10], most=-43, neutral=0).words == "does not hold"
    assert verdict([1, 2, 3, 2, 1], least=50, neutral=0).words.endswith("(its direction does)")


def test_few_rounds_tell_nothing_unless_chance_has_no_part_in_it() -> None:
    few = verdict([-90] * 4, most=-50)
    assert few.ruling is Ruling.OPEN
    assert few.ours == "−90.0 % (4 rounds, no interval)"
    assert verdict([-90], most=-50, exact=True).ruling is Ruling.HOLDS


def test_what_was_not_measured_cannot_be_told() -> None:
    found = verdict([], most=0)
    assert (found.ruling, found.ours) == (Ruling.OPEN, "not measured")
    nothing = Claim("w", "1", "t", "", Unit.CHANGE, lambda draw: change(draw([1.0] * 5), 0))
    assert next(iter(judge([nothing]))).ours == "not measured"


def test_series_of_equal_length_are_drawn_in_pairs() -> None:
    """Rounds differ by far more than the two techniques of a round: the ratio is certain."""
    base = [10.0, 20.0, 40.0, 80.0, 160.0]
    twice = [2 * each for each in base]
    pairs = Claim("w", "1", "t", "", Unit.TIMES, lambda draw: draw(twice) / draw(base), least=1.99)
    found = next(iter(judge([pairs])))
    assert found.ruling is Ruling.HOLDS
    assert (found.low, found.high) == (pytest.approx(2), pytest.approx(2))


@given(st.lists(st.floats(-1e6, 1e6), min_size=5, max_size=40))
def test_an_interval_stays_within_what_was_measured(values: list[float]) -> None:
    found = verdict(values)
    slack = 1e-6 * max(map(abs, values)) + 1e-9
    assert min(values) - slack <= found.low <= found.high <= max(values) + slack
    assert math.isclose(found.value or 0.0, sum(values) / len(values), abs_tol=slack)


def test_a_draw_of_nothing_is_an_error() -> None:
    with pytest.raises(LookupError):
        Draw()([])


@given(st.floats(1e-6, 1e9))
def test_equal_numbers_differ_by_nothing(value: float) -> None:
    assert change(value, value) == 0
