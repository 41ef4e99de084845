"""What is declared to the network under a set of keys that changes."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Undeclarable(Protocol):
    """What Zenoh declares."""

    def undeclare(self) -> None:
        """Take it back."""


class DeclaredKeys:
    """One declaration a key; new ones are made before old ones go, so that nothing is missed."""

    def __init__(self, declare: Callable[[str], Undeclarable]) -> None:
        self._declare = declare
        self._lock = threading.Lock()
        self._declared: dict[str, Undeclarable] = {}
        self._closed = False

    @property
    def keys(self) -> tuple[str, ...]:
        """Those that are declared now."""
        return tuple(self._declared)

    def adjust(self, keys: Iterable[str]) -> bool:
        """Have these and no others; whether that changed anything. Nothing after `close`."""
        wanted = dict.fromkeys(keys)
        with self._lock:
            if self._closed or wanted.keys() == self._declared.keys():
                return False
            new = {key: self._declare(key) for key in wanted if key not in self._declared}
            old = [self._declared[key] for key in self._declared if key not in wanted]
            kept = {key: self._declared[key] for key in self._declared if key in wanted}
            self._declared = {**kept, **new}
            for declaration in old:
                declaration.undeclare()
        return True

    def close(self) -> None:
        """Undeclare all."""
        with self._lock:
            self._closed = True
            declared, self._declared = self._declared, {}
        for declaration in declared.values():
            declaration.undeclare()
