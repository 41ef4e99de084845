"""Messages that are too large for one packet: cut into publications of their own, and put together.

```
octet 0      version (2; a whole message begins with 1)
octets 1-4   number of the message at its origin, little-endian
octet 5      index of the fragment
octet 6      number of fragments, 2 or more
then         a part of the message
```

A fragment that is lost loses its message: hop-by-hop acknowledgement makes that rare.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from zonal.errors import MeshError, PacketError
from zonal.mesh.wire import MAX_DATA
from zonal.runtime import Recent

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSION = 2
MAX_MESSAGE = 65_536
"""Octets of a message with its topic and place."""

_HEAD = struct.Struct("<BIBB")
_PART = MAX_DATA - _HEAD.size
_REMEMBERED = 512
_OVERHEAD = 128  # octets of memory that a fragment takes beside its own


def fragments_of(message: bytes, number: int) -> Iterator[bytes]:
    """The data of the publications that carry a message; itself where it fits into one."""
    if len(message) > MAX_MESSAGE:
        raise MeshError(
            f"message of {len(message)} octets with its topic and place exceeds the {MAX_MESSAGE} "
            "that a mesh carries"
        )
    if len(message) <= MAX_DATA:
        yield message
        return
    count = -(-len(message) // _PART)
    for index in range(count):
        head = _HEAD.pack(VERSION, number & 0xFFFFFFFF, index, count)
        yield head + message[index * _PART : (index + 1) * _PART]


def is_fragment(data: bytes) -> bool:
    """Whether the data of a publication is part of a message."""
    return data[:1] == bytes((VERSION,))


@dataclass(slots=True)
class Partial:
    """A message of which some fragments have come."""

    count: int
    since: float
    octets: int = 0
    parts: dict[int, bytes] = field(default_factory=dict)


class Reassembly:
    """Puts messages together; what stays incomplete is given up and counted.

    Args:
        most_octets: that fragments may take up while they wait; the oldest message gives way.
        patience_s: from the first fragment of a message to its last.
    """

    def __init__(self, most_octets: int = 4 << 20, patience_s: float = 30.0) -> None:
        self.most_octets = most_octets
        self.patience_s = patience_s
        self.octets = 0
        self.given_up = 0
        self._partials: dict[tuple[int, int], Partial] = {}
        self._complete: Recent[tuple[int, int]] = Recent(_REMEMBERED)

    def take(self, origin: int, data: bytes, now: float) -> bytes | None:
        """Take a fragment in; the message, if it was the last that was missing."""
        if len(data) <= _HEAD.size:
            raise PacketError(f"{len(data)} octets are no fragment")
        _, number, index, count = _HEAD.unpack_from(data)
        if index >= count or count * _PART >= MAX_MESSAGE + _PART:
            raise PacketError(f"fragment {index} of {count} cannot be")
        self._expire(now)
        name = origin, number
        if name in self._complete:
            return None
        partial = self._partials.setdefault(name, Partial(count, now))
        if partial.count != count or index in partial.parts:
            return None
        part = data[_HEAD.size :]
        partial.parts[index] = part
        partial.octets += len(part) + _OVERHEAD
        self.octets += len(part) + _OVERHEAD
        if len(partial.parts) == count:
            self._drop(name)
            self._complete.check(name)
            return b"".join(partial.parts[i] for i in range(count))
        while self.octets > self.most_octets:
            self._drop(next(iter(self._partials)))
            self.given_up += 1
        return None

    def _expire(self, now: float) -> None:
        """Give up what has waited for too long; messages stand in the order of their beginning."""
        while self._partials:
            oldest = next(iter(self._partials))
            if now - self._partials[oldest].since <= self.patience_s:
                return
            self._drop(oldest)
            self.given_up += 1

    def _drop(self, name: tuple[int, int]) -> None:
        self.octets -= self._partials.pop(name).octets
