"""A set of keys declared to Zenoh, and changed without missing a message."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import zenoh

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


RETIRED: Any = object()
"""Handed over instead of a sample: no more come of a key that was undeclared."""


class Declarations:
    """Zenoh's subscribers of a set of keys, which all hand over to one function.

    New keys are declared before old ones are undeclared. While both stand, a message may arrive
    under both. Behind the last sample of an undeclared key `RETIRED` is handed over; `is_changing`
    until whoever reads it has told so with `retired`.

    Args:
        declare: makes one of Zenoh's subscribers from a key and a handler.
        arrive: called by Zenoh's threads with each sample; neither blocks nor runs user code.
    """

    def __init__(
        self,
        declare: Callable[[str, zenoh.handlers.Callback[zenoh.Sample]], Any],
        arrive: Callable[[zenoh.Sample], None],
    ) -> None:
        self._declare = declare
        self._arrive = arrive
        self._lock = threading.Lock()
        self._declared: dict[str, Any] = {}
        self._retiring = 0

    @property
    def keys(self) -> tuple[str, ...]:
        """What is declared now."""
        return tuple(self._declared)

    @property
    def is_changing(self) -> bool:
        """Whether samples of a key that was undeclared may still come."""
        return self._retiring > 0

    def adjust(self, wanted: Iterable[str]) -> bool:
        """Declare these keys and no others; whether any had to go. One caller at a time."""
        needed = frozenset(wanted)
        new, old = needed - self._declared.keys(), self._declared.keys() - needed
        with self._lock:
            self._retiring += len(old)
        for key in sorted(new):
            # On Zenoh's own thread: a thread for each key would be the way otherwise.
            handler = zenoh.handlers.Callback(self._arrive, self._drop, indirect=False)
            self._declared[key] = self._declare(key, handler)
        for key in sorted(old):
            self._declared.pop(key).undeclare()
        return bool(old)

    def _drop(self) -> None:
        self._arrive(RETIRED)

    def retired(self) -> None:
        """The last sample of an undeclared key was read."""
        with self._lock:
            self._retiring -= 1

    def close(self) -> None:
        """Undeclare all."""
        self.adjust(())
