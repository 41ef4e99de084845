"""A channel with a backlog, lent to the thread of the user that waits for its samples.

Under load the hop from the reading thread to the user's costs more than all else: two threads take
turns at the interpreter. So a reading thread that finds a backlog lends its channel to the one who
iterates, who reads it directly until it is empty. Whoever is slow loses it again: the reading
thread takes it back, and the mailbox bounds what waits, as ever.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

_PATIENCE_S = 0.1


class Lease(Generic[T]):
    """The right to read one channel; it ends when the channel is empty or the reader is slow."""

    def __init__(self, read: Callable[[], list[T] | None]) -> None:
        self._read = read
        self._reading = threading.Lock()
        self._over = threading.Event()
        self._reads = 0

    def read(self) -> list[T] | None:
        """What the channel holds, or a part of it; None when the lease is over."""
        with self._reading:
            if self._over.is_set():
                return None
            self._reads += 1
            items = self._read()
            if items is None:
                self._over.set()
            return items

    def end(self) -> None:
        """Give the channel back."""
        with self._reading:
            self._over.set()

    def wait(self) -> None:
        """Wait, as the lender, until the channel is one's own again."""
        reads = -1
        while not self._over.wait(_PATIENCE_S):
            with self._reading:
                if self._reads == reads:
                    self._over.set()
                reads = self._reads
