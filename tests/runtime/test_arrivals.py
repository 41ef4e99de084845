"""The way from foreign threads to ours: in order, bounded, and nobody can stop it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from network import eventually
from zonal.runtime import Arrivals
from zonal.runtime.arrivals import CAPACITY_BYTES


@pytest.fixture
def arrivals() -> Iterator[Arrivals]:
    made = Arrivals("test", 1000, weight_of=lambda item: len(getattr(item, "payload", ())))
    yield made
    made.close()
    # A reader that was replaced ends when the call that kept it does.
    eventually(lambda: not [t for t in threading.enumerate() if t.name.startswith("test-")])


def test_items_reach_their_receivers_in_order(arrivals: Arrivals) -> None:
    heard: dict[str, list[int]] = {"a": [], "b": []}
    doors = {name: arrivals.door(items.extend) for name, items in heard.items()}
    for number in range(5000):
        doors["ab"[number % 2]](number)
    eventually(lambda: len(heard["a"]) + len(heard["b"]) == 5000)
    assert heard["a"] == list(range(0, 5000, 2))
    assert heard["b"] == list(range(1, 5000, 2))


def test_any_number_of_doors_is_served_by_one_thread(arrivals: Arrivals) -> None:
    heard: list[int] = []
    doors = [arrivals.door(heard.extend) for _ in range(500)]
    for number, door in enumerate(doors):
        door(number)
    eventually(lambda: sorted(heard) == list(range(500)))
    assert len([t for t in threading.enumerate() if t.name.startswith("test-")]) == 1


def test_a_receiver_that_raises_loses_its_own_items_only(arrivals: Arrivals) -> None:
    def fail(_: list[Any]) -> None:
        raise RuntimeError("on purpose")

    heard: list[int] = []
    bad, good = arrivals.door(fail), arrivals.door(heard.extend)
    for number in range(100):
        bad(number)
        good(number)
    eventually(lambda: heard == list(range(100)))


def test_whoever_brings_too_much_is_held_up_until_there_is_room(arrivals: Arrivals) -> None:
    let_go, heard = threading.Event(), list[int]()

    def slow(items: list[int]) -> None:
        assert let_go.wait(20)
        heard.extend(items)

    door = arrivals.door(slow)
    bringing = threading.Thread(target=lambda: [door(number) for number in range(5000)])
    bringing.start()
    eventually(lambda: arrivals.held_up)
    assert bringing.is_alive()
    let_go.set()
    bringing.join(20)
    eventually(lambda: heard == list(range(5000)))


class Heavy:
    """An item with a payload of a size, which is all that is asked for."""

    def __init__(self, size: int) -> None:
        self.payload = memoryview(bytes(1)).cast("B") if size == 1 else range(size)


def test_what_waits_is_bounded_in_bytes_as_well(arrivals: Arrivals) -> None:
    let_go, heard = threading.Event(), list[Heavy]()

    def slow(items: list[Heavy]) -> None:
        assert let_go.wait(20)
        heard.extend(items)

    door = arrivals.door(slow)
    many = [Heavy(1024 * 1024) for _ in range(900)]  # fewer than may wait, but too heavy
    bringing = threading.Thread(target=lambda: [door(item) for item in many])
    bringing.start()
    eventually(lambda: arrivals.held_up)
    assert bringing.is_alive()
    let_go.set()
    bringing.join(20)
    eventually(lambda: len(heard) == 900)


@pytest.mark.parametrize("size", [100_000, 1024 * 1024, 64 * 1024 * 1024])
def test_heavy_items_are_noticed_long_before_many_wait(arrivals: Arrivals, size: int) -> None:
    let_go, brought = threading.Event(), list[int]()
    door = arrivals.door(lambda _: let_go.wait(20))

    def bring() -> None:
        for number in range(900):
            door(Heavy(size))
            brought.append(number)

    bringing = threading.Thread(target=bring)
    bringing.start()
    eventually(lambda: arrivals.held_up)
    # As much again may be in the reader's hands; looked at are the 17th and the 33rd.
    assert len(brought) * size <= 2 * CAPACITY_BYTES + 34 * size
    let_go.set()
    bringing.join(20)
    assert len(brought) == 900


def test_lanes_are_left_when_a_receiver_asks_for_it(arrivals: Arrivals) -> None:
    left, asked = list[str](), threading.Event()

    def stuck(_: list[Any]) -> None:
        arrivals.leave_lanes()
        asked.set()

    door = arrivals.door(stuck)
    for name in ("a", "b"):
        arrivals.lanes(stuck).add(lane_of([], ends=False), lambda name=name: left.append(name))
    door(1)
    assert asked.wait(10)
    assert left == ["a", "b"]


def test_user_code_that_keeps_the_reader_is_left_to_itself(arrivals: Arrivals) -> None:
    """Another thread reads on; the first one ends with the call."""
    let_go, heard, stuck = threading.Event(), list[int](), threading.Event()

    def user_code(_: list[int]) -> None:
        stuck.set()
        assert let_go.wait(20)

    def call(batch: list[int]) -> None:
        arrivals.call(user_code, batch)

    slow, quick = arrivals.door(call), arrivals.door(heard.extend)
    slow(0)
    assert stuck.wait(10)
    for number in range(10):
        quick(number)
    eventually(lambda: heard == list(range(10)))
    let_go.set()
    eventually(lambda: sum(t.name == "test-reader" for t in threading.enumerate()) == 1)
    quick(10)
    eventually(lambda: heard[-1] == 10)


def test_a_reader_that_took_over_is_replaced_as_well(arrivals: Arrivals) -> None:
    """Though the call that the first one was kept by ends meanwhile."""
    begun, let_go = ([threading.Event(), threading.Event()] for _ in range(2))
    heard = list[int]()

    def user_code(batch: list[int]) -> None:
        if batch == [1]:
            let_go[0].set()
        begun[batch[0]].set()
        assert let_go[batch[0]].wait(120)

    def call(batch: list[int]) -> None:
        arrivals.call(user_code, batch)

    slow, quick = arrivals.door(call), arrivals.door(heard.extend)
    for number in (0, 1):
        slow(number)
        assert begun[number].wait(10)
        quick(number)
        eventually(lambda number=number: heard == list(range(number + 1)))
    let_go[1].set()


# Lanes


def lane_of(items: list[int], *, ends: bool = True) -> Any:
    """Gives these items in order, at most so many at a time; then it ends."""

    def take(most: int) -> list[int] | None:
        if not items and ends:
            return None
        taken, items[:] = items[:most], items[most:]
        return taken

    return take


def test_what_comes_by_a_lane_is_read_in_order_and_beside_the_queue(arrivals: Arrivals) -> None:
    heard: dict[str, list[int]] = {"lane": [], "door": []}
    door = arrivals.door(heard["door"].extend)
    arrivals.lanes(heard["lane"].extend).add(lane_of(list(range(5000))), print)
    for number in range(5000):
        door(number)
    eventually(lambda: len(heard["lane"]) + len(heard["door"]) == 10_000)
    assert heard["lane"] == heard["door"] == list(range(5000))


def test_a_reader_that_is_ahead_of_another_thread_lets_it_have_the_interpreter(
    arrivals: Arrivals, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[int] = []
    naps: list[int] = []

    def nap(seconds: float) -> None:
        if threading.current_thread().name.endswith("-reader"):
            naps.append(len(heard))
        time.sleep(seconds)

    monkeypatch.setattr("zonal.runtime.arrivals.time", SimpleNamespace(sleep=nap))
    arrivals.door(heard.extend)

    def left_to_another(items: list[int]) -> bool:
        heard.extend(items)
        return False

    arrivals.lanes(left_to_another).add(lane_of(list(range(16_000)), ends=False), print)
    eventually(lambda: len(heard) == 16_000)
    assert 1_024 < naps[0] < 16_000  # several batches at a time, but not all
    assert heard == list(range(16_000))


def test_a_reader_asleep_at_the_queue_is_woken_for_a_lane(arrivals: Arrivals) -> None:
    heard: list[int] = []
    door = arrivals.door(heard.extend)
    door(0)
    eventually(lambda: heard == [0])
    arrivals.lanes(heard.extend).add(lane_of([1, 2]), print)
    eventually(lambda: heard == [0, 1, 2])
    door(3)  # the lane has ended, and the queue is read as before
    eventually(lambda: heard == [0, 1, 2, 3])


def test_what_is_put_behind_comes_after_what_waits_and_is_never_held_up(
    arrivals: Arrivals,
) -> None:
    let_go, heard, stuck = threading.Event(), list[int](), threading.Event()

    def slow(items: list[int]) -> None:
        stuck.set()
        assert let_go.wait(20)
        heard.extend(items)

    door, lanes = arrivals.door(slow), arrivals.lanes(slow)
    door(0)
    assert stuck.wait(10)
    for number in range(1, 1000):
        door(number)
    for _ in range(10):
        lanes.put_behind(-1)  # beyond what may wait
    let_go.set()
    eventually(lambda: heard == [*range(1000), *[-1] * 10])


def test_user_code_that_keeps_the_reader_of_a_lane_is_left_to_itself(arrivals: Arrivals) -> None:
    let_go, heard, stuck = threading.Event(), list[int](), threading.Event()

    def user_code(_: list[int]) -> None:
        stuck.set()
        assert let_go.wait(20)

    def call(batch: list[int]) -> None:
        arrivals.call(user_code, batch)

    quick = arrivals.door(heard.extend)
    arrivals.lanes(call).add(lane_of([1]), print)
    assert stuck.wait(10)
    arrivals.lanes(heard.extend).add(lane_of([1, 2]), print)
    quick(3)
    eventually(lambda: sorted(heard) == [1, 2, 3])
    let_go.set()
    eventually(lambda: sum(t.name == "test-reader" for t in threading.enumerate()) == 1)


def test_closing_reads_what_is_in_the_lanes() -> None:
    arrivals, heard = Arrivals("test"), list[int]()
    arrivals.door(heard.extend)
    arrivals.lanes(heard.extend).add(lane_of(list(range(3000))), print)
    arrivals.close()
    assert heard == list(range(3000))
