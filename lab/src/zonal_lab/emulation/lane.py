"""One direction of an emulated link: loss, delay, then a rate or a trace; no sockets, no clock.

Frames and the time go in, frames that are due come out. The relay drives lanes with TAP devices.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections import deque
from typing import TYPE_CHECKING, Protocol

from zonal_lab.emulation.trace import OPPORTUNITY_BYTES

if TYPE_CHECKING:
    from zonal_lab.emulation.trace import Trace

ETHERNET_HEADER_BYTES = 14
NS_PER_MS = 1_000_000


class Gate(Protocol):
    """Says when each frame of a first-in-first-out queue leaves; asked once a frame, in order."""

    def restart(self, now_ns: int, skip_ms: int = 0) -> None:
        """Begin again, as if the link had come up `skip_ms` ago."""

    def departure_ns(self, size: int, ready_ns: int) -> int:
        """When a packet of this size leaves that could leave from `ready_ns` on."""


class OpenGate:
    """A link without a limit."""

    def restart(self, now_ns: int, skip_ms: int = 0) -> None:
        """Nothing to begin again."""

    def departure_ns(self, size: int, ready_ns: int) -> int:
        """At once."""
        del size
        return ready_ns


class RateGate:
    """A link of constant rate: a packet leaves when its last bit is through."""

    def __init__(self, rate_mbit: float) -> None:
        self._ns_per_byte = 8000 / rate_mbit
        self._free_ns = 0

    def restart(self, now_ns: int, skip_ms: int = 0) -> None:
        """The link is free from now on."""
        del skip_ms
        self._free_ns = now_ns

    def departure_ns(self, size: int, ready_ns: int) -> int:
        """When the last bit is through."""
        self._free_ns = max(self._free_ns, ready_ns) + round(size * self._ns_per_byte)
        return self._free_ns


class TraceGate:
    """A Mahimahi link: every opportunity carries 1500 bytes of packets; what nobody uses is lost.

    As in mm-link, a packet that is larger than the rest of an opportunity continues in the next
    one, and the rest of an opportunity serves the next packet if that is already waiting.
    """

    def __init__(self, trace: Trace) -> None:
        times_ms: list[float] = trace.opportunities_ms.tolist()
        self._times_ns = [round(each * NS_PER_MS) for each in times_ms]
        self._period_ns = trace.period_ms * NS_PER_MS
        self.restart(0)

    def restart(self, now_ns: int, skip_ms: int = 0) -> None:
        """Play the trace from `skip_ms` on."""
        self._epoch_ns = now_ns - skip_ms * NS_PER_MS
        self._next = 0
        self._current_ns = -1
        self._left = 0

    def departure_ns(self, size: int, ready_ns: int) -> int:
        """The time of the opportunity that carries the packet's last byte."""
        if ready_ns > self._current_ns:
            self._left = 0
            self._next = max(self._next, self._first_at(ready_ns))
        while self._left < size:
            self._left += OPPORTUNITY_BYTES
            self._current_ns = self._time_ns(self._next)
            self._next += 1
        self._left -= size
        return max(self._current_ns, ready_ns)

    def _first_at(self, ready_ns: int) -> int:
        """The index of the first opportunity at or after this time."""
        # The last line and the start of the next round are the same instant: it counts as the last.
        rounds, before = divmod(max(ready_ns - self._epoch_ns, 0) - 1, self._period_ns)
        if rounds < 0:
            return 0
        return rounds * len(self._times_ns) + bisect_left(self._times_ns, before + 1)

    def _time_ns(self, index: int) -> int:
        rounds, within = divmod(index, len(self._times_ns))
        return self._epoch_ns + rounds * self._period_ns + self._times_ns[within]


class Lane:
    """A first-in-first-out queue of frames that leave late, seldom or never."""

    def __init__(
        self,
        gate: Gate,
        *,
        delay_ms: float = 0.0,
        loss: float = 0.0,
        queue_frames: int | None = None,
        seed: int = 0,
    ) -> None:
        self.gate = gate
        self._delay_ns = round(delay_ms * NS_PER_MS)
        self._loss = loss
        self._limit = queue_frames
        self._random = random.Random(seed)
        self._queue: deque[tuple[int, bytes]] = deque()
        self.lost = 0
        self.overflowed = 0
        self.carried = 0

    def push(self, frame: bytes, now_ns: int) -> None:
        """Take a frame in; it may be lost here, or find the queue full."""
        if self._loss and self._random.random() < self._loss:
            self.lost += 1
        elif self._limit is not None and len(self._queue) >= self._limit:
            self.overflowed += 1
        else:
            size = len(frame) - ETHERNET_HEADER_BYTES
            leaves = self.gate.departure_ns(size, now_ns + self._delay_ns)
            self._queue.append((leaves, frame))

    def restart(self, now_ns: int, skip_ms: int = 0) -> None:
        """Begin again, as between two runs on one network; what still waits leaves at once."""
        self._queue = deque((now_ns, frame) for _, frame in self._queue)
        self.gate.restart(now_ns, skip_ms)

    def due(self, now_ns: int) -> list[bytes]:
        """The frames that leave now, in order."""
        queue = self._queue
        frames = []
        while queue and queue[0][0] <= now_ns:
            frames.append(queue.popleft()[1])
        self.carried += len(frames)
        return frames

    @property
    def next_ns(self) -> int | None:
        """When the next frame leaves; None when nobody waits."""
        return self._queue[0][0] if self._queue else None
