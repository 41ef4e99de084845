"""A bounded box between the threads that receive and the code of the user."""

from __future__ import annotations

import asyncio
import contextlib
import enum
import logging
import math
import threading
import time
from collections import deque
from itertools import chain, repeat
from typing import TYPE_CHECKING, Generic, TypeVar

from zonal.errors import ClosedError, ConfigurationError
from zonal.runtime.folded import Folded
from zonal.runtime.tally import Tally

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence

T = TypeVar("T")

logger = logging.getLogger(__name__)

DEFAULT_CAPACITY = 65_536
"""Items that may wait, unless asked otherwise."""
DEFAULT_CAPACITY_BYTES = 256 * 1024 * 1024
"""Bytes that may wait in items that can be weighed; one item may always wait."""
HEAVY = 16 * 1024
"""Bytes from which on an item is weighed at once."""
_UNWEIGHED, _LOOK_AT = 4_096, 64
"""So many items, light ones, are weighed when more come, if they do: a reader that keeps up pays
nothing but a look at each 64th of what is put together, from the last on."""
_TELL_EVERY_S = 60.0
_STUCK_S = 0.1
"""Who takes nothing for so long is stuck."""
_TOLD = "%(why)s is read too slowly: %(count)d messages were dropped so far"


class Overflow(enum.Enum):
    """What happens when the user's code is slower than the network."""

    DROP_OLDEST = "drop-oldest"
    DROP_NEWEST = "drop-newest"
    BLOCK = "block"
    """Nothing is dropped; the network is held up, and Zenoh closes a link held up for long."""


