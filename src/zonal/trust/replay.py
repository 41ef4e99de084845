"""Telling news from what somebody recorded and plays again, by the senders' rising numbers."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

S = TypeVar("S")

WINDOW = 4096
"""How far behind its sender's highest number a message may come and still be news."""
SENDERS = 4096


class ReplayGuard(Generic[S]):
    """Takes each number of a sender once; what lies further behind than a window is refused.

    Ask it only about messages whose sender was proven: otherwise anybody could use a sender's
    numbers up. A sender that begins anew takes another name. Of more than `senders` those that
    were heard longest ago are forgotten. (The window of RFC 4303, section 3.4.3.)
    """

    def __init__(self, window: int = WINDOW, senders: int = SENDERS) -> None:
        self._window = window
        self._senders = senders
        self._mask = (1 << window) - 1
        self._seen: OrderedDict[S, tuple[int, int]] = OrderedDict()

    def is_fresh(self, sender: S, number: int) -> bool:
        """Whether `is_news` would say yes; nothing is noted."""
        if sender not in self._seen:
            return True
        highest, bits = self._seen[sender]
        behind = highest - number
        return behind < 0 or (behind < self._window and not bits >> behind & 1)

    def is_news(self, sender: S, number: int) -> bool:
        """Whether this number of the sender was not taken before; from now on it was."""
        if not self.is_fresh(sender, number):
            return False
        highest, bits = self._seen.get(sender, (number - 1, 0))
        ahead = number - highest
        if ahead > 0:
            bits = (bits << ahead | 1) & self._mask if ahead < self._window else 1
            highest = number
        else:
            bits |= 1 << -ahead
        self._seen[sender] = (highest, bits)
        self._seen.move_to_end(sender)
        if len(self._seen) > self._senders:
            self._seen.popitem(last=False)
        return True
