"""The one bounded memory of what was seen: tells doubles from news."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

K = TypeVar("K")

DEFAULT_SIZE = 65_536
"""How many keys are remembered unless asked otherwise."""


class Recent(Generic[K]):
    """Remembers the last `size` keys that it was asked about; the oldest is forgotten first.

    Not for several threads at once: whoever shares it holds a lock.
    """

    __slots__ = ("_known", "_order", "size")

    def __init__(self, size: int = DEFAULT_SIZE) -> None:
        if size < 1:
            raise ValueError(f"a memory holds at least one key, not {size}")
        self.size = size
        # Of a dict the first key is searched behind all that were deleted before it.
        self._known: set[K] = set()
        self._order: deque[K] = deque()

    def __contains__(self, key: K) -> bool:
        return key in self._known

    def __len__(self) -> int:
        return len(self._known)

    def check(self, key: K) -> bool:
        """Whether the key was seen before; from now on it was."""
        known = self._known
        if key in known:
            return True
        known.add(key)
        self._order.append(key)
        if len(known) > self.size:
            known.discard(self._order.popleft())
        return False

    def check_all(self, keys: Sequence[K]) -> list[bool]:
        """`check` for each of them, one after another."""
        known, new = self._known, set(keys)
        if len(new) < len(keys) or not known.isdisjoint(new):
            return [self.check(key) for key in keys]
        known |= new
        self._order.extend(keys)
        for _ in range(len(known) - self.size):
            known.discard(self._order.popleft())
        return [False] * len(keys)
