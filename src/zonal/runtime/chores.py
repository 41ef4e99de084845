"""Work that is due at times: one thread knows when, threads for callbacks do it."""

from __future__ import annotations

import logging
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from zonal.runtime.closing import patience

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.runtime.callbacks import CallbackThreads

logger = logging.getLogger(__name__)

_LONGEST_WAIT_S = 3600.0

Work: TypeAlias = "Callable[[], float | None]"
"""Returns in how many seconds it is due again; None: not until somebody says so."""


class Chores:
    """Work that is due at times, begun in the order of these times.

    Each chore is done by one thread at a time. It may wait for the network or call user code for
    as long as it likes: no other chore waits for it. The thread is there while something is due.
    """

    def __init__(
        self, name: str, threads: CallbackThreads, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._name = name
        self._threads = threads
        self._clock = clock
        self._changed = threading.Condition()
        self._due: dict[Chore, float] = {}
        self._under_way: dict[Chore, int | None] = {}
        """With the thread that does it; None: it was handed over, but has not begun."""
        self._thread: threading.Thread | None = None
        self._stopped = False

    def new(self, name: str, work: Work) -> Chore:
        """Work that is not due yet; if it raises, that is logged, and it is due as usual."""
        return Chore(self, name, work)

    def stop(self) -> None:
        """Begin nothing any more, and let nothing be due."""
        with self._changed:
            self._stopped = True
            self._due.clear()
            self._changed.notify_all()

    def close(self) -> None:
        """Stop, and wait for what is being done, unless that is who asks; safe to call twice."""
        self.stop()
        with self._changed:
            thread = self._thread
            self._wait_for(*self._under_way)
        if thread is not None:
            thread.join()

    # For chores

    def set(self, chore: Chore, seconds: float, *, or_sooner: bool) -> None:
        """It is due in so many seconds; `or_sooner`: unless it is due before."""
        with self._changed:
            if self._stopped or chore.is_ended:
                return
            at = self._clock() + seconds
            self._due[chore] = min(at, self._due.get(chore, at)) if or_sooner else at
            chore.usual_s = seconds
            self._changed.notify_all()
            if self._thread is None:
                name = f"{self._name}-chores"
                thread = threading.Thread(target=self._run, name=name, daemon=True)
                thread.start()
                self._thread = thread

    def end(self, chore: Chore) -> None:
        """It is not due any more; wait if it is being done, unless it is that who asks."""
        with self._changed:
            chore.is_ended = True
            self._due.pop(chore, None)
            self._changed.notify_all()
            self._wait_for(chore)

    def _wait_for(self, *chores: Chore) -> None:
        me, doing = threading.get_ident(), self._under_way
        self._changed.wait_for(
            lambda: all(doing.get(chore) in {None, me} for chore in chores), patience.seconds
        )

    # The thread

    def _run(self) -> None:
        while (chore := self._next()) is not None:
            try:
                self._threads.run(partial(self._do, chore))
            except RuntimeError:  # no further thread can be had
                logger.exception("%s is put off", chore.name)
                self._is_done(chore, chore.usual_s)

    def _next(self) -> Chore | None:
        """The first that is due, when it is; None where nothing will be."""
        with self._changed:
            while not self._stopped and (self._due or self._under_way):
                resting = (chore for chore in self._due if chore not in self._under_way)
                first = min(resting, key=self._due.__getitem__, default=None)
                rest_s = _LONGEST_WAIT_S if first is None else self._due[first] - self._clock()
                if first is not None and rest_s <= 0:
                    del self._due[first]
                    self._under_way[first] = None
                    return first
                self._changed.wait(min(rest_s, _LONGEST_WAIT_S))
            self._thread = None
            return None

    # On threads for callbacks

    def _do(self, chore: Chore) -> None:
        again_s: float | None = chore.usual_s
        with self._changed:
            is_wanted = not (self._stopped or chore.is_ended)
            self._under_way[chore] = threading.get_ident()
        try:
            if is_wanted:
                again_s = chore.work()
        except Exception:
            logger.exception("%s failed", chore.name)
        finally:
            self._is_done(chore, again_s)

    def _is_done(self, chore: Chore, again_s: float | None) -> None:
        with self._changed:
            del self._under_way[chore]
            self._changed.notify_all()
            if again_s is not None:
                self.set(chore, again_s, or_sooner=True)


class Chore:
    """One piece of work, and when it is due."""

    def __init__(self, chores: Chores, name: str, work: Work) -> None:
        self._chores = chores
        self.name = name
        self.work = work
        self.usual_s = 0.0
        """What it was last due in."""
        self.is_ended = False

    def due_in(self, seconds: float) -> None:
        """Be done then, whatever was said before; while it is being done, once more."""
        self._chores.set(self, seconds, or_sooner=False)

    def due_within(self, seconds: float) -> None:
        """Be done then, unless it is due before."""
        self._chores.set(self, seconds, or_sooner=True)

    def end(self) -> None:
        """Be done no more; waits if it is being done, unless from within."""
        self._chores.end(self)
