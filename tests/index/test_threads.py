"""Readers and a writer at the same time: every answer is one that some moment allows."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from zonal.geo import Box, Circle, Point
from zonal.index import SubscriptionIndex

CITY = Point(45.46, 9.19)
ROUNDS = 1500


@pytest.fixture(autouse=True)
def frequent_switches() -> Iterator[None]:
    """Let the interpreter change threads every 10 µs, a hundred times as often as it does."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def run_beside(writer: Callable[[], None], reader: Callable[[], None], readers: int = 3) -> None:
    """Run readers in a loop until the writer is done; the first error of any thread is raised."""
    done = threading.Event()
    errors: list[BaseException] = []

    def loop() -> None:
        try:
            while not done.is_set():
                reader()
        except BaseException as error:  # noqa: BLE001  (raised again below, in the test's thread)
            errors.append(error)

    threads = [threading.Thread(target=loop, daemon=True) for _ in range(readers)]
    for thread in threads:
        thread.start()
    try:
        writer()
    finally:
        done.set()
        for thread in threads:
            thread.join(timeout=30)
    if errors:
        raise errors[0]
    assert not any(thread.is_alive() for thread in threads)


def test_a_subscription_that_moves_is_never_lost_or_doubled() -> None:
    """The geofence moves, always containing the city; the reader must see it exactly once."""
    index: SubscriptionIndex[str] = SubscriptionIndex()
    for number in range(50):
        index.add(f"still {number}", "t", Circle(CITY, radius_m=1000.0 + number))
    sizes = [800.0, 30_000.0, 1_000_000.0]
    index.add("moving", "t", Circle(CITY, radius_m=800.0))

    def write() -> None:
        for number in range(ROUNDS):
            center = Point(CITY.lat + (number % 7) * 0.001, CITY.lon)
            index.update("moving", area=Circle(center, radius_m=sizes[number % 3]))
            index.update("moving", topic_filter=["t", "*", "**"][number % 3])

    def read() -> None:
        found = index.match("t", CITY)
        assert len(found) == len(set(found)) == 51
        assert sorted(index.match("t")) == sorted(found)

    run_beside(write, read)


def test_tables_grow_and_shrink_under_readers() -> None:
    index: SubscriptionIndex[int] = SubscriptionIndex()
    index.add(-1, "t", Circle(CITY, radius_m=500.0))

    def write() -> None:
        for start in range(0, ROUNDS, 100):
            for number in range(start, start + 100):
                index.add(number, "t", Circle(CITY, radius_m=500.0), client=number)
                index.locate(number, CITY)
            for number in range(start, start + 100):
                index.remove_client(number)

    def read() -> None:
        found = index.match("t", CITY)
        assert -1 in found
        assert None not in found
        assert len(found) == len(set(found))
        fenced = index.match("t", CITY, Box(45.0, 9.0, 46.0, 10.0))
        assert -1 not in fenced

    run_beside(write, read)
    assert index.match("t", CITY) == [-1]


def test_several_writers_leave_a_sound_index() -> None:
    index: SubscriptionIndex[tuple[int, int]] = SubscriptionIndex()
    turn = iter(range(100))

    def churn(who: int) -> None:
        for number in range(ROUNDS // 5):
            index.add((who, number), f"t/{number % 5}", Circle(CITY, radius_m=300.0), client=who)
            if number % 3:
                index.remove((who, number))

    def other() -> None:
        who = next(turn, None)
        if who is not None and who < 3:
            churn(who)

    run_beside(lambda: churn(99), other)
    expected = {(who, number) for who, number in index}  # type: ignore[misc]
    assert set(index.match("t/*", CITY)) == expected
    assert len(expected) >= ROUNDS // 15
