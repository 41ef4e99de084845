"""Numbered messages come out in order and once, whatever is lost, doubled or late."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from zonal.session.sequence import Sequence

WRAP = 1 << 32
starts = st.sampled_from([0, 7, WRAP - 3, WRAP - 1]) | st.integers(0, WRAP - 1)
arrivals = st.lists(st.integers(0, 40), max_size=120)


@given(starts, arrivals)
def test_what_comes_out_is_what_is_complete_from_the_start(start: int, arrived: list[int]) -> None:
    sequence: Sequence[int] = Sequence(start)
    out: list[int] = []
    seen: set[int] = set()
    for each in arrived:
        out += sequence.hear((start + each) % WRAP, each)
        seen.add(each)
        complete = next(number for number in range(42) if number not in seen)
        assert out == list(range(complete))
        assert sequence.held == len(seen) - complete
        gaps = [number for number in range(max(seen)) if number not in seen]
        assert sequence.missing(1000) == [(start + number) % WRAP for number in gaps]
        assert sequence.missing(3) == sequence.missing(1000)[:3]
        assert sequence.has_gap == bool(gaps)
        assert all(sequence.lacks((start + number) % WRAP) for number in gaps)
        assert not any(sequence.lacks((start + number) % WRAP) for number in seen)


@given(starts, st.lists(st.tuples(st.integers(0, 40), st.integers(1, 5)), max_size=40))
def test_the_next_ones_heard_at_once_are_those_heard_one_by_one(
    start: int, runs: list[tuple[int, int]]
) -> None:
    together: Sequence[int] = Sequence(start)
    apart: Sequence[int] = Sequence(start)
    for first, count in runs:
        run = range(first, first + count)
        numbers = [(start + each) % WRAP for each in run]
        expected = [
            out for each, at in zip(run, numbers, strict=True) for out in apart.hear(at, each)
        ]
        if together.hear_next(numbers[0], count):
            assert expected == list(run)
        else:
            heard = zip(run, numbers, strict=True)
            assert expected == [out for each, at in heard for out in together.hear(at, each)]
        assert vars(together) == vars(apart)


@given(starts, st.sets(st.integers(0, 30), min_size=1), st.integers(0, 35))
def test_a_heartbeat_tells_what_is_missing_at_the_end(
    start: int, heard: set[int], last: int
) -> None:
    sequence: Sequence[int] = Sequence(start)
    for each in heard:
        sequence.hear((start + each) % WRAP, each)
    sequence.tell((start + last) % WRAP)
    end = max(last, *heard, 0)
    missing = [number for number in range(end + 1) if number not in heard]
    assert sequence.missing(1000) == [(start + number) % WRAP for number in missing]
    behind = [(start + number) % WRAP for number in missing if number > max(heard)]
    assert [n for n in sequence.missing(1000) if sequence.is_behind(n)] == behind


@given(starts, st.sets(st.integers(0, 30)), st.integers(1, 5), st.integers(0, 35))
def test_giving_up_skips_the_first_missing_ones_and_nothing_else(
    start: int, heard: set[int], most: int, last: int
) -> None:
    sequence: Sequence[int] = Sequence(start)
    out = [each for number in heard for each in sequence.hear((start + number) % WRAP, number)]
    sequence.tell((start + last) % WRAP)
    given_up = 0
    while sequence.has_gap:
        before = sequence.missing(1000)
        first, length = sequence.first_gap()
        assert [(first + n) % WRAP for n in range(length)] == before[:length]
        count = min(most, length)
        out += sequence.give_up(count)
        assert sequence.missing(1000) == before[count:]
        given_up += count
    assert sequence.first_gap()[1] == 0
    assert out == sorted(heard)
    assert given_up == len(set(range(max(last, *heard, 0) + 1)) - heard)
    # What was given up and comes after all is late, not lost; once.
    assert sequence.hear(start, -1) == ([] if 0 in heard else [-1])
    assert sequence.hear(start, -1) == []
