"""What a traveller publishes: who, which step, when, where; padded to the paper's 750 bytes."""

from __future__ import annotations

import struct
from typing import NamedTuple

from zonal_lab.index import RADIUS_M

SIZE = 750
RADIUS_DEGREES = 0.01
_FORM = struct.Struct(">IIqdd")


class Report(NamedTuple):
    """The head of a message."""

    client: int
    step: int
    sent_ns: int
    lat: float
    lon: float

    def to_bytes(self) -> bytes:
        """The whole payload."""
        return _FORM.pack(*self).ljust(SIZE, b".")


def read_report(data: bytes, start: int) -> Report:
    """The head of the payload that begins here."""
    return Report(*_FORM.unpack_from(data, start))


def circle(lat: float, lon: float) -> str:
    """The geofence around a place, as the broker reads it."""
    return f"CIRCLE ({lon!r} {lat!r}, {RADIUS_M!r})"
