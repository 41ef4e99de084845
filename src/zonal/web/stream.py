"""One reader of live events: a bounded queue, and counts of what it was too slow for."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from typing import TYPE_CHECKING, Self

from zonal.web.grants import ANYBODY, is_for
from zonal.web.presentation import event

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.geo import Point
    from zonal.session import Sample
    from zonal.web.options import WebLimits

HEARTBEAT = b": alive\n\n"
_AT_ONCE_BYTES = 65_536
"""What is taken from the queue is copied for its reader, and waits with the connection."""


class Stream:
    """Events for one client; lives on the event loop, touched by no other thread.

    Offering never waits: what does not fit pushes out the oldest, is counted, and is told to the
    reader in an `overflow` event as soon as it reads again. While the reader waits and its
    connection takes more, an event goes there at once, without waking a task for it.
    """

    def __init__(self, limits: WebLimits, own: Point | None, now: float) -> None:
        self._events: deque[bytes] = deque()
        self._bytes = 0
        self._limits = limits
        self._own = own
        self._wake: asyncio.Future[None] | None = None
        self._untold = 0
        self.dropped = 0
        self.fenced_out = 0
        self.written = 0
        self._counted = (0, 0)
        self._looked_at = (0, now)
        self.closed = False
        self.feed: object = None
        """What it reads from."""
        self.grant = ANYBODY
        """What its reader may."""
        self.disconnect: Callable[[], object] = lambda: None
        """Ends the connection at once."""
        self.write: Callable[[bytes], bool] = lambda _: False
        """Writes a chunk to the connection at once; False where it cannot now."""
        self.opened_at = now
        self.read_at = now
        """When the reader last took something (or had nothing to take)."""

    def __len__(self) -> int:
        return len(self._events)

    def hears(self, sample: Sample | None) -> bool:
        """The third check of the geo-context: a fenced message is for those inside the fence.

        Where the fence wants somebody to vouch for that, what the reader says is not enough.
        """
        if sample is None or self._own is None or is_for(sample, self._own):
            return True
        self.fenced_out += 1
        return False

    def offer(self, data: bytes, chunk: bytes | None = None) -> None:
        """Write an event, or queue it; `chunk` is the same as a chunk of HTTP, if it is known."""
        if self._waits and self.write(framed(data) if chunk is None else chunk):
            self.written += 1
            return
        while self._events and (
            len(self._events) >= self._limits.stream_events
            or self._bytes + len(data) > self._limits.stream_bytes
        ):
            self._bytes -= len(self._events.popleft())
            self.dropped += 1
            self._untold += 1
        self._events.append(data)
        self._bytes += len(data)
        self._rouse()

    @property
    def _waits(self) -> bool:
        """Whether its task waits in `take`: whatever it took before is written."""
        return self._wake is not None and not self._wake.done()

    def _rouse(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if data := await self.take():
            return data
        raise StopAsyncIteration

    async def take(self) -> bytes:
        """Events that wait, up to a bound of bytes; empty when the stream was closed."""
        while not self._events and not self.closed:
            self._wake = asyncio.get_running_loop().create_future()
            self.read_at = math.inf
            try:
                await self._wake
            finally:
                self._wake = None
        self.read_at = asyncio.get_running_loop().time()
        taken: list[bytes] = []
        size = 0
        while self._events and (not taken or size + len(self._events[0]) <= _AT_ONCE_BYTES):
            taken.append(self._events.popleft())
            size += len(taken[-1])
        self._bytes -= size
        if self._untold and not self._events:
            taken.append(event("overflow", {"dropped": self._untold}))
            self._untold = 0
        self.written += len(taken)
        return taken[0] if len(taken) == 1 else b"".join(taken)

    def quiet_for(self, now: float) -> float:
        """For how long nothing was written, to the second in which one looks."""
        written, since = self._looked_at
        if self.written != written:
            self._looked_at = (self.written, now)
            return 0.0
        return now - since

    def uncounted(self) -> tuple[int, int]:
        """Events written and dropped since the last call."""
        (written, dropped), self._counted = self._counted, (self.written, self.dropped)
        return self.written - written, self.dropped - dropped

    def abort(self) -> None:
        """End at once: the reader is stalled, and the task that writes to it is held up."""
        self._events.clear()
        self._bytes = 0
        self.close()
        self.disconnect()

    def close(self) -> None:
        """Let the reader take what waits, then end."""
        self.closed = True
        self._rouse()


def framed(data: bytes) -> bytes:
    """A chunk of HTTP's chunked transfer coding (RFC 9112, 7.1)."""
    return b"%x\r\n%b\r\n" % (len(data), data)
