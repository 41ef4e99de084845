"""A key that very many messages come by, read from one of Zenoh's channels instead of the queue.

For a message in a queue of ours, Zenoh's thread has to get hold of the interpreter, which is most
of what such a message costs. A channel of Zenoh's is filled without it, but has to be looked into:
by a thread for each channel or, as here, by a reader that has no time to sleep anyway.
"""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, Any

import zenoh

from zonal.runtime import HEAVY

if TYPE_CHECKING:
    from collections.abc import Callable

CAPACITY = 2_048
"""What may wait in a lane, of any size; whoever brings more is held up, as at the queue. Large
messages end a lane with the first that is seen, a reader that is stuck does within a tenth of a
second: so a lane holds at most what its link brings between two looks, or in that time."""

DOUBTFUL = CAPACITY + 64
"""So many messages of a lane may have come by the former way, too: all that were there when it
ended, and one for each of Zenoh's threads that was just handing one over. Fewer, if it was seen
empty some time after that end."""
_DOUBTFUL_S = 1.0
"""How long one of Zenoh's threads may take from handing a message over here to doing so there."""
_PATIENCE_S = 0.02
"""So long a lane stays shut before what is in it goes to the queue: see `Lane`."""
_LOOKS, _FEW = 256, 8
"""A lane that gave fewer messages a look, over so many looks, is given up."""


class Lane:
    """The messages of one declared key while there are many. On the reading thread.

    It is shut until what came by the former way was read. That may take long: Zenoh's thread may
    wait for room here before it can let go of the former way, or hold a message for which it knows
    only that one. Meanwhile what comes by the lane is put into the queue, behind what came before.

    Args:
        declare: makes Zenoh's subscriber from the channel.
        put_behind: puts a message behind all that waits in the queue.
        open_behind: has `open` called behind all that waits in the queue.
        on_settled: called when no message comes by the former way any more.
        on_idle: called when few messages come; it may declare another way and end this.
        on_heavy: called when large ones come, whose bytes nobody counts here; likewise.
        on_end: called when the last message was taken.
    """

    def __init__(
        self,
        declare: Callable[[Any], Any],
        put_behind: Callable[[zenoh.Sample], None],
        open_behind: Callable[[Lane], None],
        on_settled: Callable[[], None],
        on_idle: Callable[[], None],
        on_heavy: Callable[[], None],
        on_end: Callable[[], None],
    ) -> None:
        self._subscriber = declare(zenoh.handlers.FifoChannel(CAPACITY))
        self._try_recv = self._subscriber.handler.try_recv
        self._put_behind = put_behind
        self._open_behind = open_behind
        self._on_settled = on_settled
        self._on_idle = on_idle
        self._on_heavy = on_heavy
        self._on_end = on_end
        self.is_open = False
        """Whether what came by the former way was read."""
        self._shut_until: float | None = time.monotonic() + _PATIENCE_S
        self._in_queue = False
        self._settled = False
        self._doubtful: int | None = None
        self._former_gone_at = 0.0
        self._ending = False
        self._empty_at: float | None = None
        self._looks = self._taken = 0

    def former_is_gone(self) -> None:
        """The subscriber that the key had before was undeclared; from any thread."""
        self._former_gone_at = time.monotonic()
        self._doubtful = DOUBTFUL

    def open(self) -> None:
        """What came by the former way was read."""
        self._shut_until = None
        self.is_open = not self._in_queue
        if self._in_queue:
            self._in_queue = False
            self._open_behind(self)

    def undeclare(self) -> None:
        """Nothing more comes by it; what is there is still taken. From any thread."""
        self._ending = True
        self._subscriber.undeclare()

    def take(self, most: int) -> list[zenoh.Sample] | None:
        """What is there; None when the end is reached."""
        if not self.is_open:
            if self._shut_until is not None and time.monotonic() > self._shut_until:
                self._move_to_queue(most)
            return []
        if self._ending:
            return self._take_last()
        if self._doubtful is not None and self._doubtful <= 0:
            self._settle()
        items = self._there(most)
        self._looks += 1
        self._taken += len(items)
        if items and len(items[-1].payload) > HEAVY:  # any other would do as well
            self._on_heavy()
        if self._doubtful is not None:
            self._doubtful = self._still_doubtful(len(items), self._doubtful)
        if self._looks == _LOOKS:
            if self._taken < _FEW * _LOOKS:
                self._on_idle()
            self._looks = self._taken = 0
        return items

    def _still_doubtful(self, taken: int, doubtful: int) -> int:
        if not taken and time.monotonic() - self._former_gone_at > _DOUBTFUL_S:
            return 0
        return doubtful - taken

    def _move_to_queue(self, most: int) -> None:
        for item in self._there(most):
            self._in_queue = True
            self._put_behind(item)

    def _there(self, most: int) -> list[zenoh.Sample]:
        items: list[zenoh.Sample] = []
        try:
            items.extend(itertools.islice(iter(self._try_recv, None), most))
        except zenoh.ZError:  # read empty, and nobody can fill it any more
            self._empty_at = self._empty_at or time.monotonic()
        return items

    def _settle(self) -> None:
        self._doubtful = None
        if not self._settled:
            self._settled = True
            self._on_settled()

    def _take_last(self) -> list[zenoh.Sample] | None:
        items = self._there(CAPACITY)
        if self._empty_at is None or time.monotonic() - self._empty_at < _DOUBTFUL_S:
            return items
        self._settle()
        self._on_end()
        return None