class Mailbox(Generic[T]):
    """Items for one reader: bounded, countable, closable; for threads and for asyncio.

    Args:
        capacity: how many items may wait.
        overflow: what happens to more.
        name: whose box it is, for the log: an overflow is told once, and then once a minute.
        weigh: the bytes of an item, which are bounded, too, by `DEFAULT_CAPACITY_BYTES`. As long as
            4,096 items wait, or fewer, light ones are not weighed (64 MiB at most); whether they
            are is seen from each 64th of those that are put together.
        patience_s: with `Overflow.BLOCK`, how long whoever puts is held up while nobody takes
            anything; what does not fit then is dropped, until somebody takes something.
    """

    def __init__(
        self,
        capacity: int = DEFAULT_CAPACITY,
        overflow: Overflow = Overflow.DROP_OLDEST,
        *,
        name: str = "",
        weigh: Callable[[T], int] | None = None,
        patience_s: float = math.inf,
    ) -> None:
        if not isinstance(capacity, int) or capacity < 1:
            raise ConfigurationError(
                f"a capacity is a whole number of at least 1, not {capacity!r}"
            )
        self._items: deque[T] = deque()
        self._folded: deque[Folded[T]] = deque()  # behind the items
        self._in_folded = 0
        self._capacity = capacity
        self._overflow = overflow
        self._name = name
        self._weigh = weigh
        self._bytes = 0
        self._are_weighed = weigh is None
        """Whether `_bytes` are those of all items."""
        self._patience_s = patience_s
        self._is_given_up = False
        self._dropped = Tally(logger, _TOLD, _TELL_EVERY_S)
        self._changed = threading.Condition(threading.Lock())  # waited on by writers without room
        # A waiting reader sleeps on a lock of its own, which is released when the box's is free
        # again: woken under it, the reader would only run into it, and a message be later.
        self._readers: list[threading.Lock] = []
        self._async_waiters: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._closed = False
        self.before_waiting: Callable[[], None] = lambda: None
        """Called when somebody who puts items waits for room, so that whoever makes it begins."""
        self.when_stuck: Callable[[], None] = lambda: None
        """Called, without a lock, each tenth of a second that nobody has made room."""
        self.taken = 0

    def __len__(self) -> int:
        return len(self._items) + self._in_folded

    @property
    def is_closed(self) -> bool:
        """Whether nothing more will come."""
        return self._closed

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits, and something may still come."""
        return not (self._items or self._in_folded or self._closed)

    @property
    def overflowed(self) -> int:
        """How many items were dropped."""
        return self._dropped.count

    def put(self, items: Sequence[T]) -> None:
        """Add items; what does not fit is handled as `overflow` says, and counted."""
        dropped = 0
        with self._changed:
            if self._closed:
                return
            if self._has_room(items):
                self._add(items)
            elif self._overflow is Overflow.BLOCK:
                dropped = self._put_as_room_comes(items)
            else:
                dropped = self._put_and_drop(items)
            readers, self._readers = self._readers, []
        self._wake(readers)
        if dropped:
            self._dropped.add(self._name, dropped)

    def _add(self, items: Sequence[T]) -> None:
        if isinstance(items, Folded):
            self._folded.append(items)
            self._in_folded += len(items)
        else:
            self._unfold()
            self._items.extend(items)

    def _unfold(self) -> None:
        """Make the items that wait to be made: not all is taken at once, or some have to go."""
        if self._folded:
            self._items.extend(chain.from_iterable(self._folded))
            self._folded.clear()
            self._in_folded = 0

    def _has_room(self, items: Sequence[T]) -> bool:
        """Whether all fit; their bytes are added."""
        waiting = len(self)
        if waiting + len(items) > self._capacity:
            self._weigh_all()
            return False
        if self._weigh is None or not items:
            return True
        if not self._are_weighed:
            if waiting + len(items) <= _UNWEIGHED and self._look_light(items):
                return True
            self._weigh_all()
        added = self._weight(items)
        if waiting + len(items) > 1 and self._bytes + added > DEFAULT_CAPACITY_BYTES:
            return False
        self._bytes += added
        return True

    def _look_light(self, items: Sequence[T]) -> bool:
        assert self._weigh is not None
        # A generator would cost as much as the look.
        for at in range(len(items) - 1, -1, -_LOOK_AT):  # noqa: SIM110
            if self._weigh(items[at]) >= HEAVY:
                return False
        return True

    def _weigh_all(self) -> None:
        """What waits has not been weighed, and from now on matters."""
        if not self._are_weighed:
            self._are_weighed = True
            self._bytes = self._weight(self._items) + sum(map(self._weight, self._folded))

    def _weight(self, items: Iterable[T]) -> int:
        if isinstance(items, Folded):
            return items.weight
        return 0 if self._weigh is None else sum(map(self._weigh, items))

    def _put_and_drop(self, items: Sequence[T]) -> int:
        """One by one: the oldest go, or the new ones do not come in; how many did."""
        self._unfold()
        dropped = 0
        for item in items:
            size = self._weigh(item) if self._weigh is not None else 0
            while self._items and self._is_full_with(size):
                dropped += 1
                if self._overflow is Overflow.DROP_NEWEST:
                    break
                self._forget(self._items.popleft())
            else:
                self._items.append(item)
                self._bytes += size
        return dropped

    def _is_full_with(self, size: int) -> bool:
        return len(self._items) >= self._capacity or self._bytes + size > DEFAULT_CAPACITY_BYTES

    def _forget(self, item: T) -> None:
        if self._weigh is not None:
            self._bytes = max(self._bytes - self._weigh(item), 0)

    def _put_as_room_comes(self, items: Sequence[T]) -> int:
        """One by one; how many were dropped, since nobody made room."""
        rest = deque(items)
        while rest and not self._closed:
            self._unfold()
            while rest:
                size = 0 if self._weigh is None else self._weigh(rest[0])
                if self._items and self._is_full_with(size):
                    break
                self._weigh_all()  # they may have been let go of meanwhile
                self._bytes += size
                self._items.append(rest.popleft())
            readers, self._readers = self._readers, []
            self._wake(readers)
            if rest and not self._wait_for_room():
                return len(rest)
        return 0

    def _wait_for_room(self) -> bool:
        """Let whoever takes make some; False: nobody did."""
        self.before_waiting()
        taken, waited_s = self.taken, 0.0
        while not self._closed and self.taken == taken:
            if self._is_given_up or waited_s >= self._patience_s:
                self._is_given_up = True
                return False
            if not self._changed.wait(_STUCK_S):
                waited_s += _STUCK_S
                self._changed.release()
                try:
                    self.when_stuck()
                finally:
                    self._changed.acquire()
        return True

    def _wake(self, readers: list[threading.Lock]) -> None:
        for reader in readers:
            reader.release()
        for loop, event in tuple(self._async_waiters):
            with contextlib.suppress(RuntimeError):  # the loop may just have been closed
                loop.call_soon_threadsafe(event.set)

    def take(self, timeout: float | None = None) -> T | None:
        """The next item, waiting for it; None when the time is over.

        A closed box still gives what is in it, then raises `ClosedError`.
        """
        self._wait(timeout)
        with self._changed:
            self._unfold()
            if not self._items:
                self._check_open()
                return None
            self.taken += 1
            item = self._items.popleft()
            if self._are_weighed:
                self._forget(item)
            self._made_room()
        return item

    def take_all(self, timeout: float | None = None) -> list[T]:
        """All items that are there, waiting for the first; empty when the time is over."""
        return list(chain.from_iterable(self._take_batches(timeout)))

    def take_batch(self, timeout: float | None = None) -> Sequence[T]:
        """Some of them, waiting for the first: those that were folded together still are."""
        self._wait(timeout)
        with self._changed:
            if self._items or not self._folded:
                batch: Sequence[T] = list(self._items)
                self._items.clear()
            else:
                batch = self._folded.popleft()
                self._in_folded -= len(batch)
            if not batch:
                self._check_open()
            self.taken += len(batch)
            if self._bytes and len(self):
                self._bytes = max(self._bytes - self._weight(batch), 0)
            self._made_room()
        return batch

    def _take_batches(self, timeout: float | None = None) -> deque[Iterable[T]]:
        """The same, with those still to be made that were folded."""
        self._wait(timeout)
        with self._changed:
            if not len(self):
                self._check_open()
                return deque()
            self.taken += len(self)
            items = list(self._items)
            items.reverse()
            # Each is let go of when it was read.
            batches: deque[Iterable[T]] = deque((map(list.pop, repeat(items, len(items))),))
            batches.extend(self._folded)
            self._items.clear()
            self._folded.clear()
            self._in_folded = 0
            self._made_room()
        return batches

    def _made_room(self) -> None:
        """The items of an empty box need not be weighed any more, and writers may go on."""
        if not len(self):
            self._bytes = 0
            self._are_weighed = self._weigh is None
        self._is_given_up = False
        if self._overflow is Overflow.BLOCK:
            self._changed.notify_all()

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError("nothing more will come: the subscriber or session was closed")

    def _wait(self, timeout: float | None) -> None:
        """Until there is an item, the box is closed, or the time is over."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not len(self) and not self._closed:
            left = -1.0 if deadline is None else deadline - time.monotonic()
            if deadline is not None and left <= 0:
                return
            with self._changed:
                if len(self) or self._closed:
                    return
                sleeping = threading.Lock()
                sleeping.acquire()
                self._readers.append(sleeping)
            if not sleeping.acquire(timeout=left):
                with self._changed:
                    if sleeping in self._readers:
                        self._readers.remove(sleeping)

    def close(self) -> None:
        """Nothing more will come; readers get what is left and then an end."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            readers, self._readers = self._readers, []
        self._wake(readers)

    def __iter__(self) -> Iterator[T]:
        # An item so passes no function of Python's on its way from its batch to the user.
        return chain.from_iterable(self._batches())

    def _batches(self) -> Iterator[Iterator[T]]:
        while True:
            try:
                batches = self._take_batches()
            except ClosedError:
                return
            left: Iterator[T] = iter(())
            try:
                while batches:
                    left = iter(batches.popleft())
                    yield left
            finally:  # the loop may have been left early: others may go on from here
                self._put_back([*left, *chain.from_iterable(batches)])

    def _put_back(self, items: list[T]) -> None:
        if items:
            with self._changed:
                self._items.extendleft(reversed(items))
                self._bytes += self._weight(items) if self._are_weighed else 0
                self.taken -= len(items)

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
