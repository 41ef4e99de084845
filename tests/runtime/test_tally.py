"""What happens again and again is counted, and told seldom."""

from __future__ import annotations

import logging
import threading

import pytest

from zonal.errors import LocationKeyError
from zonal.runtime import Tally

logger = logging.getLogger("zonal.test")
TEXT = "it happened (%(count)d so far): %(why)s"


def test_the_first_is_told_and_the_next_when_time_has_passed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    tally = Tally(logger, TEXT, every_s=3600)
    for number in range(1000):
        tally.add(f"number {number}")
    assert tally.count == 1000
    assert [record.getMessage() for record in caplog.records] == [
        "it happened (1 so far): number 0"
    ]
    caplog.clear()
    soon = Tally(logger, TEXT, every_s=0)
    soon.add("first")
    soon.add("second", 5)
    assert [record.getMessage() for record in caplog.records] == [
        "it happened (1 so far): first",
        "it happened (6 so far): second",
    ]


def test_of_a_long_reason_the_beginning_is_told(caplog: pytest.LogCaptureFixture) -> None:
    Tally(logger, TEXT).add("x" * 100_000)
    assert len(caplog.records[0].getMessage()) < 1000


def test_only_an_error_that_is_none_of_ours_has_its_trace(
    caplog: pytest.LogCaptureFixture,
) -> None:
    Tally(logger, TEXT).add(LocationKeyError("as strangers are"))
    Tally(logger, TEXT).add(ZeroDivisionError("a mistake of ours"))
    assert [bool(record.exc_info) for record in caplog.records] == [False, True]


def test_any_thread_may_count() -> None:
    tally = Tally(logger, TEXT, every_s=3600)
    threads = [
        threading.Thread(target=lambda: [tally.add() for _ in range(5000)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tally.count == 20_000
