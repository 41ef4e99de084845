from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from property_examples import examples
from zonal.pipeline.recorded_numbers import RecordedNumbers

numbers = st.lists(st.integers(0, 40), max_size=60)


def known(memory: RecordedNumbers) -> list[int]:
    pairs = memory.to_dict().get("s", [])
    return [number for low, high in pairs for number in range(low, high + 1)]


@examples(200)
@given(numbers)
def test_a_number_is_new_exactly_once_in_any_order(sequence: list[int]) -> None:
    seen, model = RecordedNumbers(), set[int]()
    for number in sequence:
        assert seen.add("s", number) == (number not in model)
        model.add(number)
    assert known(seen) == sorted(model)
    pairs = seen.to_dict().get("s", [])
    assert all(a[1] + 1 < b[0] for a, b in itertools.pairwise(pairs))


@examples(100)
@given(numbers, numbers)
def test_merging_two_memories_knows_what_either_knew(one: list[int], other: list[int]) -> None:
    left, right = RecordedNumbers(), RecordedNumbers()
    for number in one:
        left.add("s", number)
    for number in other:
        right.add("s", number)
    left.merge(right.to_dict())
    assert known(left) == sorted({*one, *other})


@examples(200)
@given(numbers, numbers)
def test_two_memories_meet_where_they_share_a_number(one: list[int], other: list[int]) -> None:
    left, right = RecordedNumbers(), RecordedNumbers()
    for number in one:
        left.add("s", number)
    for number in other:
        right.add("s", number)
    assert left.meets(right) == right.meets(left) == bool({*one} & {*other})


def test_sources_do_not_know_of_one_another() -> None:
    seen = RecordedNumbers()
    assert seen.add("a", 1)
    assert seen.add("b", 1)
    assert not seen.add("a", 1)


def test_who_claims_ever_new_sources_takes_no_memory_without_bound() -> None:
    seen = RecordedNumbers(most=100)
    for number in range(5_000):
        seen.add(f"stranger {number}", 1)
        assert seen.add("honest", number)
        assert not seen.add("honest", 0)
    assert len(seen.to_dict()) <= 200
