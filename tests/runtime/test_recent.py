from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zonal.runtime import Recent


@given(st.lists(st.integers(0, 9)), st.integers(1, 5))
def test_the_last_keys_are_known_and_no_others(keys: list[int], size: int) -> None:
    recent: Recent[int] = Recent(size)
    known: list[int] = []
    for key in keys:
        assert recent.check(key) == (key in known)
        known = (known if key in known else [*known, key])[-size:]
        assert all(one in recent for one in known)
        assert len(recent) == len(known)


@given(st.lists(st.lists(st.integers(0, 30), max_size=12)), st.integers(1, 9))
def test_many_keys_at_once_are_those_one_by_one(batches: list[list[int]], size: int) -> None:
    together: Recent[int] = Recent(size)
    apart: Recent[int] = Recent(size)
    for keys in batches:
        assert together.check_all(keys) == [apart.check(key) for key in keys]
        assert [key in together for key in range(31)] == [key in apart for key in range(31)]


def test_a_full_memory_is_as_quick_as_one_that_fills() -> None:
    recent: Recent[int] = Recent(20_000)

    def took(first: int) -> float:
        start = time.process_time()
        for key in range(first, first + 20_000):
            recent.check(key)
        return time.process_time() - start

    filling = took(0)
    full = min(took(20_000 * turn) for turn in range(1, 4))
    assert full < 8 * filling  # searching the oldest behind all that were forgotten: 35 times


def test_a_memory_for_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one key"):
        Recent(0)
