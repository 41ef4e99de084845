"""The lab's message: who sent it, its number and when; 16 bytes, the same for every technique."""

from __future__ import annotations

import struct
from typing import NamedTuple

_FORMAT = struct.Struct("!HHIq")
MESSAGE_BYTES = _FORMAT.size
READY_KEY = "lab/ready"
"""The plain key by which a publisher asks who is there."""
MEASURED = 0
PROBE = 1


class Message(NamedTuple):
    """One numbered message; times are of the machine's monotonic clock, in nanoseconds."""

    publisher: int
    kind: int
    number: int
    sent_ns: int

    def pack(self) -> bytes:
        """The message as it goes over the wire."""
        return _FORMAT.pack(*self)


def unpack_message(payload: bytes) -> Message:
    """Read a message from the start of a payload."""
    return Message._make(_FORMAT.unpack_from(payload))
