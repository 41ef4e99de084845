"""Times as people and columns write them, and Zenoh's time ranges.

The ranges stand in selectors: `_time=[now(-1h)..]`, `]2026-11-15T06:00:00Z..now()[`. The grammar is
that of zenoh's own `TimeRange`: brackets that include or exclude an end, two ends or a start and a
duration, each end a time (RFC 3339) or `now(±duration)`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from zonal.errors import DeclarationError

_RANGE = re.compile(r"([\[\]])\s*(.*?)\s*(\.\.|;)\s*(.*?)\s*([\[\]])", re.DOTALL)
_NOW = re.compile(r"now\(\s*(.*?)\s*\)")
_DURATION = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+))\s*(u|ms|s|m|h|d|w)?")
_UNITS = {"u": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_TICK = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class TimeRange:
    """From and to, both included; None is open."""

    since: datetime | None
    until: datetime | None


def parse_time_range(text: str, now: datetime) -> TimeRange:
    """Read a time range, relative to now."""
    found = _RANGE.fullmatch(text.strip())
    if not found:
        raise DeclarationError(
            f"{text[:80]!r} is no time range: write [start..end], [start;duration] or [now(-1h)..]"
        )
    try:
        return _range(text, found, now)
    except OverflowError as error:
        raise DeclarationError(f"{text[:80]!r} is beyond the years 1 to 9999") from error


def _range(text: str, found: re.Match[str], now: datetime) -> TimeRange:
    opening, start, separator, end, closing = found.groups()
    since = _time(start, now) if start else None
    if separator == ";":
        if since is None:
            raise DeclarationError(f"{text!r} has a duration and no start")
        until: datetime | None = since + _duration(end)
    else:
        until = _time(end, now) if end else None
    # Messages have microseconds: to leave an end out is to begin one later.
    since = since + _TICK if since and opening == "]" else since
    until = until - _TICK if until and closing == "[" else until
    return TimeRange(since, until)


def moment_of(text: str, name: str = "time") -> datetime:
    """A time written in ISO 8601; without a zone it is UTC. `name` is for the error."""
    try:
        return _in_utc(datetime.fromisoformat(text))
    except ValueError as error:
        raise DeclarationError(f"{name} {text!r} is no ISO 8601 time: {error}") from error


def micros(moment: datetime) -> int:
    """A time as microseconds since 1970; without a zone it is UTC."""
    return (_in_utc(moment) - _EPOCH) // _TICK


def _in_utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _time(text: str, now: datetime) -> datetime:
    relative = _NOW.fullmatch(text)
    if relative:
        return now + (_duration(relative[1]) if relative[1] else timedelta())
    return moment_of(text)


def _duration(text: str) -> timedelta:
    found = _DURATION.fullmatch(text)
    if not found:
        raise DeclarationError(
            f"{text!r} is no duration: write a number and u, ms, s, m, h, d or w"
        )
    return timedelta(seconds=float(found[1]) * _UNITS[found[2] or "s"])
