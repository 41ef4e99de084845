"""What waits for a router to come into reach: bounded, in order."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import zenoh

    from zonal.mesh.subscriber import MeshSample

_OVERHEAD = 256  # octets of memory that a message takes beside its payload


class KeptSample(NamedTuple):
    """A message, and when the gateway heard it."""

    sample: MeshSample
    heard_at: zenoh.Timestamp


class Backlog:
    """Messages in the order in which they were heard; where there is no room the oldest give way.

    Args:
        most: messages that may wait.
        most_octets: of memory that they may take.
    """

    def __init__(self, most: int = 10_000, most_octets: int = 16 << 20) -> None:
        self.most = most
        self.most_octets = most_octets
        self.octets = 0
        self.dropped = 0
        self._kept: deque[KeptSample] = deque()
        self._changed = threading.Condition()

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, kept: KeptSample) -> None:
        """Let a message wait behind the others."""
        with self._changed:
            self._kept.append(kept)
            self.octets += _weight(kept)
            while len(self._kept) > self.most or self.octets > self.most_octets:
                self.octets -= _weight(self._kept.popleft())
                self.dropped += 1
            self._changed.notify()

    def first(self, timeout_s: float) -> KeptSample | None:
        """The oldest message, which stays; None where none comes in this time."""
        with self._changed:
            if not self._kept:
                self._changed.wait(timeout_s)
            return self._kept[0] if self._kept else None

    def remove(self, kept: KeptSample) -> None:
        """The message has gone; nothing happens where it had to give way meanwhile."""
        with self._changed:
            if self._kept and self._kept[0] is kept:
                self.octets -= _weight(self._kept.popleft())


def _weight(kept: KeptSample) -> int:
    return len(kept.sample.payload) + len(kept.sample.key) + _OVERHEAD
