"""Chores: begun in the order of their times, none in the way of another, and an end to all."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from network import eventually
from property_examples import examples
from zonal.runtime import CallbackThreads, Chore, Chores


def our_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("test-")]


@pytest.fixture
def chores() -> Iterator[Chores]:
    threads = CallbackThreads("test")
    chores = Chores("test", threads)
    yield chores
    chores.close()
    threads.close()
    eventually(lambda: not our_threads())


@examples(200)
@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(1, 6), st.booleans())))
def test_they_are_begun_in_the_order_of_their_times(said: list[tuple[str, int, bool]]) -> None:
    """What each was told last counts, or the sooner of two; a model says the same."""
    begun: list[str] = []
    now = [0.0]
    one_by_one = CallbackThreads("test")
    one_by_one.run = lambda work: work()  # type: ignore[assignment,return-value,method-assign]
    chores = Chores("test", one_by_one, clock=lambda: now[0])
    all_of_them = {name: chores.new(name, lambda name=name: begun.append(name)) for name in "abcd"}
    due: dict[str, int] = {}
    for name, seconds, or_sooner in said:
        chore = all_of_them[name]
        (chore.due_within if or_sooner else chore.due_in)(seconds)
        due[name] = min(seconds, due.get(name, seconds)) if or_sooner else seconds
    over = threading.Event()
    now[0] = 10.0
    chores.new("last", over.set).due_in(0)
    assert over.wait(10)
    chores.close()
    assert [due[name] for name in begun] == sorted(due.values())
    assert set(begun) == set(due)


def test_one_is_done_as_often_as_it_says(chores: Chores) -> None:
    rests: list[float | None] = [0.0, 0.02, 0.0, None]
    times: list[float] = []

    def work() -> float | None:
        times.append(time.monotonic())
        return rests[len(times) - 1]

    chore = chores.new("work", work)
    chore.due_in(0)
    eventually(lambda: len(times) == 4)
    assert times[2] - times[1] >= 0.02
    eventually(
        lambda: "test-chores" not in our_threads(), what="none is due, so none is waited for"
    )
    rests += [None]
    chore.due_in(0)
    eventually(lambda: len(times) == 5)


def test_what_is_due_earlier_wakes_the_thread(chores: Chores) -> None:
    done = threading.Event()
    chores.new("later", lambda: None).due_in(1000)
    chores.new("soon", done.set).due_in(0.01)
    assert done.wait(10)


def test_one_that_is_put_off_is_not_done_before(chores: Chores) -> None:
    done: list[float] = []
    chore = chores.new("work", lambda: done.append(time.monotonic()))
    chore.due_in(0.01)
    chore.due_in(0.1)
    said = time.monotonic()
    chore.due_within(1000)
    eventually(lambda: done)
    assert done[0] - said >= 0.09


def test_one_that_raises_is_logged_and_goes_on(
    chores: Chores, caplog: pytest.LogCaptureFixture
) -> None:
    tried: list[int] = []

    def work() -> float:
        tried.append(1)
        raise ValueError("not today")

    chores.new("the laundry", work).due_in(0.01)
    with caplog.at_level(logging.ERROR):
        eventually(lambda: len(tried) >= 3)
    assert "the laundry failed" in caplog.text
    assert "not today" in caplog.text


def test_one_that_takes_long_holds_up_no_other_and_is_not_begun_twice(chores: Chores) -> None:
    let_go, begun, others = threading.Event(), list[int](), list[int]()

    def take_long() -> None:
        begun.append(1)
        let_go.wait(20)

    long = chores.new("long", take_long)
    long.due_in(0)
    eventually(lambda: begun)
    long.due_in(0)
    chores.new("other", lambda: others.append(1) or 0.001).due_in(0)  # type: ignore[func-returns-value]
    eventually(lambda: len(others) > 20)
    assert len(begun) == 1
    let_go.set()
    eventually(lambda: len(begun) == 2, what="it was said to be due once more")


def test_whoever_ends_one_waits_until_it_is_done(chores: Chores) -> None:
    let_go, begun, done = threading.Event(), threading.Event(), list[int]()

    def take_long() -> float:
        begun.set()
        let_go.wait(20)
        done.append(1)
        return 0.0

    chore = chores.new("long", take_long)
    chore.due_in(0)
    assert begun.wait(10)
    ended: list[int] = []
    ending = threading.Thread(target=lambda: (chore.end(), ended.extend(done)))
    ending.start()
    eventually(lambda: chore.is_ended)
    let_go.set()
    ending.join(10)
    assert ended == [1]
    chore.due_in(0)
    chores.close()
    assert done == [1]


@pytest.mark.parametrize("what", ["chore", "all"])
def test_one_may_end_itself_and_all_others(chores: Chores, what: str) -> None:
    ended, told = threading.Event(), list[Chore]()

    def end() -> float:
        told[0].end() if what == "chore" else chores.close()
        ended.set()
        return 0.0

    told.append(chores.new("end", end))
    told[0].due_in(0)
    assert ended.wait(10), "it waits for itself"
    eventually(lambda: "test-chores" not in our_threads())


def test_closing_waits_for_what_is_being_done_and_begins_nothing(chores: Chores) -> None:
    let_go, begun, done = threading.Event(), threading.Event(), list[str]()

    def take_long() -> None:
        begun.set()
        let_go.wait(20)
        done.append("long")

    long, other = chores.new("long", take_long), chores.new("other", lambda: done.append("other"))
    long.due_in(0)
    other.due_in(1000)
    assert begun.wait(10)
    closing = threading.Thread(target=chores.close)
    closing.start()
    eventually(lambda: "test-chores" not in our_threads())
    other.due_in(0)
    assert closing.is_alive()
    let_go.set()
    closing.join(10)
    assert done == ["long"]
    chores.close()


def test_one_that_no_thread_is_there_for_is_put_off(
    chores: Chores, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    done = threading.Event()

    def run(_: object) -> None:
        monkeypatch.undo()
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(chores._threads, "run", run)
    chores.new("the laundry", done.set).due_in(0.01)
    assert done.wait(10)
    assert "the laundry is put off" in caplog.text
