"""What a payload is, by a name that Zenoh can carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal.errors import ContentEncodingError

if TYPE_CHECKING:
    import zenoh

LONGEST_ENCODING = 255
"""Bytes: Zenoh 1.x writes the length of an encoding into one byte; one that does not fit makes it
panic, and the session is dead from then on."""


def checked_encoding(encoding: zenoh.Encoding | str | None) -> zenoh.Encoding | str | None:
    """The content encoding itself, if it can be carried."""
    if encoding is not None and len(str(encoding).encode()) > LONGEST_ENCODING:
        raise ContentEncodingError(
            f"a content encoding has at most {LONGEST_ENCODING} bytes, not "
            f"{len(str(encoding).encode())}"
        )
    return encoding
