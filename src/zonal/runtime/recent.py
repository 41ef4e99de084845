"""The one bounded memory of what was seen: tells doubles from news."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")

DEFAULT_SIZE = 65_536
"""How many keys are remembered unless asked otherwise."""


class Recent(Generic[K]):
    """Remembers the last `size` keys that it was asked about; the oldest is forgotten first.

    Not for several threads at once: whoever shares it holds a lock.
    """

    __slots__ = ("_known", "size")

    def __init__(self, size: int = DEFAULT_SIZE) -> None:
        if size < 1:
            raise ValueError(f"a memory holds at least one key, not {size}")
        self.size = size
        # Of a plain dict the first key is searched behind all that were deleted before it.
        self._known: OrderedDict[K, None] = OrderedDict()

    def __contains__(self, key: K) -> bool:
        return key in self._known

    def __len__(self) -> int:
        return len(self._known)

    def check(self, key: K) -> bool:
        """Whether the key was seen before; from now on it was."""
        known = self._known
        if key in known:
            return True
        known[key] = None
        if len(known) > self.size:
            known.popitem(last=False)
        return False
