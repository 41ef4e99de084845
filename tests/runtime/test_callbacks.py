"""Callbacks: each one's calls in order and one at a time, and none in the way of another."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from network import eventually
from zonal.runtime import Arrivals, Callback, CallbackThreads, Mailbox, Overflow

Make = Callable[[Callable[[Any], Any]], Callback[Any]]


@pytest.fixture
def make() -> Iterator[Make]:
    arrivals, threads = Arrivals("test"), CallbackThreads("test")
    yield lambda function: Callback("a test", function, Mailbox(), threads, arrivals)
    arrivals.close()
    threads.close()
    eventually(lambda: not [t for t in threading.enumerate() if t.name.startswith("test-")])


def test_calls_are_in_order(make: Make) -> None:
    heard: list[int] = []
    callback = make(heard.append)
    for start in range(0, 1000, 10):
        callback.offer(range(start, start + 10))
    eventually(lambda: heard == list(range(1000)))


def test_more_at_once_than_may_wait_is_called_for_nevertheless() -> None:
    """Whoever brings it waits for room, which only the calls make."""
    heard: list[int] = []
    threads = CallbackThreads("test")
    box: Mailbox[int] = Mailbox(2, Overflow.BLOCK)
    callback = Callback("a test", heard.append, box, threads)
    bringing = threading.Thread(target=callback.offer, args=(range(7),), daemon=True)
    bringing.start()
    eventually(lambda: heard == list(range(7)))
    bringing.join(10)
    assert not bringing.is_alive()
    threads.close()


def test_a_callback_that_raises_is_called_again(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[int] = []

    def take(number: int) -> None:
        heard.append(number)
        if number % 2:
            raise ValueError("odd")

    callback = make(take)
    with caplog.at_level(logging.ERROR):
        callback.offer(range(10))
        eventually(lambda: heard == list(range(10)))
        eventually(lambda: callback.errors == 5)
    assert "the callback of a test failed" in caplog.text


def test_slow_callbacks_do_not_wait_for_each_other(make: Make) -> None:
    let_go, running = threading.Event(), list[int]()

    def take(number: int) -> None:
        running.append(number)
        assert let_go.wait(20)

    callbacks = [make(take) for _ in range(20)]
    for number, callback in enumerate(callbacks):
        callback.offer((number,))
    eventually(lambda: len(running) == 20)
    let_go.set()
    for callback in callbacks:
        callback.end()


def test_threads_end_when_there_is_nothing_to_call(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zonal.runtime.callbacks._IDLE_S", 0.05)
    heard: list[int] = []
    callback = make(heard.append)
    callback.offer((1,))
    eventually(lambda: heard == [1])
    eventually(lambda: not [t for t in threading.enumerate() if t.name == "test-callback"])
    callback.offer((2,))
    eventually(lambda: heard == [1, 2])


def test_one_that_comes_alone_is_called_at_once_unless_calls_are_slow(make: Make) -> None:
    names: list[str] = []
    callback = make(lambda _: names.append(threading.current_thread().name))
    assert callback.call_at_once((1,))
    assert names == [threading.current_thread().name]
    assert callback.called_at_once == 1


@pytest.mark.parametrize(
    ("seconds", "at_once"), [([0.015, 0.0, 0.0], 3), ([0.015, 0.015, 0.0], 2), ([0.1, 0.0, 0.0], 1)]
)
def test_a_callback_is_slow_if_it_is_so_twice_or_for_long(
    make: Make, monkeypatch: pytest.MonkeyPatch, seconds: list[float], at_once: int
) -> None:
    clock, heard = [100.0], list[int]()
    monkeypatch.setattr("zonal.runtime.callbacks.time", SimpleNamespace(monotonic=lambda: clock[0]))

    def take(number: int) -> None:
        clock[0] += seconds[number // 2] / 2
        heard.append(number)

    callback = make(take)
    for number in (0, 2, 4):
        items = (number, number + 1)
        if not callback.call_at_once(items):
            callback.offer(items)
    eventually(lambda: heard == list(range(6)))
    assert callback.called_at_once == 2 * at_once


def test_ending_waits_for_the_call_unless_it_is_asked_from_within(make: Make) -> None:
    over = threading.Event()

    def take(_: int) -> None:
        callback.end()
        over.set()

    callback = make(take)
    callback.offer((1,))
    assert over.wait(10)
    callback.end()


class SlowQueue(queue.SimpleQueue[Any]):
    """Whoever got something from it is held up by the machine."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.given = threading.Event()

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        item = super().get(block, timeout)
        self.given.set()
        self.go_on.wait(10)
        return item


def test_a_thread_that_has_just_got_something_to_do_is_counted_on_by_nobody_else() -> None:
    threads, slow = CallbackThreads("test"), SlowQueue()
    threads._ready = slow
    done, first, over = threading.Event(), threading.Event(), threading.Event()
    slow.go_on.set()
    threads.run(first.set)
    assert first.wait(10)
    eventually(lambda: threads._idle == 1)
    slow.go_on.clear()
    slow.given.clear()
    threads.run(lambda: (done.wait(5), over.set()))
    assert slow.given.wait(10)
    threads.run(done.set)
    assert done.wait(4), "it waits for the one that waits for it"
    slow.go_on.set()
    assert over.wait(10)
    threads.close()


def test_what_raises_ends_no_thread_for_callbacks(caplog: pytest.LogCaptureFixture) -> None:
    threads, on = CallbackThreads("test"), list[int]()

    def fail() -> None:
        on.append(threading.get_ident())
        raise ValueError("of no use")

    for count in (1, 2):
        threads.run(fail)
        eventually(lambda count=count: caplog.text.count("of no use") == 2 * count)
        eventually(lambda: threads._idle == 1)
    assert on[0] == on[1]
    threads.close()
