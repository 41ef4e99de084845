"""What comes one after another, for whoever iterates, waits, or gave a callback."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from zonal.runtime.callbacks import Callback

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence

    from zonal.runtime.arrivals import Arrivals
    from zonal.runtime.callbacks import CallbackThreads
    from zonal.runtime.mailbox import Mailbox

T = TypeVar("T")


class Incoming(Generic[T]):
    """Items that wait in a mailbox: take them with `recv`, `for` or `async for`.

    Args:
        mailbox: where items wait.
        read: makes of an item in the mailbox what the user gets, on the thread of whoever takes
            it; None leaves the item out. Without it items are given as they are.
    """

    def __init__(
        self, mailbox: Mailbox[Any], read: Callable[[Any], T | None] | None = None
    ) -> None:
        self._mailbox = mailbox
        self._read_item = read
        self._callback: Callback[Any] | None = None

    @property
    def callback_errors(self) -> int:
        """How often the callback raised."""
        return 0 if self._callback is None else self._callback.errors

    def recv(self, timeout: float | None = None) -> T | None:
        """The next item, waiting for it; None when `timeout` seconds are over.

        `ClosedError` when nothing is left and nothing more will come.
        """
        read = self._read_item
        if read is None:
            return self._mailbox.take(timeout)
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            item = self._mailbox.take(left)
            if item is None or (value := read(item)) is not None:
                return None if item is None else value

    def try_recv(self) -> T | None:
        """The next item if there is one."""
        return self.recv(timeout=0)

    def __iter__(self) -> Iterator[T]:
        read = self._read_item
        return iter(self._mailbox) if read is None else self._each(read)

    def _each(self, read: Callable[[Any], T | None]) -> Iterator[T]:
        for item in self._mailbox:
            if (value := read(item)) is not None:
                yield value

    def __aiter__(self) -> AsyncIterator[T]:
        read = self._read_item
        return aiter(self._mailbox) if read is None else self._each_awaited(read)

    async def _each_awaited(self, read: Callable[[Any], T | None]) -> AsyncIterator[T]:
        async for item in self._mailbox:
            if (value := read(item)) is not None:
                yield value

    # For those who bring the items

    def _bring(self, items: Sequence[Any], *, at_once: bool = False) -> bool:
        """To the callback, or into the mailbox.

        `at_once`: by `Callback.call_at_once` if it can be; whether it was.
        """
        callback = self._callback
        if callback is None:
            self._mailbox.put(items)
            items = ()
            callback = self._callback  # it may just have been given
        elif at_once and items and callback.call_at_once(items):
            return True
        if callback is not None:
            callback.offer(items)
        return False

    def _call_back(
        self,
        name: str,
        function: Callable[[T], Any],
        threads: CallbackThreads,
        arrivals: Arrivals | None = None,
    ) -> None:
        """Hand all items to a callback from now on: those that wait, and those that come."""
        read = self._read_item

        def read_and_call(item: Any) -> None:
            if read is not None and (value := read(item)) is not None:
                function(value)

        call = function if read is None else read_and_call
        self._callback = Callback(name, call, self._mailbox, threads, arrivals)
        if len(self._mailbox):
            self._callback.offer(())

    def _end(self) -> None:
        """Nothing more comes; wait for the last call, unless asked from within it."""
        self._mailbox.close()
        if self._callback is not None:
            self._callback.end()
