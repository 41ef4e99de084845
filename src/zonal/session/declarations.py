"""A set of keys declared to Zenoh, and changed without missing a message."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import zenoh

from zonal.runtime import HEAVY
from zonal.session.lane import Lane

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from zonal.runtime import Lanes

    Declare: TypeAlias = Callable[[str, Any], Any]
    Accompany: TypeAlias = Callable[[str], Iterable[Any]]

_DOUBTFUL_S = 1.0
"""How long one of Zenoh's threads may take from one subscriber of a message to the next: what it
has handed over by an old key, it may hand over by a new one after the old one's mark."""


class Mark:
    """Handed over between samples: what to do when all that came before it was read."""

    __slots__ = ("read",)

    def __init__(self, read: Callable[[], None]) -> None:
        self.read = read


class Declarations:
    """Zenoh's subscribers of a set of keys, which all hand over to one function.

    New keys are declared before old ones are undeclared. While both stand, a message may arrive
    under both: `is_changing` until a moment after the last sample of an undeclared key was read. To
    know that, a `Mark` is handed over behind it, whose `read` whoever reads has to call.

    Args:
        declare: makes one of Zenoh's subscribers from a key and a handler.
        arrive: called by Zenoh's threads with each sample; neither blocks nor runs user code.
        lanes: where keys that very many messages come by are read from a channel; see `hurry`.
        accompany: called with each key that was declared; what it gives is undeclared with the key.
    """

    def __init__(
        self,
        declare: Declare,
        arrive: Callable[[zenoh.Sample], None],
        lanes: Lanes | None = None,
        accompany: Accompany | None = None,
    ) -> None:
        self._declare = declare
        self._arrive = arrive
        self._lanes = lanes
        self._accompany = accompany
        self._adjusting = threading.Lock()
        self._lock = threading.Lock()
        self._declared: dict[str, Any] = {}
        self._accompanied: dict[str, Iterable[Any]] = {}
        self._pending = 0
        self._doubtful_until = 0.0
        self.was_changing = False
        """`is_changing`, or the end of it has not been noticed yet."""

    @property
    def keys(self) -> tuple[str, ...]:
        """What is declared now."""
        return tuple(self._declared)

    @property
    def is_changing(self) -> bool:
        """Whether marks, or what also came by a key that was undeclared, may still come."""
        if not self.was_changing:
            return False
        with self._lock:
            self.was_changing = self._pending > 0 or time.monotonic() <= self._doubtful_until
            return self.was_changing

    def adjust(self, wanted: Iterable[str]) -> bool:
        """Declare these keys and no others; whether any had to go."""
        needed = frozenset(wanted)
        with self._adjusting:
            new, old = needed - self._declared.keys(), self._declared.keys() - needed
            self._expect(len(old))
            for key in sorted(new):
                self._declared[key] = self._declare(key, self._handler(key))
                if self._accompany is not None:
                    self._accompanied[key] = self._accompany(key)
            for key in sorted(old):
                for companion in self._accompanied.pop(key, ()):
                    companion.undeclare()
                self._declared.pop(key).undeclare()
        return bool(old)

    def _handler(self, key: str) -> zenoh.handlers.Callback[zenoh.Sample]:
        # On Zenoh's own thread: a thread for each key would be the way otherwise.
        return zenoh.handlers.Callback(self._arrive, partial(self._drop, key), indirect=False)

    def _drop(self, key: str) -> None:
        """The last sample came by the subscriber that this key had."""
        lane = self._declared.get(key)
        if isinstance(lane, Lane):
            lane.former_is_gone()
            self._arrive(self._mark(lane.open))
        else:
            self._arrive(self._mark(self._doubt))

    def _doubt(self) -> None:
        with self._lock:
            self._doubtful_until = time.monotonic() + _DOUBTFUL_S
            self.was_changing = True

    def _mark(self, and_do: Callable[[], None] = lambda: None) -> Any:
        def read() -> None:
            and_do()
            self._expect(-1)

        return Mark(read)

    def _expect(self, number: int) -> None:
        with self._lock:
            self._pending += number
            self.was_changing = True

    def close(self) -> None:
        """Undeclare all."""
        self.adjust(())

    # Keys that very many messages come by; on the reading thread

    def hurry(self, sample: zenoh.Sample) -> None:
        """Read the key that this sample came by from a lane, from now on until there are few.

        Meanwhile a message may arrive by both ways, so only those that can be told apart will do.
        """
        if self._lanes is None or sample.timestamp is None or len(sample.payload) > HEAVY:
            return
        if self.is_changing or not self._adjusting.acquire(blocking=False):
            return
        try:
            key = self._declared_for(sample.key_expr)
            if key is not None and not isinstance(self._declared[key], Lane):
                self._open_lane(key, self._lanes)
        finally:
            self._adjusting.release()

    def _declared_for(self, key: zenoh.KeyExpr) -> str | None:
        return next((each for each in self._declared if zenoh.KeyExpr(each).includes(key)), None)

    def _open_lane(self, key: str, lanes: Lanes) -> None:
        self._expect(2)  # what the subscriber of now has left, and what came by both ways
        former = self._declared[key]

        def open_behind(lane: Lane) -> None:
            self._expect(1)
            lanes.put_behind(self._mark(lane.open))

        lane = self._declared[key] = Lane(
            partial(self._declare, key),
            put_behind=lanes.put_behind,
            open_behind=open_behind,
            on_settled=partial(self._expect, -1),
            on_idle=partial(self._leave_idle_lane, key),
            on_heavy=partial(self._leave_lane, key),
            on_end=lambda: lanes.put_behind(self._mark()),
        )
        former.undeclare()
        lanes.add(lane.take, partial(self._leave_lane, key))

    def _leave_idle_lane(self, key: str) -> None:
        if not self.is_changing:
            self._leave_lane(key)

    def _leave_lane(self, key: str) -> None:
        if not self._adjusting.acquire(blocking=False):
            return  # asked again in a moment
        try:
            lane = self._declared.get(key)
            if isinstance(lane, Lane) and lane.is_open:
                self._expect(1)
                self._declared[key] = self._declare(key, self._handler(key))
                lane.undeclare()
        finally:
            self._adjusting.release()
