"""A bounded box between the threads that receive and the code of the user."""

from __future__ import annotations

import asyncio
import contextlib
import enum
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

from zonal.errors import ClosedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from zonal.runtime.lease import Lease

T = TypeVar("T")

DEFAULT_CAPACITY = 65_536


class Overflow(enum.Enum):
    """What happens when the user's code is slower than the network."""

    DROP_OLDEST = "drop-oldest"
    DROP_NEWEST = "drop-newest"
    BLOCK = "block"
    """Nothing is dropped; the network is held up, and Zenoh closes a link held up for long."""


class Mailbox(Generic[T]):
    """Items for one reader: bounded, countable, closable; for threads and for asyncio."""

    def __init__(
        self, capacity: int = DEFAULT_CAPACITY, overflow: Overflow = Overflow.DROP_OLDEST
    ) -> None:
        if capacity < 1:
            raise ValueError(f"a capacity is at least 1, not {capacity}")
        self._items: deque[T] = deque()
        self._capacity = capacity
        self._overflow = overflow
        self._changed = threading.Condition(threading.Lock())  # waited on by writers without room
        # A waiting reader sleeps on a lock of its own, which is released when the box's is free
        # again: woken under it, the reader would only run into it, and a message be later.
        self._readers: list[threading.Lock] = []
        self._async_waiters: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._lent: deque[Lease[T]] = deque()
        self._borrowers = 0
        self._closed = False
        self.overflowed = 0
        self.taken = 0

    def __len__(self) -> int:
        return len(self._items)

    @property
    def holds_up(self) -> bool:
        """Whether a full box makes the network wait, instead of dropping something."""
        return self._overflow is Overflow.BLOCK

    @property
    def is_closed(self) -> bool:
        """Whether nothing more will come."""
        return self._closed

    def put(self, items: Sequence[T]) -> None:
        """Add items; what does not fit is handled as `overflow` says, and counted."""
        with self._changed:
            if self._closed:
                return
            room = self._capacity - len(self._items)
            if len(items) > room:
                items = self._make_room(items, room)
            self._items.extend(items)
            readers, self._readers = self._readers, []
        self._wake(readers)

    def _wake(self, readers: list[threading.Lock]) -> None:
        for reader in readers:
            reader.release()
        for loop, event in tuple(self._async_waiters):
            with contextlib.suppress(RuntimeError):  # the loop may just have been closed
                loop.call_soon_threadsafe(event.set)

    def _make_room(self, items: Sequence[T], room: int) -> Sequence[T]:
        match self._overflow:
            case Overflow.DROP_OLDEST:
                excess = len(items) - room
                self.overflowed += excess
                from_box = min(excess, len(self._items))
                for _ in range(from_box):
                    self._items.popleft()
                return items[excess - from_box :]
            case Overflow.DROP_NEWEST:
                self.overflowed += len(items) - room
                return items[:room]
            case Overflow.BLOCK:
                return self._put_as_room_comes(items)

    def _put_as_room_comes(self, items: Sequence[T]) -> Sequence[T]:
        rest = deque(items)
        while rest and not self._closed:
            while rest and len(self._items) < self._capacity:
                self._items.append(rest.popleft())
            readers, self._readers = self._readers, []
            self._wake(readers)
            if rest:
                self._changed.wait()
        return ()

    def lend(self, lease: Lease[T]) -> bool:
        """Let a borrower read a channel directly; whether there is one."""
        with self._changed:
            if not self._borrowers or self._closed:
                return False
            self._lent.append(lease)
            readers, self._readers = self._readers, []
        self._wake(readers)
        return True

    def take(self, timeout: float | None = None) -> T | None:
        """The next item, waiting for it; None when the time is over.

        A closed box still gives what is in it, then raises `ClosedError`.
        """
        self._wait(timeout)
        with self._changed:
            return self._pop()

    def take_all(self, timeout: float | None = None) -> list[T]:
        """All items that are there, waiting for the first; empty when the time is over."""
        self._wait(timeout)
        with self._changed:
            first = self._pop()
            if first is None:
                return []
            items = [first, *self._items]
            self._items.clear()
            self.taken += len(items) - 1
            self._notify_writers()
        return items

    def _wait(self, timeout: float | None, *, lent: bool = False) -> None:
        """Until there is an item (or a lent channel), the box is closed, or the time is over."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._items and not self._closed and not (lent and self._lent):
            left = -1.0 if deadline is None else deadline - time.monotonic()
            if deadline is not None and left <= 0:
                return
            with self._changed:
                if self._items or self._closed or (lent and self._lent):
                    return
                sleeping = threading.Lock()
                sleeping.acquire()
                self._readers.append(sleeping)
            if not sleeping.acquire(timeout=left):
                with self._changed:
                    if sleeping in self._readers:
                        self._readers.remove(sleeping)

    def _pop(self) -> T | None:
        if self._items:
            self.taken += 1
            item = self._items.popleft()
            self._notify_writers()
            return item
        if self._closed:
            raise ClosedError("nothing more will come: the subscriber or session was closed")
        return None

    def _notify_writers(self) -> None:
        if self.holds_up:
            self._changed.notify_all()

    def close(self) -> None:
        """Nothing more will come; readers get what is left and then an end."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            readers, self._readers = self._readers, []
        self._wake(readers)

    @contextlib.contextmanager
    def borrowing(self) -> Iterator[None]:
        """Take lent channels from now on; they go back at the end."""
        with self._changed:
            self._borrowers += 1
        try:
            yield
        finally:
            with self._changed:
                self._borrowers -= 1
            while self._lent:
                self._lent.popleft().end()

    def __iter__(self) -> Iterator[T]:
        with self.borrowing():
            while (batch := self._next_batch()) is not None:
                batch.reverse()
                try:
                    while batch:
                        yield batch.pop()
                finally:  # what a loop that ends early leaves behind goes back to the box
                    if batch:
                        self._put_back(batch)

    def _next_batch(self) -> list[T] | None:
        """What is in the box or in a lent channel; None when nothing more will come."""
        self._wait(None, lent=True)
        if self._closed and not self.has_more:
            return None
        return self.take_what_is_there()

    @property
    def has_more(self) -> bool:
        """Whether there is an item, or a lent channel that may hold one."""
        return bool(self._items or self._lent)

    def wait(self, timeout: float) -> bool:
        """Wait for an item or a lent channel; whether there is one."""
        self._wait(timeout, lent=True)
        return self.has_more

    def take_what_is_there(self) -> list[T]:
        """All items of the box, or else what a lent channel holds, without waiting."""
        if self._lent and not self._items:
            batch = self._lent[0].read()
            if batch is None:
                self._lent.popleft()
                return []
            self.taken += len(batch)
            return batch
        try:
            return self.take_all(timeout=0)
        except ClosedError:
            return []

    def _put_back(self, reversed_batch: list[T]) -> None:
        with self._changed:
            self._items.extendleft(reversed_batch)
            self.taken -= len(reversed_batch)

    async def __aiter__(self) -> AsyncIterator[T]:
        event = asyncio.Event()
        waiter = (asyncio.get_running_loop(), event)
        with self._changed:
            self._async_waiters.add(waiter)
        try:
            while True:
                event.clear()
                try:
                    item = self.take(timeout=0)
                except ClosedError:
                    return
                if item is None:
                    await event.wait()
                else:
                    yield item
        finally:
            with self._changed:
                self._async_waiters.discard(waiter)
