"""Payloads as Zenoh carries them, and what they are, by a name that it can carry."""

from __future__ import annotations

import json
from typing import Any

import zenoh

from zonal.errors import ContentEncodingError, PayloadError

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


def as_payload(
    payload: Any, encoding: zenoh.Encoding | str | None
) -> tuple[Any, zenoh.Encoding | str | None]:
    """The payload as Zenoh takes it, and its content encoding.

    Bytes and text stay as they are. Dictionaries and lists become JSON, and their content
    encoding `application/json` unless another is given. `PayloadError` for anything else, None too.
    """
    encoding = checked_encoding(encoding)
    if isinstance(payload, bytes | str | zenoh.ZBytes):
        return payload, encoding
    try:
        if payload is None:
            raise TypeError("nothing is sent as b''")  # noqa: TRY301
        if isinstance(payload, dict | list):
            text = json.dumps(payload, ensure_ascii=False, allow_nan=False)
            return text.encode(), encoding or zenoh.Encoding.APPLICATION_JSON
        return zenoh.ZBytes(
            bytes(payload) if isinstance(payload, memoryview) else payload
        ), encoding
    except (TypeError, ValueError, RecursionError) as error:
        raise PayloadError(
            "a payload is bytes, a str, or a dict or list that can be written as JSON; this "
            f"{type(payload).__name__} is not: {error}"
        ) from error
