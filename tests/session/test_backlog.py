"""A memory is asked for in bounded parts, and all it holds is asked for."""

from __future__ import annotations

import re
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from property_examples import examples
from zonal.session.backlog import Answer, NumberedBacklog, Part, StampedBacklog
from zonal.session.desk import Desk

NUMBERS = 1 << 32


class NumberedCache:
    """Answers as Zenoh's advanced publisher does; older ones compare numbers as they are."""

    def __init__(self, sent: int, holds: int, *, begins: int = 0, wraps: bool = True) -> None:
        first = max(sent - holds, 0)
        self.held = deque((begins + place) % NUMBERS for place in range(first, sent))
        self._wraps = wraps

    def answers(self, part: Part) -> list[int]:
        first, last = map(int, re.fullmatch(r"_sn=(\d+)\.\.(\d+)", part.wanted).groups())  # type: ignore[union-attr]
        if not self._wraps:
            return [number for number in self.held if first <= number <= last]
        length = (last - first) % NUMBERS
        return [number for number in self.held if (number - first) % NUMBERS <= length]


def read(backlog: NumberedBacklog, cache: NumberedCache, sizes: list[int]) -> list[int]:
    """All that the cache hands on, while so many messages at most are asked for, in turn."""
    heard: list[int] = []
    for turn in range(800):
        at_most = sizes[turn % len(sizes)]
        part = backlog.part(at_most)
        if part is None:
            return heard
        assert backlog.part(at_most) == part, "asked again, if no answer came"
        answer = cache.answers(part)
        assert len(answer) <= part.messages <= at_most
        backlog.answered(Answer(len(answer)))
        heard += answer if part.hands_on else []
    raise AssertionError("it does not come to an end")


SIZES = st.lists(st.integers(1, 100), min_size=1, max_size=5)


@examples(400)
@given(sent=st.integers(1, 500), holds=st.integers(1, 500), sizes=SIZES, wraps=st.booleans())
def test_all_that_is_held_is_read_once_and_in_order(
    sent: int, holds: int, sizes: list[int], wraps: bool
) -> None:
    cache = NumberedCache(sent, holds, wraps=wraps)
    assert read(NumberedBacklog(sent - 1), cache, sizes) == list(cache.held)


@examples(200)
@given(
    before=st.integers(1, 300), after=st.integers(101, 300), holds=st.integers(1, 500),
    sizes=SIZES,
)  # fmt: skip
def test_numbers_that_began_anew_are_read_across(
    before: int, after: int, holds: int, sizes: list[int]
) -> None:
    cache = NumberedCache(before + after, holds, begins=NUMBERS - before)
    assert read(NumberedBacklog(after - 1), cache, sizes) == list(cache.held)


@examples(200)
@given(
    sent=st.integers(1, 500), holds=st.integers(1, 500), messages=st.integers(1, 500),
    sizes=SIZES,
)  # fmt: skip
def test_of_so_many_messages_the_newest_are_read(
    sent: int, holds: int, messages: int, sizes: list[int]
) -> None:
    cache = NumberedCache(sent, holds)
    heard = read(NumberedBacklog(sent - 1, messages), cache, sizes)
    assert heard == list(cache.held)[-messages:]


def test_little_is_asked_of_one_who_forgot_nearly_all() -> None:
    cache = NumberedCache(2_000_000, 1000)
    backlog, parts = NumberedBacklog(1_999_999), 0
    while (part := backlog.part(256)) is not None:
        backlog.answered(Answer(len(cache.answers(part))))
        parts += 1
    assert parts < 25


def test_what_is_forgotten_while_it_waits_for_its_turn_is_left_out() -> None:
    cache = NumberedCache(10_000, 10_000)
    backlog, heard = NumberedBacklog(9_999), list[int]()
    while (part := backlog.part(100)) is not None:
        answer = cache.answers(part)
        backlog.answered(Answer(len(answer)))
        heard += answer if part.hands_on else []
        if len(heard) == 1000:
            while cache.held and cache.held[0] < 7_050:
                cache.held.popleft()
    assert heard == [*range(1000), *range(7_050, 10_000)]


def test_of_one_who_forgot_everything_no_part_is_asked_for_again() -> None:
    backlog, parts = NumberedBacklog(1_000_000), 0
    while backlog.part(100) is not None:
        backlog.answered(Answer(0))
        parts += 1
    assert parts < 25


@examples(200)
@given(
    steps=st.lists(st.integers(0, 1), max_size=400).filter(lambda steps: steps.count(0) < 40),
    messages=st.none() | st.integers(1, 500),
    at_most=st.integers(50, 200),
)
def test_without_numbers_all_is_read_by_time_the_newest_first(
    steps: list[int], messages: int | None, at_most: int
) -> None:
    """Some time stamps are the same, to the nanosecond."""
    stamps = [f"{sum(steps[: n + 1]):09d}" for n in range(len(steps))]
    backlog, heard = StampedBacklog(messages), set[int]()
    for _ in range(1000):
        part = backlog.part(at_most)
        if part is None:
            break
        assert part.wanted == f"_max={part.messages}"
        assert part.messages <= at_most + 1
        held = [n for n, stamp in enumerate(stamps) if not part.until or stamp <= part.until]
        answer = held[-part.messages :]
        heard |= set(answer)
        backlog.answered(Answer(len(answer), stamps[answer[0]] if answer else ""))
    else:
        raise AssertionError("it does not come to an end")
    if messages is None:
        assert heard == set(range(len(stamps)))
    elif len(set(stamps)) == len(stamps):
        assert heard == set(range(len(stamps))[-messages:])
    else:
        assert heard == set(range(len(stamps))[-len(heard) :])


def part_of(messages: int) -> Part:
    return Part(f"_max={messages}", messages)


def test_what_is_under_way_of_a_session_is_bounded_however_many_wait() -> None:
    desk = Desk[int]()
    for one in range(50):
        desk.wait(one)
    due = desk.due(lambda _: part_of(desk.at_most // 4))
    assert [one for one, _ in due] == [0, 1, 2, 3]
    assert not desk.due(lambda _: part_of(desk.at_most // 4))
    desk.done(due[0][1], Answer(1, seconds=0.3))
    assert [one for one, _ in desk.due(lambda _: part_of(desk.at_most // 4))] == [4]
    assert not desk.is_idle


@pytest.mark.parametrize(("seconds", "factor"), [(0.01, 2), (0.3, 1), (1.0, 0.5)])
def test_so_much_is_asked_for_as_is_answered_in_time(seconds: float, factor: float) -> None:
    desk = Desk[int]()
    for _ in range(2):
        before = desk.at_most
        desk.wait(0)
        ((_, part),) = desk.due(lambda _: part_of(desk.at_most))
        desk.done(part, Answer(part.messages, seconds=seconds))
        assert desk.at_most == before * factor
    for _ in range(20):
        desk.wait(0)
        ((_, part),) = desk.due(lambda _: part_of(desk.at_most))
        desk.done(part, None if seconds > 0.9 else Answer(part.messages, seconds=seconds))
        assert 1 <= desk.at_most <= 4096
    assert desk.is_idle
