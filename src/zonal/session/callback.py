"""Running a subscriber's callback: at once for a single message, in a thread of its own otherwise.

A message that comes alone is handed to the callback by the thread that read it, which saves the
hop to another thread and the time it takes. That thread's channel is then not read; should the
callback take long, the callback's own thread reads it meanwhile, into the mailbox. One call runs
at a time, in the order of the messages, and never on a thread of Zenoh's.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from zonal.runtime.mailbox import Mailbox
    from zonal.session.sample import Sample

logger = logging.getLogger(__name__)

_LOOK_EVERY_S = 0.5
_PATIENCE_S = 0.02


class Caller:
    """Calls a subscriber's callback with every sample."""

    def __init__(
        self, name: str, callback: Callable[[Sample], Any], mailbox: Mailbox[Sample]
    ) -> None:
        self._name = name
        self._callback = callback
        self._mailbox = mailbox
        self._turn = threading.Lock()
        self._standing_in = threading.Lock()  # held by whoever reads in the place of a reader
        self._holder: int | None = None
        self._read_meanwhile: Callable[[], object] | None = None
        self._thread = threading.Thread(
            target=self._run, name=f"zonal-callback {name}", daemon=True
        )
        self.errors = 0
        self.called_at_once = 0
        self._thread.start()

    def call_now(self, sample: Sample, read_meanwhile: Callable[[], object]) -> bool:
        """Call it in this thread, unless others wait or another call runs; whether it was done.

        `read_meanwhile` reads what comes in the place of this thread, if the call takes long.
        """
        box = self._mailbox
        if len(box) or box.is_closed or not self._turn.acquire(blocking=False):
            return False
        try:
            if len(box):
                return False
            self._holder = threading.get_ident()
            self._read_meanwhile = read_meanwhile
            self.called_at_once += 1
            self._call((sample,))
        finally:
            with self._standing_in:  # what was read meanwhile is in the box before anything newer
                self._holder = self._read_meanwhile = None
            self._turn.release()
        return True

    def end(self) -> None:
        """Wait until the last call is over, unless asked from within it; the mailbox is closed."""
        here = threading.get_ident()
        if here in (self._holder, self._thread.ident):
            return
        self._thread.join()
        with self._turn:
            pass

    def _run(self) -> None:
        with self._mailbox.borrowing():
            self._call_until_closed(self._mailbox)

    def _call_until_closed(self, box: Mailbox[Sample]) -> None:
        while not (box.is_closed and not box.has_more):
            if not box.wait(_LOOK_EVERY_S) and not self._turn.locked():
                continue
            self._take_turn()
            try:
                self._holder = threading.get_ident()
                self._call(box.take_what_is_there())
            finally:
                self._holder = None
                self._turn.release()

    def _take_turn(self) -> None:
        while not self._turn.acquire(timeout=_PATIENCE_S):
            with self._standing_in:
                read = self._read_meanwhile
                if read is not None and not self._mailbox.holds_up:
                    read()

    def _call(self, samples: Iterable[Sample]) -> None:
        callback, left = self._callback, iter(samples)
        while True:
            try:
                for sample in left:
                    callback(sample)
            except Exception:  # the user's own errors must not end the delivery
                self.errors += 1
                logger.exception("the callback of subscriber %r failed", self._name)
            else:
                return
