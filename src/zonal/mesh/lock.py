"""Packets that only those can send who have the mesh's key, and that nobody can send twice.

Behind the packet stand 20 octets, big-endian:

```
6   epoch: when the sender started, in milliseconds since 1970
4   number of the packet in that epoch
10  code of all of that: BLAKE2b, keyed
```

With them a packet has at most 1,420 octets: IPv6 on Ethernet carries 1,452.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from zonal.errors import MeshError
from zonal.trust import ReplayGuard, code_of, is_code_of

_EPOCH, _NUMBER, _CODE = 6, 4, 10
LOCK_OCTETS = _EPOCH + _NUMBER + _CODE
"""What a lock adds to a packet."""
SHORTEST_KEY = 16
_WINDOW = 1024


class Unlocked(NamedTuple):
    """A packet whose code is right, and its number among all of its sender's."""

    data: bytes
    number: int


class PacketLock:
    """The key of a mesh, in the hands of one node.

    Args:
        key: 16 octets or more, the same at all nodes.
        epoch: milliseconds since 1970, later than at the node's last start.
    """

    def __init__(self, key: bytes, epoch: int | None = None) -> None:
        if len(key) < SHORTEST_KEY:
            raise MeshError(
                f"the key of a mesh has {SHORTEST_KEY} octets or more, not {len(key)}; "
                "`zonal mesh key` makes one"
            )
        self._key = key
        started = time.time_ns() // 1_000_000 if epoch is None else epoch
        self._next = (started << 8 * _NUMBER) % (1 << 8 * (_EPOCH + _NUMBER))
        self._seen: ReplayGuard[int] = ReplayGuard(_WINDOW)

    def lock(self, data: bytes) -> bytes:
        """The packet with its number and code."""
        # After the last number of an epoch comes the first of the next.
        marked = data + self._next.to_bytes(_EPOCH + _NUMBER, "big")
        self._next += 1
        return marked + code_of(self._key, marked, size=_CODE)

    def unlock(self, data: bytes) -> Unlocked | None:
        """The packet; None where its code is not that of the key."""
        marked, code = data[:-_CODE], data[-_CODE:]
        if len(data) <= LOCK_OCTETS or not is_code_of(code, self._key, marked, size=_CODE):
            return None
        split = len(marked) - _EPOCH - _NUMBER
        return Unlocked(marked[:split], int.from_bytes(marked[split:], "big"))

    def is_fresh(self, sender: int, packet: Unlocked) -> bool:
        """Whether the sender's packet did not come before, without noting that it came."""
        return self._seen.is_fresh(sender, packet.number)

    def take(self, sender: int, packet: Unlocked) -> None:
        """The sender's packet came."""
        self._seen.is_news(sender, packet.number)
