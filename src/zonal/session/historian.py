"""Asks memories for what they hold, part by part, for all keys of a session."""

from __future__ import annotations

import logging
import math
import threading
import time
from typing import TYPE_CHECKING, NamedTuple, Protocol

from zonal.session.asker import Question
from zonal.session.backlog import Answer, NumberedBacklog, Part, StampedBacklog
from zonal.session.desk import Desk
from zonal.session.moment import rfc3339

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import zenoh

    from zonal.session.asker import Asker, Event
    from zonal.session.backlog import PublisherBacklog

logger = logging.getLogger(__name__)

_PART_BYTES = 4 * 1024 * 1024
"""What an answer may have, by the sizes of what came before."""
MEMORIES = 65_536
"""So many are asked at a time; others that are found meanwhile are left out."""
_UNDER_WAY = 256
"""From so many questions on, none is added."""
_TRIES = 4
"""So often a part is asked for whose answer has no end, before what came of it counts as all."""


class Remembered(NamedTuple):
    """A memory that was found: whose it is, where it is asked, and what it sent last."""

    zenoh_id: str
    cache: str
    last: int | None
    """The number; None where its messages have none."""
    size: int


class Wants(Protocol):
    """One who wants what memories hold."""

    @property
    def messages(self) -> int | None:
        """Of each so many at most, the newest."""

    def time(self, until: str, waited_s: float) -> str:
        """The parameter for the time, so long after the memory was found; empty: any time."""

    def arrive(self, sample: zenoh.Sample) -> None:
        """Take a message; on Zenoh's threads."""


