"""What messages, questions and answers weigh while they wait: about the memory that they take."""

from __future__ import annotations

from typing import Any

import zenoh

ITSELF = 512
"""Bytes of what waits beside what was sent: objects of Zenoh's and our own."""


def bytes_of(raw: zenoh.Sample | zenoh.Query) -> int:
    """Key, payload, attachment and parameters, all of which are as long as whoever sends likes."""
    payload, attachment = raw.payload, raw.attachment
    size = ITSELF + len(str(raw.key_expr))
    if payload is not None:
        size += len(payload)
    if attachment is not None:
        size += len(attachment)
    return size if type(raw) is zenoh.Sample else size + len(str(raw.parameters))


def bytes_of_reply(reply: zenoh.Reply) -> int:
    """An answer, or an error."""
    if reply.ok is not None:
        return bytes_of(reply.ok)
    return ITSELF + (len(reply.err.payload) if reply.err is not None else 0)


def bytes_of_arrival(item: Any) -> int:
    """A message; what stands between messages weighs nothing."""
    return bytes_of(item) if type(item) is zenoh.Sample else 0
