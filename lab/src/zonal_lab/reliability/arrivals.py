"""Which numbers have come, and a wait until no more do."""

from __future__ import annotations

import threading
import time


class Arrivals:
    """Counts distinct numbers below `most`, and copies; noted by one thread, awaited by another."""

    def __init__(self, most: int) -> None:
        self._seen = bytearray(most)
        self._wanted = most
        self._complete = threading.Event()
        self._last_s = time.monotonic()
        self.distinct = self.copies = 0

    def note(self, number: int) -> bool:
        """Count a number; whether it is its first copy."""
        self._last_s = time.monotonic()
        if self._seen[number]:
            self.copies += 1
            return False
        self._seen[number] = 1
        self.distinct += 1
        if self.distinct >= self._wanted:
            self._complete.set()
        return True

    def wait(self, wanted: int, *, quiet_s: float, longest_s: float) -> None:
        """Until so many distinct ones have come, or none has for `quiet_s`; at most `longest_s`."""
        begun = time.monotonic()
        self._wanted = wanted
        while self.distinct < wanted:
            until = min(max(self._last_s, begun) + quiet_s, begun + longest_s)
            if until <= time.monotonic():
                return
            self._complete.wait(until - time.monotonic())