class _Retrieval:
    """The way through one memory, for one who wants that."""

    def __init__(self, wants: Wants, memory: Remembered) -> None:
        self.wants = wants
        self.memory = memory
        self.backlog: PublisherBacklog = (
            StampedBacklog(wants.messages)
            if memory.last is None
            else NumberedBacklog(memory.last, wants.messages)
        )
        self.found_at = time.monotonic()
        self.found_again: Remembered | None = None
        self.size = memory.size
        self.failures = 0

    def part(self, at_most: int) -> Part | None:
        return self.backlog.part(max(1, min(at_most, _PART_BYTES // max(self.size, 1))))


class _PartQuestion(Question):
    """One part of a memory; what comes goes to the one who wants it."""

    def __init__(
        self, retrieval: _Retrieval, part: Part, on_complete: Callable[[_PartQuestion], None]
    ) -> None:
        self.retrieval, self.part = retrieval, part
        self.is_done = False
        self._on_complete = on_complete
        times = retrieval.wants.time(part.until, time.monotonic() - retrieval.found_at)
        parameters = ";".join(each for each in (part.wanted, times) if each)
        super().__init__(f"{retrieval.memory.cache}?{parameters}")
        self._messages = self._bytes = 0
        self._oldest = ""
        self._began_at = self._last_at = 0.0

    def take(self, reply: zenoh.Reply) -> None:
        """Whoever else answers than the one who was asked tells nothing about its memory."""
        sample, replier = reply.ok, reply.replier_id
        if sample is not None and self.part.hands_on:
            self.retrieval.wants.arrive(sample)
        if replier is not None and str(replier.zid) != self.retrieval.memory.zenoh_id:
            return
        if sample is None:
            self.has_failed = True
            return
        self._last_at = time.monotonic()
        if not self._messages:
            self._began_at = self._last_at
            self._oldest = rfc3339(sample.timestamp) or ""
        self._messages += 1
        self._bytes += len(sample.payload)
        if self._messages == self.part.messages:  # whoever else is asked may never come to an end
            self._on_complete(self)

    @property
    def answer(self) -> Answer:
        return Answer(self._messages, self._oldest, self._last_at - self._began_at)

    @property
    def mean_size(self) -> int:
        return self._bytes // max(self._messages, 1)


class Search(Question):
    """A question to many memories, asked again if not all of them answer."""

    tries = _TRIES

    def follow(self) -> Search | None:
        """All have answered, or will not: what to ask next."""
        return None


class Historian:
    """The memories that are known, by the session that they belong to (see `asker.Asks`).

    A memory that is found again while it is asked, as after a break, is asked once more then.
    """

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self._lock = threading.Lock()
        self._retrievals: dict[tuple[Wants, str], _Retrieval] = {}
        self._desks: dict[str, Desk[_Retrieval]] = {}
        self._ready: dict[str, None] = {}  # the desks to look at, in order
        self._under_way = self._left_out = 0

    def search(self, search: Search) -> None:
        """Ask this, from any thread; again if not all answer."""
        self._asker.add(self)
        self._asker.ask(self, search)

    def found(self, wants: Wants, memory: Remembered) -> None:
        """Ask this memory for all that is wanted; from any thread."""
        with self._lock:
            retrieval = self._retrievals.get((wants, memory.cache))
            if retrieval is not None:
                retrieval.found_again = memory
                return
            if len(self._retrievals) >= MEMORIES:
                self._left_out += 1
                if self._left_out == 1:
                    logger.warning("there are more than %d memories: not all are asked", MEMORIES)
                return
            self._start(_Retrieval(wants, memory))
        self._asker.put(self, None)

    def forget(self, wants: Wants) -> None:
        """It wants nothing any more."""
        with self._lock:
            for name in [name for name in self._retrievals if name[0] is wants]:
                del self._retrievals[name]

    def _complete(self, question: _PartQuestion) -> None:
        """All came that was asked for; on Zenoh's threads."""
        self._asker.put(self, question)

    # With the lock

    def _start(self, retrieval: _Retrieval) -> None:
        self._retrievals[retrieval.wants, retrieval.memory.cache] = retrieval
        self._wait(retrieval)

    def _wait(self, retrieval: _Retrieval) -> None:
        zenoh_id = retrieval.memory.zenoh_id
        self._desks.setdefault(zenoh_id, Desk()).wait(retrieval)
        self._ready[zenoh_id] = None

    def _part_of(self, retrieval: _Retrieval) -> Part | None:
        """The next part; None at the end: then it is over, or begins anew."""
        name = (retrieval.wants, retrieval.memory.cache)
        if self._retrievals.get(name) is not retrieval:
            return None
        part = retrieval.part(self._desks[retrieval.memory.zenoh_id].at_most)
        if part is None:
            del self._retrievals[name]
            if retrieval.found_again is not None:
                self._start(_Retrieval(retrieval.wants, retrieval.found_again))
        return part

    # What the asker wants (see `asker.Asks`)

    @property
    def ask_at(self) -> float:
        """There is something to ask for when a memory is found or an answer is complete."""
        return math.inf

    def take(self, events: Sequence[Event]) -> None:
        """Questions that are answered."""
        with self._lock:
            for event in events:
                if isinstance(event, _PartQuestion):
                    self._take(event)
        for event in events:
            if isinstance(event, Search):
                self._go_on(event)

    def _go_on(self, search: Search) -> None:
        following = search.follow()
        if following is not None:
            self._asker.ask(self, following)
        search.tries -= 1
        if search.has_failed and search.tries > 0:
            search.has_failed = False
            self._asker.ask(self, search)

    def _take(self, question: _PartQuestion) -> None:
        if question.is_done:
            return
        question.is_done = True
        retrieval, answer = question.retrieval, question.answer
        has_failed = question.has_failed and answer.messages < question.part.messages
        self._under_way -= 1
        desk = self._desks[retrieval.memory.zenoh_id]
        desk.done(question.part, None if has_failed else answer)
        retrieval.failures = retrieval.failures + 1 if has_failed else 0
        if retrieval.failures == _TRIES:
            logger.warning("of %s no answer came to its end", question.selector)
            has_failed, retrieval.failures = False, 0
        if not has_failed:
            retrieval.size = question.mean_size or retrieval.size
            retrieval.backlog.answered(answer)
        self._wait(retrieval)

    def due(self) -> list[Question]:
        """What is to be asked for now."""
        with self._lock:
            due: list[Question] = []
            while self._ready and self._under_way < _UNDER_WAY:
                zenoh_id = next(iter(self._ready))
                del self._ready[zenoh_id]
                desk = self._desks[zenoh_id]
                parts = desk.due(self._part_of)
                due += [_PartQuestion(*each, self._complete) for each in parts]
                self._under_way += len(parts)
                if desk.is_idle:
                    del self._desks[zenoh_id]
                    self._ready.pop(zenoh_id, None)
        return due
