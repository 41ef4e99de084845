"""The one way from the threads of a network library to ours: a bounded queue and its reader."""

from __future__ import annotations

import logging
import queue
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from zonal.runtime.closing import patience
from zonal.runtime.foreign_thread import keep_state

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)

CAPACITY, CAPACITY_BYTES = 8_192, 64 * 1024 * 1024
"""What may wait for the reader; whoever brings more is held up until there is room."""
_UNWEIGHED, _LOOKED_AT = 1_024, 16
"""Behind so many items each is weighed; a reader that keeps up never has as many. Of those before
them each sixteenth is looked at, and stands for the others."""

_BATCH = 1_024
_LANE_BATCH = 1_024
"""So many at once, of those that wait in a lane, as outweigh what each look costs."""
_LANE_LOOKS = 8
"""So often at most a lane is read before the queue gets its turn."""
_BACKLOG = 16
_NAP_S = 0.0005
"""A reader with a backlog sleeps so long between two looks: whoever brings items then gets the
interpreter without a fight, and both are quicker. Alone, an item is read at once."""
_HELD_UP_S = 0.0005
_PATIENCE_S = 0.02
"""How long user code may keep the reader before another thread reads in its place."""
_QUIET_S = 1.0

Receiver: TypeAlias = "Callable[[list[Any]], bool | None]"
"""Takes the items that came through one door, in order, on the reading thread. False: another
thread has to deal with them."""
Take: TypeAlias = "Callable[[int], list[Any] | None]"
"""Gives at most so many items at once, without waiting; None: there will be no more."""


Leave: TypeAlias = "Callable[[], None]"
"""Has what comes by a lane come by a door instead, which weighs it; what is there is still taken.
On the reading thread."""


class Lanes(NamedTuple):
    """What those may do who let the reader come to them; on the reading thread or another."""

    add: Callable[[Take, Leave], None]
    """Have the reader take items here, too, before it reads what waits in the queue by then."""
    put_behind: Callable[[Any], None]
    """Put an item behind all that waits in the queue, without being held up."""


def _nothing(_: list[Any]) -> None:
    """The receiver of what only wakes the reader."""


