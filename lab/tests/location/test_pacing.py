from __future__ import annotations

import time
from itertools import pairwise
from statistics import median

import pytest

from zonal_lab.location.message import MEASURED, MESSAGE_BYTES, Message, unpack_message
from zonal_lab.location.pacing import send_paced

pytestmark = pytest.mark.group("emulation")  # it measures time, as they do


def test_3200_messages_a_second_are_sent_evenly() -> None:
    sent: list[tuple[int, int]] = []
    start = time.monotonic_ns() + 20_000_000
    pace = send_paced(
        lambda number, now: sent.append((number, now)), rate_hz=3200, start_ns=start, seconds=1
    )
    assert pace.sent == 3200
    assert [number for number, _ in sent] == list(range(3200))
    assert all(now >= start + number * 312_500 for number, now in sent)
    assert pace.rate_hz == 3200
    late_us = [(now - start) / 1000 - number * 312.5 for number, now in sent]
    # The schedule never shifts: what a machine that stood still has held up is made good, while
    # delays that add up, of 50 µs and more a message, would never be.
    assert min(late_us[len(late_us) // 2 :]) < 20_000
    # Most leave at their time.
    assert median(late_us) < 20_000


def test_a_hold_up_is_made_good_at_once() -> None:
    times: list[int] = []

    def send(number: int, now_ns: int) -> None:
        times.append(now_ns)
        if number == 10:
            time.sleep(0.1)

    start = time.monotonic_ns()
    pace = send_paced(send, rate_hz=1000, start_ns=start, seconds=0.3)
    assert len(times) == 300
    assert pace.late_max_us >= 80_000
    assert times[-1] - start >= 299_000_000
    late_ns = [now - start - number * 1_000_000 for number, now in enumerate(times)]
    in_a_row = times[11:60]  # all were due while number 10 was on its way
    assert all(late > 0 for late in late_ns[11:60])
    assert median(after - now for now, after in pairwise(in_a_row)) < 200_000
    assert min(late_ns[150:]) < 20_000_000, "the schedule has not shifted"


def test_a_message_survives_the_wire() -> None:
    message = Message(13, MEASURED, 4_000_000_000, time.monotonic_ns())
    assert unpack_message(message.pack() + b"place") == message
    assert len(message.pack()) == MESSAGE_BYTES == 16
