"""Zenoh's time stamps as numbers: of a fraction of a second and of a clock."""

from __future__ import annotations

from functools import lru_cache

import zenoh

_FRACTION = 0xFFFFFFFF
_MICROS = 1_000_000


def stamp_parts(stamp: zenoh.Timestamp) -> tuple[int, str]:
    """Seconds since 1970 (the upper 32 bits) with their fraction, and the id of the clock."""
    # "<NTP64>/<id of the clock>", the exact form that Zenoh writes a time stamp in.
    time, _, clock = str(stamp).partition("/")
    return int(time), clock


def stamp_from_parts(ntp64: int, clock: str) -> zenoh.Timestamp:
    """The time stamp with these parts."""
    seconds, fraction = ntp64 >> 32, ntp64 & _FRACTION
    # Rounded up, so that Zenoh's own conversion back gives the same fraction.
    nanos = min(999_999_999, (fraction * 1_000_000_000 + (1 << 32) - 1) >> 32)
    return zenoh.Timestamp(zenoh.NTP64(seconds, nanos), _bytes_of_clock(clock))


@lru_cache(maxsize=1024)
def _bytes_of_clock(clock: str) -> bytes:
    # Zenoh writes an id's bytes last first, without leading zeros.
    return bytes.fromhex(clock.rjust(len(clock) + len(clock) % 2, "0"))[::-1]


def ntp64_of(micros: int) -> int:
    """Microseconds since 1970 as the time of a stamp."""
    seconds, rest = divmod(micros, _MICROS)
    return (seconds << 32) | ((rest << 32) // _MICROS)


def micros_of_stamp(ntp64: int) -> int:
    """The time of a stamp as microseconds since 1970."""
    return (ntp64 >> 32) * _MICROS + (((ntp64 & _FRACTION) * _MICROS) >> 32)
