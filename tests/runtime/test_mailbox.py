"""The box between threads: bounded in items and bytes, and never silent about what it drops."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from itertools import islice
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from network import eventually
from zonal.errors import ClosedError
from zonal.runtime import Folded, Mailbox, Overflow, mailbox, tally
from zonal.runtime.mailbox import DEFAULT_CAPACITY_BYTES


def test_what_is_put_is_taken_in_order() -> None:
    box: Mailbox[int] = Mailbox()
    box.put([1, 2])
    box.put([3])
    assert [box.take(0), *box.take_all()] == [1, 2, 3]
    assert box.take(timeout=0.01) is None
    box.close()
    with pytest.raises(ClosedError):
        box.take()


@given(
    st.lists(st.lists(st.integers(), max_size=7), max_size=20),
    st.integers(min_value=1, max_value=10),
)
def test_the_newest_or_the_oldest_are_kept(batches: list[list[int]], capacity: int) -> None:
    everything = [number for batch in batches for number in batch]
    newest: Mailbox[int] = Mailbox(capacity, Overflow.DROP_OLDEST)
    oldest: Mailbox[int] = Mailbox(capacity, Overflow.DROP_NEWEST)
    for batch in batches:
        newest.put(batch)
        oldest.put(batch)
    assert newest.take_all(0) == everything[-capacity:] if everything else not len(newest)
    assert oldest.take_all(0) == everything[:capacity] if everything else not len(oldest)
    assert newest.overflowed == oldest.overflowed == max(len(everything) - capacity, 0)


def weight_of(size: int) -> int:
    """Items that are their own weights, so that large ones need no memory."""
    return size


@given(
    st.lists(
        st.lists(st.integers(min_value=0, max_value=DEFAULT_CAPACITY_BYTES // 20), max_size=9),
        max_size=60,
    ),
    st.sampled_from([Overflow.DROP_OLDEST, Overflow.DROP_NEWEST]),
    st.integers(min_value=0, max_value=3),
)
def test_bytes_are_bounded_whatever_the_sizes(
    batches: list[list[int]], overflow: Overflow, taken: int
) -> None:
    box: Mailbox[int] = Mailbox(overflow=overflow, weigh=weight_of)
    put = got = 0
    for batch in batches:
        box.put(batch)
        put += len(batch)
        for _ in range(taken):
            got += box.take(0) is not None
        heaviest_unseen = sum(sorted(batch)[:-1])
        assert sum(box._items) <= DEFAULT_CAPACITY_BYTES + heaviest_unseen
    assert len(box) + box.overflowed + got == put


@pytest.mark.parametrize("size", [mailbox.HEAVY - 1, mailbox.HEAVY, 1024 * 1024])
@pytest.mark.parametrize("together", [1, 64, 1000])
def test_bytes_are_bounded_however_they_come(size: int, together: int) -> None:
    box: Mailbox[int] = Mailbox(weigh=weight_of)
    for _ in range(65_000 // together):
        box.put([size] * together)
    assert 0.9 * DEFAULT_CAPACITY_BYTES < len(box) * size <= DEFAULT_CAPACITY_BYTES
    assert box.overflowed == 65_000 // together * together - len(box)
    while len(box):
        box.take(0)
    box.put([size] * 5)
    assert len(box) == 5


def test_light_items_that_wait_are_weighed_when_heavy_ones_come() -> None:
    box: Mailbox[int] = Mailbox(overflow=Overflow.DROP_NEWEST, weigh=weight_of)
    box.put([mailbox.HEAVY - 1] * 4_000)  # some 64 MiB
    for _ in range(1000):
        box.put([1024 * 1024])
    assert len(box) - 4_000 == (DEFAULT_CAPACITY_BYTES - 4_000 * (mailbox.HEAVY - 1)) // 1024**2


def test_what_a_loop_puts_back_is_weighed_again() -> None:
    box: Mailbox[int] = Mailbox(overflow=Overflow.DROP_NEWEST, weigh=weight_of)
    box.put([DEFAULT_CAPACITY_BYTES // 4] * 4)
    for _ in box:
        box.put([1024 * 1024])  # heavy, so that what waits is weighed
        break
    box.put([DEFAULT_CAPACITY_BYTES // 4] * 4)
    assert sum(box.take_all(0)) <= DEFAULT_CAPACITY_BYTES


def test_one_item_may_wait_whatever_it_weighs() -> None:
    for overflow in Overflow:
        box: Mailbox[int] = Mailbox(overflow=overflow, weigh=weight_of)
        box.put([2 * DEFAULT_CAPACITY_BYTES])
        assert len(box) == 1


def test_who_is_held_up_is_told_that_the_reader_is_stuck() -> None:
    stuck = threading.Event()
    box: Mailbox[int] = Mailbox(1, Overflow.BLOCK)
    box.when_stuck = stuck.set
    putting = threading.Thread(target=box.put, args=([1, 2, 3],))
    putting.start()
    assert stuck.wait(10)
    assert [box.take(10) for _ in range(3)] == [1, 2, 3]
    putting.join(10)
    assert not putting.is_alive()


def test_patience_ends_and_begins_anew_when_somebody_takes() -> None:
    box: Mailbox[int] = Mailbox(2, Overflow.BLOCK, patience_s=0.2)
    box.put([1, 2, 3, 4])
    assert box.overflowed == 2
    box.put([5])  # not held up again
    assert box.overflowed == 3
    assert box.take(0) == 1
    box.put([6])
    assert box.take_all(0) == [2, 6]
    assert box.overflowed == 3


def test_a_full_box_can_hold_up_whoever_puts() -> None:
    box: Mailbox[int] = Mailbox(10, Overflow.BLOCK)
    putting = threading.Thread(target=box.put, args=(list(range(100)),))
    putting.start()
    got: list[int] = []
    while len(got) < 100:
        got += box.take_all(timeout=10)
    putting.join(10)
    assert got == list(range(100))
    assert not box.overflowed


def test_an_overflow_is_told_once_and_then_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    box: Mailbox[int] = Mailbox(1, name="subscriber 'city/air'")
    with caplog.at_level(logging.WARNING):
        for number in range(100):
            box.put([number])
    assert len(caplog.records) == 1
    assert "subscriber 'city/air' is read too slowly" in caplog.text


def test_an_overflow_that_goes_on_is_told_again_after_a_minute(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1_000.0
    monkeypatch.setattr(tally, "time", SimpleNamespace(monotonic=lambda: now))
    box: Mailbox[int] = Mailbox(1, name="subscriber 'city/air'")
    told = []
    for seconds in (0, 1, 59, 1, 1, 58, 1, 600):
        now += seconds
        box.put([0, 1])
        told.append(len(caplog.records))
    assert told == [1, 1, 2, 2, 2, 3, 3, 4]
    dropped = [record.message.rpartition(": ")[2] for record in caplog.records]
    assert dropped == [f"{many} messages were dropped so far" for many in (1, 5, 11, 15)]


def test_a_loop_that_ends_early_loses_nothing() -> None:
    box: Mailbox[int] = Mailbox()
    box.put(list(range(10)))
    for number in box:
        if number == 3:
            break
    assert box.take_all(0) == list(range(4, 10))
    assert box.taken == 10


def test_a_waiting_loop_is_woken() -> None:
    box: Mailbox[int] = Mailbox()
    got: list[int] = []
    loop = threading.Thread(target=lambda: got.extend(box))
    loop.start()
    box.put([1])
    eventually(lambda: got == [1])
    box.close()
    loop.join(10)
    assert not loop.is_alive()


class Doubled(Folded[int]):
    """Twice each of these numbers, made when they are read."""

    def __init__(self, halves: list[int]) -> None:
        self.halves = halves

    def __len__(self) -> int:
        return len(self.halves)

    def __iter__(self) -> Iterator[int]:
        return (2 * each for each in self.halves)

    def __getitem__(self, at: Any) -> Any:
        return list(self)[at]

    @property
    def weight(self) -> int:
        return 0


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["put", "fold", "take", "take all", "take some", "iterate"]),
            st.integers(1, 9),
        ),
        max_size=30,
    ),
    st.sampled_from([Overflow.DROP_OLDEST, Overflow.DROP_NEWEST]),
)
def test_what_is_folded_is_taken_like_everything_else(
    steps: list[tuple[str, int]], overflow: Overflow
) -> None:
    folding: Mailbox[int] = Mailbox(20, overflow)
    plain: Mailbox[int] = Mailbox(20, overflow)
    for step, number in steps:
        match step:
            case "put" | "fold":
                halves = list(range(number))
                folding.put(Doubled(halves) if step == "fold" else [2 * each for each in halves])
                plain.put([2 * each for each in halves])
            case "take":
                assert folding.take(0) == plain.take(0)
            case "take all":
                assert folding.take_all(0) == plain.take_all(0)
            case "take some":
                some = list(folding.take_batch(0))
                assert some == [plain.take(0) for _ in some]
                assert some or not len(plain)
            case _ if len(plain):
                few = min(number, len(plain))  # then the loop is left
                assert list(islice(folding, few)) == list(islice(plain, few))
        assert len(folding) == len(plain)
        assert (folding.taken, folding.overflowed) == (plain.taken, plain.overflowed)


def test_what_is_folded_is_made_when_it_is_read() -> None:
    box: Mailbox[int] = Mailbox()
    waiting = Doubled([1, 2, 3])
    box.put(waiting)
    waiting.halves = [4, 5]
    assert list(islice(box, 2)) == [8, 10]


def test_what_was_folded_together_is_taken_together() -> None:
    box: Mailbox[int] = Mailbox()
    first, second = Doubled([1, 2]), Doubled([3])
    box.put([0])
    box.put(first)
    box.put(second)
    assert box.take_batch(0) == [0]
    assert box.take_batch(0) is first
    assert (len(box), box.taken) == (1, 3)
    box.close()
    assert box.take_batch(0) is second
    with pytest.raises(ClosedError):
        box.take_batch(0)


def test_a_loop_that_is_left_leaves_the_rest_of_what_was_folded() -> None:
    box: Mailbox[int] = Mailbox()
    box.put(Doubled([1, 2, 3]))
    assert list(islice(box, 1)) == [2]
    assert box.take_all(0) == [4, 6]
