"""It gives what comes, in order: to who waits, who iterates, or a callback."""

from __future__ import annotations

import threading
import time

import pytest

from network import eventually
from zonal.errors import ClosedError
from zonal.runtime import CallbackThreads, Incoming, Mailbox


class Numbers(Incoming[int]):
    """Texts in the mailbox, numbers for the user; others are left out."""

    def __init__(self) -> None:
        super().__init__(Mailbox(), lambda text: int(text) if text.isdigit() else None)

    def say(self, *texts: str) -> None:
        self._bring(texts)

    def call(self, function: object, threads: CallbackThreads) -> None:
        self._call_back("numbers", function, threads)  # type: ignore[arg-type]

    def close(self) -> None:
        self._end()


def test_what_cannot_be_read_is_left_out() -> None:
    numbers = Numbers()
    numbers.say("1", "x", "2")
    assert numbers.recv() == 1
    assert numbers.try_recv() == 2
    assert numbers.try_recv() is None
    numbers.say("y")
    start = time.monotonic()
    assert numbers.recv(timeout=0.05) is None
    assert time.monotonic() - start < 5
    numbers.say("3", "z", "4")
    numbers.close()
    assert list(numbers) == [3, 4]
    with pytest.raises(ClosedError):
        numbers.recv()


def test_who_leaves_a_loop_early_leaves_the_rest_there() -> None:
    numbers = Numbers()
    numbers.say("1", "2", "3")
    for number in numbers:
        assert number == 1
        break
    assert numbers.recv() == 2
    assert numbers.recv() == 3


async def test_it_can_be_awaited() -> None:
    numbers = Numbers()
    numbers.say("1", "x")
    threading.Timer(0.05, lambda: (numbers.say("2"), numbers.close())).start()
    assert [number async for number in numbers] == [1, 2]


def test_a_callback_misses_nothing_while_it_is_given() -> None:
    for _ in range(50):
        numbers, heard, threads = Numbers(), list[int](), CallbackThreads("test")
        brought = threading.Thread(target=lambda n=numbers: [n.say(str(k)) for k in range(100)])
        brought.start()
        numbers.call(heard.append, threads)
        brought.join()
        eventually(lambda heard=heard: len(heard) == 100)
        assert heard == list(range(100))
        numbers.close()
        threads.close()


def test_errors_of_the_callback_are_counted() -> None:
    numbers, heard, threads = Numbers(), list[int](), CallbackThreads("test")

    def fragile(number: int) -> None:
        heard.append(number)
        raise RuntimeError("the user's own")

    assert numbers.callback_errors == 0
    numbers.say("1", "x", "2")
    numbers.call(fragile, threads)
    numbers.say("3")
    numbers.close()
    assert heard == [1, 2, 3]
    assert numbers.callback_errors == 3
    threads.close()
