"""A consumer that does not keep up, or is stuck, does not fill its process' memory."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import zenoh

import slow_consumer
from network import (
    AT_ONCE,
    LOOPBACK,
    client,
    eventually,
    plain_client,
    wait_for_answerer,
    wait_for_match,
)
from zonal.geo import Point
from zonal.keys import area_keys, encoding_named
from zonal.runtime.mailbox import DEFAULT_CAPACITY_BYTES as MAILBOX_BYTES
from zonal.session import Publisher, Router

DUOMO = Point(45.4642, 9.19)
BLOCK = zenoh.CongestionControl.BLOCK
MIB = 1024 * 1024
SLACK = 48 * MIB
BUFFER = 64 * 1024
"""A message that waits keeps what it was received in; others that came in it may be gone."""


class Consumer:
    """The process that receives."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def told(self) -> dict[str, int]:
        """What waits there now."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("?\n")
        self._process.stdin.flush()
        told: dict[str, int] = json.loads(self._process.stdout.readline())
        return told


@contextmanager
def consumer(
    router: Router, topic: str, kind: str, overflow: str, most_bytes: int, capacity: int = 65_536
) -> Iterator[Consumer]:
    script = str(Path(slow_consumer.__file__))
    given = (router.endpoints[0], topic, kind, overflow, str(capacity), str(most_bytes))
    with subprocess.Popen(
        [sys.executable, script, *given], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Consumer(process)
        finally:
            process.kill()


class Sender:
    """Sends as fast as the network takes it, on a thread of its own: it may be held up for good."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self._thread: threading.Thread | None = None
        self._stopped = False

    def send(self, number: int, size: int) -> None:
        """So many messages of so many bytes."""

        def put() -> None:
            payload = bytes(size)
            for _ in range(number):
                if not self._stopped:
                    self._publisher.put(payload)

        assert self.is_done
        self._thread = threading.Thread(target=put, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Send no more; what held it up must be gone."""
        self._stopped = True
        if self._thread is not None:
            self._thread.join(20)

    @property
    def is_done(self) -> bool:
        """Whether all was sent."""
        return self._thread is None or not self._thread.is_alive()


@pytest.fixture
def router() -> Iterator[Router]:
    """One of the test's own: what is held up here holds up nobody else."""
    with Router([LOOPBACK], settings=AT_ONCE) as router:
        yield router


@pytest.fixture
def sender(router: Router, topic: str) -> Iterator[Sender]:
    with client(router) as session:
        sending = Sender(session.declare_publisher(topic, location=DUOMO, congestion_control=BLOCK))
        yield sending
        sending.stop()


def wait_until_heard(router: Router, topic: str) -> None:
    with plain_client(router) as session:
        for key in area_keys(topic, slow_consumer.AREA, encoding_named("s2")):
            wait_for_match(session, key)


def most(most_bytes: int, size: int) -> int:
    """What the memory may grow by, as the manual says, where messages have a size.

    What waits; before that the queue, as much again in the reader's hands, and messages that were
    not looked at; what a link and the allocator have under way besides. What a stuck callback has
    in its hands are the first messages, which were few.
    """
    return most_bytes + 2 * (most_bytes // 4) + 34 * size + SLACK


@pytest.mark.parametrize("overflow", ["drop-oldest", "drop-newest", "block"])
@pytest.mark.parametrize("kind", ["callback", "iterator"])
def test_large_messages_do_not_fill_the_memory(
    router: Router, sender: Sender, topic: str, kind: str, overflow: str
) -> None:
    fill(router, sender, topic, kind, overflow, 24 * MIB, messages=1000, size=256 * 1024)


@pytest.mark.slow
@pytest.mark.parametrize("overflow", ["drop-oldest", "drop-newest", "block"])
@pytest.mark.parametrize("kind", ["callback", "iterator"])
@pytest.mark.parametrize("size", [20_000, MIB, 16 * MIB])
def test_nothing_fills_the_memory(
    router: Router, sender: Sender, topic: str, kind: str, overflow: str, size: int
) -> None:
    """With the bounds that there are; up to 1.5 GiB are sent."""
    messages = 1536 * MIB // size
    fill(router, sender, topic, kind, overflow, MAILBOX_BYTES, messages, size)


def fill(
    router: Router, sender: Sender, topic: str, kind: str, overflow: str, most_bytes: int,
    messages: int, size: int,
) -> None:  # fmt: skip
    """Send that much to one that is stuck, and see what it keeps."""
    bound = most(most_bytes * max(size, BUFFER) // size, size)
    assert messages * size > bound
    with consumer(router, topic, kind, overflow, most_bytes) as there:
        wait_until_heard(router, topic)
        before = there.told()
        sender.send(messages, size)

        def is_full() -> bool:
            told = there.told()
            assert told["rss"] - before["rss"] < bound
            if overflow == "block":
                return told["held_up"] > 0 and told["waiting"] * size > 0.9 * most_bytes
            return sender.is_done and told["received"] >= messages

        eventually(is_full, timeout=60)
        told = there.told()
        assert 0.5 * most_bytes < told["waiting"] * (size + 512) <= most_bytes + size
        in_hands = messages - told["waiting"] - told["overflowed"]
        if overflow == "block":
            assert told["overflowed"] == 0
        elif kind == "iterator":
            assert in_hands == 0
        else:
            assert in_hands * size <= most_bytes + size


@pytest.mark.parametrize("overflow", ["drop-oldest", "drop-newest", "block"])
def test_many_small_messages_do_not_fill_the_memory(
    router: Router, sender: Sender, topic: str, overflow: str
) -> None:
    with consumer(router, topic, "iterator", overflow, 24 * MIB) as there:
        wait_until_heard(router, topic)
        before = there.told()
        sender.send(80_000, 64)
        full = 24 * MIB // (64 + 512 + 200)  # with its key
        eventually(lambda: there.told()["waiting"] >= full, timeout=60)
        if overflow != "block":
            eventually(lambda: there.told()["received"] >= 80_000, timeout=60)
        told = there.told()
        assert told["waiting"] < 24 * MIB // 512
        assert told["rss"] - before["rss"] < most(24 * MIB, 64)
        assert (told["overflowed"] == 0) == (overflow == "block")


@pytest.mark.parametrize("overflow", ["drop-oldest", "block"])
def test_large_messages_behind_small_ones_do_not_hide_in_a_lane(
    router: Router, sender: Sender, topic: str, overflow: str
) -> None:
    """A lane has no bound in bytes, and nobody looks into it while the reader is stuck."""
    most_bytes, capacity, size = 32 * MIB, 10_000, 256 * 1024
    with consumer(router, topic, "iterator", overflow, most_bytes, capacity) as there:
        wait_until_heard(router, topic)

        sender.send(capacity + 500, 64)
        seen: list[int] = []

        def is_filled() -> bool:
            told = there.told()
            seen.append(told["lanes"])
            return told["waiting"] == capacity and sender.is_done

        eventually(is_filled, timeout=60)
        assert max(seen) == 1
        if overflow == "block":
            eventually(lambda: there.told()["lanes"] == 0)  # its reader is stuck
        before = there.told()
        sender.send(800, size)

        def is_full() -> bool:
            told = there.told()
            assert told["rss"] - before["rss"] < most(most_bytes, size)
            return told["held_up"] > 0 if overflow == "block" else sender.is_done

        eventually(is_full, timeout=60)
        eventually(lambda: there.told()["lanes"] == 0)


def test_questions_that_nobody_answers_do_not_fill_the_memory(router: Router, topic: str) -> None:
    with consumer(router, topic, "queryable", "block", 24 * MIB) as there:
        with plain_client(router) as asking:
            wait_for_answerer(asking, topic)
            before = there.told()
            for _ in range(400):
                asking.get(topic, lambda _: None, payload=bytes(256 * 1024), timeout=30)
            eventually(lambda: there.told()["received"] == 400, timeout=60)
            told = there.told()
        assert told["waiting"] + told["overflowed"] == 400
        assert told["waiting"] * 256 * 1024 <= 24 * MIB
        assert told["rss"] - before["rss"] < most(24 * MIB, 256 * 1024)