class Arrivals:
    """Items from foreign threads, handed to their receivers by one reading thread.

    Each receiver has a door: a function that never runs user code, never blocks for long while
    there is room, and may be called from any thread. A receiver that raises loses its own batch
    and nobody else's.

    Args:
        name: its threads'.
        capacity: how many items may wait.
        weight_of: the bytes of an item; what waits of them is bounded, too, by `CAPACITY_BYTES`.
    """

    def __init__(
        self,
        name: str,
        capacity: int = CAPACITY,
        *,
        weight_of: Callable[[Any], int] = lambda _: 0,
    ) -> None:
        self._name = name
        self._capacity = capacity
        self._weight_of = weight_of
        self._queue: queue.SimpleQueue[tuple[Receiver, Any] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._reader: threading.Thread | None = None
        self._watcher: threading.Thread | None = None
        self._closed = threading.Event()
        self._waiting_bytes = 0
        self._lanes: tuple[tuple[Receiver, Take, Leave], ...] = ()
        self.is_at_the_end = True
        """Whether what a receiver gets now is the last that the reader has taken from the queue."""
        self._calls = 0
        self._calling = 0
        self._called = threading.Event()
        self._is_unwatched = True
        self.held_up = 0
        """How often somebody who brought an item had to wait for room."""

    def door(self, receiver: Receiver) -> Callable[[Any], None]:
        """What the network calls with each item for this receiver."""
        put, waiting = self._queue.put, self._queue.qsize
        get_ident, known = threading.get_ident, set[int]()

        def arrive(item: Any) -> None:
            if get_ident() not in known:
                keep_state()
                known.add(get_ident())
            ahead = waiting()
            if ahead >= _UNWEIGHED:
                self._weigh(item, 1)
            elif ahead and not ahead % _LOOKED_AT:
                self._weigh(item, _LOOKED_AT)
            put((receiver, item))

        self._start()
        return arrive

    def lanes(self, receiver: Receiver) -> Lanes:
        """Other ways to this receiver, for so many items at a time that a door would be dear."""

        def add(take: Take, leave: Leave) -> None:
            with self._lock:
                self._lanes = (*self._lanes, (receiver, take, leave))
            self._queue.put((_nothing, None))  # the reader may be asleep at the queue

        return Lanes(add, lambda item: self._queue.put((receiver, item)))

    def _start(self) -> None:
        with self._lock:
            if self._reader is None and not self._closed.is_set():
                self._reader = self._new_reader()
                self._reader.start()

    def _new_reader(self) -> threading.Thread:
        return threading.Thread(target=self._read, name=f"{self._name}-reader", daemon=True)

    def _weigh(self, item: Any, stands_for: int) -> None:
        """Count what waits; hold up whoever brings too much."""
        self._waiting_bytes += stands_for * self._weight_of(item)
        if not self._is_full:
            return
        self.held_up += 1
        while self._is_full and not self._closed.is_set():
            time.sleep(_HELD_UP_S)

    @property
    def _is_full(self) -> bool:
        return self._queue.qsize() >= self._capacity or self._waiting_bytes > CAPACITY_BYTES

    def _read(self) -> None:
        me, get, waiting = threading.current_thread(), self._queue.get, self._queue.qsize
        while self._reader is me:
            if self._lanes:
                if not self._read_lanes_and_queue():
                    return
                continue
            first = get()
            more = waiting()
            if not more and first is not None:
                self._give(first[0], [first[1]])
                continue
            batch = [first, *(get() for _ in range(min(more, _BATCH)))]
            if more <= _BATCH:  # all that was weighed is taken
                self._waiting_bytes = 0
            if not self._hand_over(batch):
                return
            if more > _BACKLOG:
                time.sleep(_NAP_S)

    def _read_lanes_and_queue(self) -> bool:
        """Look into all lanes, then read what waited in the queue before; whether to go on.

        What came by a lane before something in the queue is so read before it.
        """
        me, get = threading.current_thread(), self._queue.get
        there = self._queue.qsize()
        busy, ahead = self._read_lanes(wholly=there > 0)
        if self._reader is not me:
            return False
        if there:
            self._waiting_bytes = 0 if there <= _BATCH else self._waiting_bytes
            return self._hand_over([get() for _ in range(min(there, _BATCH))])
        if ahead or not busy:
            time.sleep(_NAP_S)
        return True

    def _read_lanes(self, *, wholly: bool) -> tuple[bool, bool]:
        """Take from each lane, once or all it has; whether there was anything, and still waits.

        What another thread has to deal with is read wholly, too: then that thread gets the
        interpreter for a nap's time. Ends early where another reader has taken over.
        """
        me, busy, ahead = threading.current_thread(), False, False
        for lane in self._lanes:
            receiver, take, _ = lane
            for _ in range(_LANE_LOOKS):
                items = take(_LANE_BATCH)
                if items:
                    busy = True
                    ahead = self._give(receiver, items) is False or ahead
                if self._reader is not me:
                    return busy, ahead
                if not items or not (wholly or ahead):
                    break
            if items is None:
                with self._lock:
                    self._lanes = tuple(each for each in self._lanes if each is not lane)
        return busy, ahead

    def leave_lanes(self) -> None:
        """Have nothing more come by them: a receiver is stuck, and they would only fill up.

        On the reading thread, from within a receiver.
        """
        for _, _, leave in self._lanes:
            leave()

    def _hand_over(self, batch: list[tuple[Receiver, Any] | None]) -> bool:
        """Give a batch to its receivers; whether there is more to come."""
        by_receiver: dict[Receiver, list[Any]] = {}
        open_ = True
        for entry in batch:
            if entry is None:
                open_ = False
            elif entry[0] in by_receiver:
                by_receiver[entry[0]].append(entry[1])
            else:
                by_receiver[entry[0]] = [entry[1]]
        if len(by_receiver) == 1 and open_:
            ((receiver, items),) = by_receiver.items()
            self._give(receiver, items)
            return True
        self.is_at_the_end = False
        for receiver, items in by_receiver.items():
            self._give(receiver, items)
        while not open_ and self._read_lanes(wholly=True)[0]:
            pass  # what has arrived is read
        self.is_at_the_end = True
        return open_

    @staticmethod
    def _give(receiver: Receiver, items: list[Any]) -> bool | None:
        try:
            return receiver(items)
        except Exception:  # a reader that dies would silence everybody
            logger.exception("failed to process %d items", len(items))
            return None

    # User code on the reading thread

    def call(self, user_code: Callable[[Any], None], items: Any) -> None:
        """Run something short of the user's on the reading thread, which saves the way to another.

        Should it take longer than 20 ms, another thread reads in the place of this one, which
        ends when the call does. Only for the reading thread, as the last thing it does.
        """
        if self._watcher is None:
            self._start_watcher()
        self._calls += 1
        call = self._calling = self._calls
        if self._is_unwatched:
            self._is_unwatched = False
            self._called.set()
        try:
            user_code(items)
        finally:
            with self._lock:
                if self._calling == call:  # else this reader was replaced, and the new one calls
                    self._calling = 0

    def _start_watcher(self) -> None:
        with self._lock:
            if not self._closed.is_set():
                name = f"{self._name}-watcher"
                self._watcher = threading.Thread(target=self._watch, name=name, daemon=True)
                self._watcher.start()

    def _watch(self) -> None:
        """Replace a reader whose call takes too long; sleeps while no calls are made."""
        quiet_s = 0.0
        while not self._closed.is_set():
            self._called.wait()
            seen, calls = self._calling, self._calls
            if self._closed.wait(_PATIENCE_S):
                return
            if seen and self._calling == seen:
                self._replace_reader(seen)
            quiet_s = 0.0 if self._calls != calls or self._calling else quiet_s + _PATIENCE_S
            if quiet_s > _QUIET_S:
                quiet_s = 0.0
                self._called.clear()
                self._is_unwatched = True
                if self._calling or self._closed.is_set():  # a call that has not seen it
                    self._called.set()

    def _replace_reader(self, stuck_in: int) -> None:
        with self._lock:
            if self._calling != stuck_in or self._closed.is_set():
                return
            self._calling = 0
            self._reader = self._new_reader()
            self._reader.start()

    def close(self) -> None:
        """Read what has arrived, then end; waits for that, unless it is the reader that asks."""
        with self._lock:
            reader, watcher = self._reader, self._watcher
            if self._closed.is_set():
                return
            self._closed.set()
        self._called.set()
        self._queue.put(None)
        for thread in (reader, watcher):
            if thread is not None and thread is not threading.current_thread():
                thread.join(patience.seconds)
