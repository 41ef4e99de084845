"""Time stamps as people and other programs read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import zenoh


def rfc3339(stamp: zenoh.Timestamp | None) -> str | None:
    """The moment of a time stamp by RFC 3339, in UTC with nanoseconds; None where there is none."""
    return None if stamp is None else stamp.to_string_rfc3339_lossy().partition("/")[0]
