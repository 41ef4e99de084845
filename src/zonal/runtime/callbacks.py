"""The one runner of user callbacks: in order and one at a time for each, none waits for another."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from zonal.errors import ClosedError
from zonal.runtime.closing import patience

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from zonal.runtime.arrivals import Arrivals
    from zonal.runtime.mailbox import Mailbox

T = TypeVar("T")

logger = logging.getLogger(__name__)

_IDLE_S = 5.0
_SLOW_S, _SLOW_BATCH_S = 0.001, 0.01
"""Callbacks that take longer, for one item or many, are not called by the reading thread."""
_SLOW_TIMES, _VERY_SLOW_S, _SLOW_FOR_S = 2, 0.05, 1.0
"""That is, if they are slow so often in a row, or once for so long: a little, and once, may be the
machine, which had other work."""


class CallbackThreads:
    """Threads for callbacks: as many as run at the same time, ended when they are not needed."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._ready: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._idle = 0
        """Threads that wait, beyond one for each piece of work that is in the queue."""
        self._closed = False

    def run(self, work: Callable[[], object]) -> None:
        """Have a thread do this now; a new one if all are busy. What it raises is logged."""
        with self._lock:
            if self._idle:
                self._idle -= 1
                self._ready.put(work)
                return
        name = f"{self._name}-callback"
        thread = threading.Thread(target=self._work, args=(work,), name=name, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            if threading.main_thread().is_alive():
                raise
            self._ready.put(work)  # from Python 3.12 on none starts while the interpreter ends

    def _work(self, first: Callable[[], object]) -> None:
        work: Callable[[], object] | None = first
        while work is not None:
            try:
                work()
            except Exception:
                logger.exception("failed on a thread for callbacks")
            with self._lock:
                if self._closed:
                    return
                self._idle += 1
            work = self._next()

    def _next(self) -> Callable[[], object] | None:
        """What to do next; None: this thread is not needed."""
        with contextlib.suppress(queue.Empty):
            return self._ready.get(timeout=_IDLE_S)
        with self._lock:
            if self._idle:
                self._idle -= 1
                return None
        return self._ready.get()  # something was just put, for as many as wait

    def close(self) -> None:
        """End the threads that wait; those that call end afterwards."""
        with self._lock:
            self._closed = True
            for _ in range(self._idle):
                self._ready.put(None)
            self._idle = 0


class Callback(Generic[T]):
    """One callback and the items that wait for it.

    Items wait in a mailbox, which bounds them. An exception is logged and counted, and the next
    item follows. Where there are ``arrivals``, their reading thread makes the calls itself, as
    long as the callback is quick.
    """

    def __init__(
        self,
        name: str,
        function: Callable[[T], Any],
        mailbox: Mailbox[T],
        threads: CallbackThreads,
        arrivals: Arrivals | None = None,
    ) -> None:
        self._name = name
        self._function = function
        self._mailbox = mailbox
        self._threads = threads
        self._arrivals = arrivals
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._caller: int | None = None
        self._busy = False
        self._slow, self._slow_until = 0, 0.0
        self.errors = 0
        self.called_at_once = 0
        mailbox.before_waiting = self._begin
        if len(mailbox):
            self.offer(())

    def offer(self, items: Sequence[T]) -> None:
        """Items for the callback; they may have to wait, and `Overflow` says what if too many."""
        if items:
            self._mailbox.put(items)
        self._begin()

    def call_at_once(self, items: Sequence[T]) -> bool:
        """Call with these now, on the reading thread, as the last thing that it does.

        False, and nothing done, where others are before them or calls have been slow.
        """
        # A message that comes alone meets a cold cache: each function on its way is a microsecond.
        arrivals = self._arrivals
        with self._lock:
            if self._busy or arrivals is None:
                return False
            if not (arrivals.is_at_the_end and self._mailbox.is_idle):
                return False
            if time.monotonic() <= self._slow_until:
                return False
            self._busy = True
        self.called_at_once += len(items)
        arrivals.call(self._call_timed, items)
        self._rest_or_go_on()
        return True

    def _begin(self) -> None:
        with self._lock:
            if self._busy:
                return
            self._busy = True
        self._threads.run(self.make_calls)

    def _call_timed(self, items: Sequence[T]) -> None:
        start = time.monotonic()
        self._call(items)
        end = time.monotonic()
        took = end - start
        self._slow = self._slow + 1 if took > (_SLOW_S, _SLOW_BATCH_S)[len(items) > 1] else 0
        if self._slow >= _SLOW_TIMES or took > _VERY_SLOW_S:
            self._slow_until = end + _SLOW_FOR_S

    def make_calls(self) -> None:
        """On a thread for callbacks: what waits now; then others' turn."""
        items: list[T] = []
        with contextlib.suppress(ClosedError):
            items = self._mailbox.take_all(timeout=0)
        self._call(items)
        self._rest_or_go_on()

    def _rest_or_go_on(self) -> None:
        with self._lock:
            self._caller = None
            if not len(self._mailbox):
                self._busy = False
                self._changed.notify_all()
                return
        self._threads.run(self.make_calls)

    def _call(self, items: Sequence[T]) -> None:
        self._caller = threading.get_ident()
        function, left = self._function, iter(items)
        while True:
            try:
                for item in left:
                    function(item)
            except Exception:  # the user's own errors must not end the delivery
                self.errors += 1
                logger.exception("the callback of %s failed", self._name)
            else:
                return

    def end(self) -> None:
        """Wait until the last call is over, unless asked from within it; the mailbox is closed."""
        with self._changed:
            if self._caller == threading.get_ident():
                return
            self._changed.wait_for(lambda: not self._busy, patience.seconds)
