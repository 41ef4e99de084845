from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from zonal.errors import DeclarationError
from zonal.pipeline.times import TimeRange, parse_time_range

NOW = datetime(2026, 11, 15, 8, 0, tzinfo=UTC)
SIX = datetime(2026, 11, 15, 6, 0, tzinfo=UTC)
TICK = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[now(-1h)..]", TimeRange(NOW - timedelta(hours=1), None)),
        ("[now(-1.5m)..now()]", TimeRange(NOW - timedelta(seconds=90), NOW)),
        ("[..2026-11-15T06:00:00Z]", TimeRange(None, SIX)),
        ("]2026-11-15T06:00:00Z..now()[", TimeRange(SIX + TICK, NOW - TICK)),
        ("[2026-11-15T06:00:00Z;2h]", TimeRange(SIX, NOW)),
        ("[2026-11-15T07:00:00+01:00;100ms]", TimeRange(SIX, SIX + timedelta(seconds=0.1))),
        ("[..]", TimeRange(None, None)),
    ],
)
def test_ranges_are_read_as_zenoh_writes_them(text: str, expected: TimeRange) -> None:
    assert parse_time_range(text, NOW) == expected


@pytest.mark.parametrize("text", ["", "now(-1h)", "[now(-1x)..]", "[;1h]", "[a..b]", "[now(1h];2"])
def test_anything_else_is_an_error(text: str) -> None:
    with pytest.raises(DeclarationError):
        parse_time_range(text, NOW)
