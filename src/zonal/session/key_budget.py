"""How closely the areas of each topic are covered: as a session can bear, and traffic is worth.

Zenoh's time for a key grows with the number of keys that a session holds. So the areas of the
first topics have many cells, those of further ones few. Where the edge sees that much comes from
beside an area, its cells become more and smaller, and where nothing comes they make room for that.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from zonal.runtime import Callback, Mailbox
from zonal.session.interest import CELLS_AN_AREA

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.runtime import CallbackThreads

FEW_CELLS, FEWEST_CELLS = 5, 1
"""What every area has of the first 1,000 topics, and of further ones."""
MANY_TOPICS = 1_000
FIRST_KEYS, MOST_KEYS = 800, 2_560
"""So many keys more than few for each topic: at the beginning, and where messages come."""
_SHARE = 13
"""A further topic begins with a thirteenth of what is left of the first keys."""
_STEP = 4
"""So many times the cells, each time that it is worth it."""
_ALIVE, _QUIET_S = 64, 10.0
"""Topics that had fewer messages in so many seconds, or more of them, give their keys back."""
_FULL_S = 1.0
"""For so long nobody is asked again to give keys back."""


class CoveredTopic(Protocol):
    """The edge of a topic, as the budget sees it."""

    received: int

    def __hash__(self) -> int: ...

    @property
    def cells_an_area(self) -> int:
        """How many cells each of its areas may have now."""

    def fit(self, cells_an_area: int) -> None:
        """Cover its areas anew, with so many cells each at the most."""


@dataclass(slots=True)
class _Held:
    """What a topic holds, and how it was when it was last known to be alive."""

    keys: int
    received: int
    alive_at: float

    @property
    def detail(self) -> int:
        """Its keys beyond few; a crowd of areas counts as one that is covered closely."""
        return max(0, min(self.keys, CELLS_AN_AREA) - FEW_CELLS)


class KeyBudget:
    """Shares out keys among the topics of a session.

    Topics are covered anew on a thread for callbacks, one after another: it takes a millisecond or
    more for each key that is declared.
    """

    def __init__(
        self, threads: CallbackThreads, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._topics: dict[CoveredTopic, _Held] = {}
        self._detail = 0
        self._asking: set[CoveredTopic] = set()
        self._full_until = 0.0
        self._asked: Callback[CoveredTopic] = Callback(
            "covers that fit", self._refine, Mailbox(), threads
        )

    def first_cells(self) -> int:
        """How many cells each area of a further topic may have."""
        with self._lock:
            fewest = FEW_CELLS if len(self._topics) < MANY_TOPICS else FEWEST_CELLS
            share = max(0, FIRST_KEYS - self._detail) // _SHARE
        return min(CELLS_AN_AREA, fewest + share)

    def note(self, topic: CoveredTopic, keys: int) -> None:
        """So many keys are declared for the areas of a topic now; 0: it has none any more."""
        with self._lock:
            held = self._topics.pop(topic, None)
            if held is None:
                held = _Held(0, topic.received, self._clock())
            self._detail -= held.detail
            held.keys = keys
            self._detail += held.detail
            if keys:
                self._topics[topic] = held

    def ask(self, topic: CoveredTopic) -> None:
        """Much comes from beside the areas of a topic: cover them more closely, soon, if that goes.

        From the reading thread; returns at once.
        """
        if topic.cells_an_area >= CELLS_AN_AREA or self._clock() < self._full_until:
            return
        with self._lock:
            if topic in self._asking:
                return
            self._asking.add(topic)
        self._asked.offer((topic,))

    def _refine(self, topic: CoveredTopic) -> None:
        now = topic.cells_an_area
        cells = min(CELLS_AN_AREA, _STEP * now)
        try:
            if self._make_room(cells - now):
                topic.fit(cells)
            else:
                self._full_until = self._clock() + _FULL_S
        finally:
            with self._lock:
                self._asking.discard(topic)

    def _make_room(self, keys: int) -> bool:
        """Have topics that are quiet give back as much as is needed; whether that is enough."""
        for quiet in () if self._has_room(keys) else self._quiet_topics():
            quiet.fit(FEW_CELLS)
            if self._has_room(keys):
                break
        return self._has_room(keys)

    def _has_room(self, keys: int) -> bool:
        with self._lock:
            return self._detail + keys <= MOST_KEYS

    def _quiet_topics(self) -> list[CoveredTopic]:
        """Those with cells to spare that hear little, the quietest first."""
        now = self._clock()
        with self._lock:
            for topic, held in self._topics.items():
                if topic.received - held.received >= _ALIVE:
                    held.received, held.alive_at = topic.received, now
            quiet = [
                (held.alive_at, number, topic)
                for number, (topic, held) in enumerate(self._topics.items())
                if now - held.alive_at >= _QUIET_S and topic.cells_an_area > FEW_CELLS
            ]
        return [topic for _, _, topic in sorted(quiet, key=lambda each: each[:2])]
