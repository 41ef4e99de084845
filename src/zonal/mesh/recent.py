"""A bounded memory of what passed."""

from __future__ import annotations

_REMEMBERED = 512


class Recent:
    """A bounded memory of what was seen: the oldest is forgotten first."""

    def __init__(self, size: int = _REMEMBERED) -> None:
        self.size = size
        self.known: dict[tuple[int, int], None] = {}

    def check(self, key: tuple[int, int]) -> bool:
        """Whether the key was there; it is afterwards."""
        if key in self.known:
            return True
        self.known[key] = None
        while len(self.known) > self.size:
            del self.known[next(iter(self.known))]
        return False
