"""Keys that arrive often, declared as they are, so that on every link a number stands for them.

Zenoh replaces a declared key expression by a number. Of a message's key it can so replace what a
subscription names, and what lies behind its wildcard travels as text on every link, with every
message: 8 bytes for a cell below a cover's, 130 for a Bloom filter. A subscription on the very key
makes it a number all the way from the publisher's router. What it receives is discarded: the
subscription with the wildcard hears the same message, and over the network it comes only once.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from typing import TYPE_CHECKING, Any

import zenoh

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_OFTEN = 16
_KEPT = 64
_COUNTED = 4096


class Shorthands:
    """The often heard keys of one topic's interest: at most 64, the longest unheard one goes."""

    def __init__(self, declare: Callable[[str, Any], Any]) -> None:
        self._declare = declare
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self.declared: OrderedDict[str, Any] = OrderedDict()
        """Those that are declared now, with their subscriptions."""
        self._closed = False

    def heard(self, key: str, messages: int = 1) -> None:
        """So many messages came, one of them under this key; after some the key is declared."""
        with self._lock:
            if self._closed or "*" in key:
                return
            if key in self.declared:
                self.declared.move_to_end(key)
                return
            self._counts[key] += messages
            if self._counts[key] < _OFTEN:
                if len(self._counts) > _COUNTED:
                    self._counts.clear()
                return
            del self._counts[key]
            # A ring of one that nobody reads: what comes is dropped without waking Python.
            self.declared[key] = self._declare(key, zenoh.handlers.RingChannel(1))
            oldest = self.declared.popitem(last=False)[1] if len(self.declared) > _KEPT else None
        if oldest is not None:
            oldest.undeclare()

    def keep(self, expressions: Iterable[str]) -> None:
        """Undeclare the keys that none of these expressions includes any more."""
        with self._lock:
            wild = [zenoh.KeyExpr(expression) for expression in expressions]
            gone = [
                key
                for key in self.declared
                if not any(expression.includes(zenoh.KeyExpr(key)) for expression in wild)
            ]
            old = [self.declared.pop(key) for key in gone]
        for subscriber in old:
            subscriber.undeclare()

    def close(self) -> None:
        """Undeclare all."""
        with self._lock:
            self._closed = True
        self.keep(())
