"""A lent channel: read by the one who iterates, taken back from the one who is slow."""

from __future__ import annotations

import threading
from collections import deque

import pytest

from network import eventually
from zonal.runtime.lease import Lease
from zonal.runtime.mailbox import Mailbox


class Channel:
    """Numbers in batches, as a declared key gives them."""

    def __init__(self, *batches: list[int]) -> None:
        self.batches = deque(batches)

    def read(self) -> list[int] | None:
        return self.batches.popleft() if self.batches else None


def test_what_is_in_the_box_comes_before_what_a_lent_channel_holds() -> None:
    box: Mailbox[int] = Mailbox()
    box.put([1, 2])
    reader = iter(box)
    assert next(reader) == 1
    lease = Lease(Channel([4, 5], [], [6]).read)
    assert box.lend(lease)
    box.put([3])
    assert [next(reader) for _ in range(5)] == [2, 3, 4, 5, 6]
    box.close()
    assert list(reader) == []
    assert box.taken == 6
    lease.wait()  # it ended with the channel


def test_a_box_that_nobody_iterates_takes_no_channel() -> None:
    box: Mailbox[int] = Mailbox()
    assert not box.lend(Lease(Channel([1]).read))
    box.put([1])
    for _ in box:
        break
    assert not box.lend(Lease(Channel([2]).read))


def test_a_loop_that_ends_early_gives_the_channel_back_and_loses_nothing() -> None:
    box: Mailbox[int] = Mailbox()
    box.put([0])
    reader = iter(box)
    assert next(reader) == 0
    channel = Channel([1, 2, 3], [4])
    lease = Lease(channel.read)
    assert box.lend(lease)
    assert next(reader) == 1
    reader.close()
    lease.wait()
    assert [box.take(0), box.take(0), box.take(0)] == [2, 3, None]
    assert list(channel.batches) == [[4]]
    assert lease.read() is None


def test_a_slow_reader_loses_the_channel_and_gets_the_rest_from_the_box() -> None:
    box: Mailbox[int] = Mailbox()
    channel = Channel([1, 2], [3])
    box.put([0])
    reader = iter(box)
    assert next(reader) == 0
    lease = Lease(channel.read)
    assert box.lend(lease)
    assert next(reader) == 1
    lender = threading.Thread(target=lease.wait)
    lender.start()
    lender.join(timeout=5)  # the reader does not come back for more
    assert not lender.is_alive()
    box.put(channel.batches.popleft())
    assert [next(reader), next(reader)] == [2, 3]


def test_a_waiting_reader_is_woken_by_a_lent_channel() -> None:
    box: Mailbox[int] = Mailbox()
    got: list[int] = []
    thread = threading.Thread(target=lambda: got.extend(box))
    thread.start()
    eventually(lambda: box.lend(Lease(Channel([1], [2]).read)))
    eventually(lambda: got == [1, 2])
    box.close()
    thread.join(timeout=5)
    assert not thread.is_alive()


def test_the_lender_does_not_take_the_channel_from_one_who_keeps_reading(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("zonal.runtime.lease._PATIENCE_S", 0.02)
    reads = iter(range(1_000_000))
    lease = Lease(lambda: [next(reads)])
    lender = threading.Thread(target=lease.wait)
    lender.start()
    for _ in range(100):
        assert lease.read() is not None
        threading.Event().wait(0.001)
    lease.end()
    lender.join(timeout=5)
    assert not lender.is_alive()
