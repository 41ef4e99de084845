"""Looking for more bytes before sleeping: bounded, and only while it pays."""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import mqtt5
import pytest

from command_line import line_with, running_zonal
from network import eventually
from zonal.broker.polling import FIRST_PAUSE, BusyPolling

BOUND = 0.0001


class Rounds:
    """An event loop's rounds and a clock, both by hand."""

    def __init__(self) -> None:
        self.now = 100.0
        self.soon: list[Callable[[], None]] = []
        loop = cast("asyncio.AbstractEventLoop", self)
        self.polling = BusyPolling(loop, BOUND, lambda: self.now)

    def call_soon(self, job: Callable[[], None]) -> None:
        self.soon.append(job)

    def go_round(self, seconds: float = BOUND / 20) -> bool:
        """One round; whether the loop would not wait in the next one."""
        self.now += seconds
        jobs, self.soon = self.soon, []
        for job in jobs:
            job()
        return bool(self.soon)

    def hear(self, times: int, gap: float) -> None:
        for _ in range(times):
            self.now += gap
            self.polling.heard(self.now)


def test_bytes_that_come_now_and_then_never_keep_the_loop_awake() -> None:
    rounds = Rounds()
    rounds.hear(100, 2 * BOUND)
    assert not rounds.soon


def test_two_messages_at_once_are_no_reason_to_look() -> None:
    rounds = Rounds()
    for _ in range(50):
        rounds.hear(1, 40 * BOUND)
        rounds.hear(1, BOUND / 10)
    assert not rounds.soon


def talked() -> Rounds:
    """Bytes came close together until it looks for more."""
    rounds = Rounds()
    while not rounds.soon:
        rounds.hear(1, BOUND / 2)
    return rounds


def test_looking_that_finds_nothing_becomes_shorter_and_ends() -> None:
    rounds = talked()
    lengths = []
    while rounds.soon:
        heard = rounds.now
        while rounds.go_round():
            assert len(rounds.soon) == 1
        lengths.append(rounds.now - heard)
        rounds.hear(1, BOUND / 2)
    assert lengths[0] <= 1.2 * BOUND
    assert lengths == sorted(lengths, reverse=True)
    assert 1 < len(lengths) < 5
    assert sum(lengths) < 2 * BOUND


def test_looking_is_tried_again_rarely_where_it_finds_nothing() -> None:
    rounds = Rounds()
    looked, began = 0.0, rounds.now
    while rounds.now < began + 20.0:
        rounds.hear(1, BOUND / 4)  # they come soon, but only when the loop sleeps
        heard = rounds.now
        while rounds.go_round(BOUND / 2):
            pass
        if rounds.now > heard + BOUND / 2:
            looked += rounds.now - heard
    assert 0.0 < looked < 20.0 / 500


def test_looking_goes_on_while_it_finds_bytes() -> None:
    rounds = talked()
    for _ in range(100):
        for _ in range(8):
            assert rounds.go_round()
        rounds.hear(1, BOUND / 20)
        assert len(rounds.soon) == 1


def test_one_look_in_vain_is_forgiven() -> None:
    rounds = talked()
    for _ in range(20):
        while rounds.go_round():
            pass
        rounds.hear(1, 3 * BOUND)
        for _ in range(4):
            assert rounds.go_round()
            assert rounds.go_round()
            assert rounds.go_round()
            rounds.hear(1, BOUND / 20)
    assert rounds.soon


def test_nobody_waits_for_an_answer_who_sends_on_before_it() -> None:
    rounds = talked()
    for _ in range(20):
        rounds.hear(1, BOUND / 100)
        rounds.go_round(BOUND / 100)
    assert not rounds.soon


def test_a_crowd_at_once_counts_as_one_reason_not_to_look() -> None:
    rounds = talked()
    rounds.hear(1000, 0.0)
    rounds.go_round()
    assert not rounds.soon
    rounds.hear(1, 1.5 * FIRST_PAUSE)
    rounds.hear(100, BOUND / 2)
    assert rounds.soon


def exchanged(broker: socket.socket, times: int) -> None:
    """Sends a message to itself, one after the other."""
    message = mqtt5.PublishPacket("t", b"x").write()
    for _ in range(times):
        broker.sendall(message)
        got = b""
        while len(got) < len(message):
            got += broker.recv(100)
        assert got == message


def cpu_s(pid: int) -> float:
    """Processor time of a process so far."""
    return time.clock_gettime(~pid << 3 | 2)  # as clock_getcpuclockid() names its clock


def sleeps(pid: int) -> int:
    """How often its first thread has gone to sleep."""
    found = re.search(
        r"\nvoluntary_ctxt_switches:\s+(\d+)", Path(f"/proc/{pid}/status").read_text()
    )
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize("busy_poll_us", ["0", "2000"])
def test_a_broker_that_nobody_talks_to_sleeps(busy_poll_us: str) -> None:
    options = ("--port", "0", "--sys-interval", "0", "--busy-poll-us", busy_poll_us)
    with running_zonal("broker", *options) as broker:
        told = line_with("mqtt://", broker, broker.stdout)
        found = re.search(r"mqtt://[^:]+:(\d+)", told)
        assert found is not None
        with socket.create_connection(("127.0.0.1", int(found[1])), 10) as client:
            client.sendall(mqtt5.ConnectPacket("c", clean_start=True).write())
            assert client.recv(100)[0] == 0x20
            client.sendall(mqtt5.SubscribePacket(1, [mqtt5.TopicFilter("t")]).write())
            assert client.recv(100)[0] == 0x90
            exchanged(client, 300)
            pid = broker.pid
            slept = sleeps(pid)
            eventually(lambda: sleeps(pid) >= slept + 2)  # what it looks for is over
            slept, used = sleeps(pid), cpu_s(pid)
            eventually(lambda: sleeps(pid) >= slept + 5)  # five looks at its deadlines: 0.5 s
            assert cpu_s(pid) - used < 0.2
