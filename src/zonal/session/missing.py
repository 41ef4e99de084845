"""What is missing of one publisher's messages, and when to ask for it again."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from zonal.session.sequence import NUMBERS, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterable

    import zenoh

# How many messages are asked for at once. Large answers are lost more easily than small ones (a
# datagram is lost with any of its frames), so less is asked for when something has to be asked for
# again, down to a single message, and more when all came.
_AT_ONCE, _AT_MOST = 64, 256
_ASK_AGAIN_S, _ASK_AGAIN_AT_MOST_S = 0.05, 1.0
# A heartbeat may overtake messages: as long as others come in, those behind them are on their way.
_QUIET_S = 0.05
# Answers of the publisher without what was asked for, after which it no longer has it.
_ANSWERS_ENOUGH = 8


@dataclass(slots=True)
class WantedMessage:
    """A missing message: when to ask for it next, since when it is asked for, without success."""

    ask_at: float
    pause_s: float = _ASK_AGAIN_S
    asked_since: float = math.inf
    left_out: int = 0


class MissingMessages:
    """One publisher on one key, and what is missing of it."""

    def __init__(self, key: str, zenoh_id: str, entity: int, first: int) -> None:
        self.key = key
        self.cache = f"{key}/@adv/pub/{zenoh_id}/{entity}/**"
        self.sequence: Sequence[zenoh.Sample] = Sequence(first)
        self.heard_at = time.monotonic()
        self.is_reached = False
        self.silent_s = 0.0
        """How long nothing has come of what was asked for."""
        self._filled_at = -math.inf
        self._wanted: dict[int, WantedMessage] = {}
        self._at_once = _AT_ONCE
        # A publisher forgets its oldest messages first: once it has forgotten one that is missing,
        # how far it has forgotten is found by asking for the last one and then halving the gap.
        self._forgets = False

    def look(self, now: float) -> None:
        """Take into account what is missing now."""
        sequence, wanted = self.sequence, self._wanted
        first, length = sequence.first_gap()
        if self._forgets and length:
            numbers = [(first + (length // 2 if self.is_reached else length - 1)) % NUMBERS]
        else:
            self._forgets = False
            numbers = sequence.missing(_AT_MOST)
        self._wanted = {number: wanted.get(number) or WantedMessage(now) for number in numbers}

    def _first(self) -> Iterable[tuple[int, WantedMessage]]:
        return islice(self._wanted.items(), self._at_once)

    @property
    def ask_at(self) -> float:
        """When to ask next."""
        return min((each.ask_at for _, each in self._first()), default=math.inf)

    def questions(self, now: float) -> list[tuple[int, int]]:
        """The first and last number of what is to be asked for now, in as few parts as possible."""
        for number, each in self._first():
            if self.sequence.is_behind(number):
                each.ask_at = max(each.ask_at, self.heard_at + _QUIET_S)
        if any(each.asked_since < now and each.ask_at <= now for _, each in self._first()):
            self._at_once = max(self._at_once // 2, 1)
        parts: list[tuple[int, int]] = []
        for number, each in self._first():
            if each.ask_at > now:
                continue
            each.asked_since = min(each.asked_since, now)
            each.ask_at = now + each.pause_s
            each.pause_s = min(2 * each.pause_s, _ASK_AGAIN_AT_MOST_S)
            if parts and parts[-1][1] + 1 == number:
                parts[-1] = (parts[-1][0], number)
            else:
                parts.append((number, number))
        return parts

    def answered(self, first: int, last: int, now: float) -> None:
        """An answer is complete: what it left out is asked for again.

        Soon, if the publisher can be reached: an answer without anything may only mean that
        after a break in the network its memory is not known again. While other missing messages
        come in, it says nothing: Zenoh drops of an answer what a busy link cannot take.
        """
        left_out = [self._wanted[n] for n in range(first, last + 1) if n in self._wanted]
        is_quiet = now - self._filled_at > _QUIET_S
        for each in left_out:
            each.left_out += is_quiet
            if self.is_reached:
                each.ask_at = now + _QUIET_S
        if not left_out:
            self._at_once = min(2 * self._at_once, _AT_MOST)

    def leave_out(self, number: int) -> None:
        """A message came that there is no room to hold: it is missing, and asked for later."""
        self.sequence.tell(number)
        self._wanted.pop(number, None)  # and the publisher has it: no answer was without it

    def came(self, now: float) -> None:
        """A missing message came."""
        self.silent_s, self._filled_at = 0.0, now

    def wait(self, seconds: float) -> None:
        """So much time has passed in which an answer could have come."""
        if any(each.asked_since < math.inf for each in islice(self._wanted.values(), 1)):
            self.silent_s += seconds

    def hopeless(self, patience_s: float) -> int:
        """How many of the first missing messages need not be waited for any longer.

        A publisher that still sends what is missing, however slowly, is waited for.
        """
        first, length = self.sequence.first_gap()
        for number, each in islice(self._wanted.items(), 1):
            if self.silent_s > patience_s:
                return length
            if each.left_out >= _ANSWERS_ENOUGH:
                self._forgets = True
                return (number - first) % NUMBERS + 1
        return 0
