"""Asking publishers with a memory for messages that were lost, until they are there.

Zenoh's own recovery gives a message up when the answer to its question is lost, and asks for
everything since; here only what is missing is asked for, again and again, at growing distances.
"""

from __future__ import annotations

import logging
import math
import queue
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

import zenoh
import zenoh.ext

from zonal.session.sequence import NUMBERS, Sequence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

logger = logging.getLogger(__name__)

_HEARTBEATS = "/@adv/pub/"
# How many messages are asked for at once. Large answers are lost more easily than small ones (a
# datagram is lost with any of its frames), so less is asked for when something has to be asked for
# again, down to a single message, and more when all came.
_AT_ONCE, _AT_MOST = 64, 256
_ASK_AGAIN_S, _ASK_AGAIN_AT_MOST_S = 0.05, 1.0
# A heartbeat may overtake messages: as long as others come in, those behind them are on their way.
_QUIET_S = 0.05
_ANSWER_WITHIN_S = 5.0
# Answers of the publisher without what was asked for, after which it no longer has it.
_ANSWERS_ENOUGH = 8
_HELD_AT_MOST = 65_536
_SOURCES = 4096


@dataclass(frozen=True, slots=True)
class Recovery:
    """That a subscriber asks for what it missed, as long as the publisher remembers it.

    A publisher's messages stay in order: what follows a missing one waits for it.
    """

    patience_s: float = 10.0
    """After this time a missing message is given up, and those that waited for it are delivered."""

    def __post_init__(self) -> None:
        if not self.patience_s > 0:
            raise ValueError(f"patience is more than 0 seconds, not {self.patience_s}")


@dataclass(slots=True)
class _Wanted:
    """A missing message: when to ask for it next, since when it is asked for, without success."""

    ask_at: float
    pause_s: float = _ASK_AGAIN_S
    asked_since: float = math.inf
    left_out: int = 0


class _Source:
    """One publisher on one key, and what is missing of it."""

    def __init__(self, key: str, zenoh_id: str, entity: int, first: int) -> None:
        self.key = key
        self.cache = f"{key}/@adv/pub/{zenoh_id}/{entity}/**"
        self.sequence: Sequence[zenoh.Sample] = Sequence(first)
        self.heard_at = time.monotonic()
        self.is_reached = False
        self._wanted: dict[int, _Wanted] = {}
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
        self._wanted = {number: wanted.get(number) or _Wanted(now) for number in numbers}

    def _first(self) -> Iterable[tuple[int, _Wanted]]:
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

        At once, if the publisher can be reached: an answer without anything may only mean that
        after a break in the network its memory is not known again.
        """
        left_out = [self._wanted[n] for n in range(first, last + 1) if n in self._wanted]
        for each in left_out:
            each.left_out += 1
            if self.is_reached:
                each.ask_at = now
        if not left_out:
            self._at_once = min(2 * self._at_once, _AT_MOST)

    def hopeless(self, now: float, patience_s: float) -> int:
        """How many of the first missing messages need not be waited for any longer."""
        first, length = self.sequence.first_gap()
        for number, each in islice(self._wanted.items(), 1):
            if now - each.asked_since > patience_s:
                return length
            if each.left_out >= _ANSWERS_ENOUGH:
                self._forgets = True
                return (number - first) % NUMBERS + 1
        return 0


class _Question:
    """What Zenoh calls with the answers to one question."""

    def __init__(
        self, source: _Source, first: int, last: int, events: queue.SimpleQueue[_Event]
    ) -> None:
        self.source = source
        self.first = first
        self.last = last
        self._events = events
        self._failed = False

    def answer(self, reply: zenoh.Reply) -> None:
        """One message, or an error."""
        if reply.ok is None:
            self._failed = True
        else:
            self._events.put(reply.ok)

    def over(self) -> None:
        """All answers were given."""
        if not self._failed:
            self._events.put(self)


_Event: TypeAlias = zenoh.Sample | _Question | frozenset[str] | None
"""An answer or a heartbeat, the end of answers, keys that are declared now, or a gap just found."""


class RecoveringSubscriber:
    """Zenoh's subscribers to a key and to its publishers' heartbeats."""

    def __init__(self, subscriber: Any, heartbeats: zenoh.Subscriber[None]) -> None:
        self._subscribers = (subscriber, heartbeats)
        self.handler = subscriber.handler

    def undeclare(self) -> None:
        """Undeclare both."""
        for subscriber in self._subscribers:
            subscriber.undeclare()


class Recoverer:
    """Puts the messages of an interest into order and has a thread that asks for missing ones."""

    def __init__(
        self,
        topic: str,
        session: zenoh.Session,
        recovery: Recovery,
        deliver: Callable[[list[zenoh.Sample]], None],
    ) -> None:
        self._session = session
        self._patience_s = recovery.patience_s
        self._deliver = deliver
        self._lock = threading.Lock()  # also while delivering: a publisher's messages stay in order
        self._sources: OrderedDict[tuple[str, int], _Source] = OrderedDict()
        self._lacking: set[_Source] = set()
        self._events: queue.SimpleQueue[_Event] = queue.SimpleQueue()
        self._closed = False
        self.recovered = 0
        self.given_up = 0
        self._thread = threading.Thread(target=self._run, name=f"zonal-ask {topic}", daemon=True)
        self._thread.start()

    def hear(self, batch: Iterable[zenoh.Sample]) -> None:
        """Messages came; those that are in order are delivered."""
        with self._lock:
            found_gap = self._hear(batch)
        if found_gap:
            self._events.put(None)

    def listen(self, key: str, subscriber: Any) -> RecoveringSubscriber:
        """Hear the heartbeats of a key's publishers, too."""
        heartbeats = zenoh.handlers.Callback(self._events.put, indirect=False)
        listening = self._session.declare_subscriber(f"{key}{_HEARTBEATS}**", heartbeats)
        return RecoveringSubscriber(subscriber, listening)

    def keep(self, expressions: Iterable[str]) -> None:
        """Forget the publishers whose key none of these expressions meets any more."""
        self._events.put(frozenset(expressions))

    def close(self) -> None:
        """End the thread."""
        self._closed = True
        self._events.put(None)
        self._thread.join()

    # With the lock

    def _hear(self, batch: Iterable[zenoh.Sample], *, asked: bool = False) -> bool:
        """Deliver what is in order now; whether a new gap was found."""
        ready: list[zenoh.Sample] = []
        now, found_gap = time.monotonic(), False
        for sample in batch:
            info = sample.source_info
            if info is None:  # a publisher without a memory
                ready.append(sample)
                continue
            entity, number = info.source_id, info.source_sn
            name = (str(entity.zid), entity.eid)
            source = self._sources.get(name)
            if source is not None:
                self._sources.move_to_end(name)
            elif asked:  # it was forgotten meanwhile
                continue
            else:
                source = self._new_source(str(sample.key_expr), name, number)
            sequence, heard = source.sequence, source.sequence.heard
            source.heard_at = now
            if asked:
                source.is_reached = True
                self.recovered += sequence.lacks(number)
            ready += sequence.hear(number, sample)
            if sequence.has_gap:
                self._lacking.add(source)
                found_gap |= sequence.heard > heard + 1
                if sequence.held > _HELD_AT_MOST:
                    ready += self._give_up(source, sequence.first_gap()[1])
            elif source in self._lacking:
                self._rest(source)
        if ready:
            self._deliver(ready)
        return found_gap

    def _new_source(self, key: str, name: tuple[str, int], first: int) -> _Source:
        if len(self._sources) == _SOURCES:
            self._forget(next(iter(self._sources)))
        source = self._sources[name] = _Source(key, *name, first)
        return source

    def _rest(self, source: _Source) -> None:
        """Nothing is missing of it any more."""
        self._lacking.discard(source)
        source.is_reached = False

    def _give_up(self, source: _Source, count: int) -> list[zenoh.Sample]:
        """The first missing messages; what follows them."""
        self.given_up += count
        logger.warning("%d messages of %s are lost", count, source.key)
        return source.sequence.give_up(count)

    def _forget_all_but(self, expressions: frozenset[str]) -> None:
        wild = [zenoh.KeyExpr(expression) for expression in expressions]
        gone = [
            name
            for name, source in self._sources.items()
            if not any(expression.intersects(zenoh.KeyExpr(source.key)) for expression in wild)
        ]
        for name in gone:
            self._forget(name)

    def _forget(self, name: tuple[str, int]) -> None:
        """What it held is delivered."""
        source = self._sources.pop(name)
        self._lacking.discard(source)
        while source.sequence.held:
            self._deliver(source.sequence.give_up(source.sequence.first_gap()[1]))

    # The thread that asks

    def _run(self) -> None:
        while not self._closed:
            try:
                self._wait()
                for source, first, last in self._due():
                    self._ask(source, first, last)
            except zenoh.ZError as error:  # the session is being closed
                logger.debug("could not ask for missing messages: %s", error)
            except Exception:  # a thread that dies would end the recovery
                logger.exception("recovery goes on after an error")

    def _wait(self) -> None:
        """Take events until something is to be asked for."""
        with self._lock:
            until = min((source.ask_at for source in self._lacking), default=math.inf)
        rest_s = None if until == math.inf else max(until - time.monotonic(), 0.001)
        try:
            events = [self._events.get(timeout=rest_s)]
        except queue.Empty:
            return
        while not self._events.empty():
            events.append(self._events.get())
        with self._lock:
            for event in events:
                self._take(event)

    def _take(self, event: _Event) -> None:
        if isinstance(event, _Question):
            now = time.monotonic()
            event.source.look(now)
            event.source.answered(event.first, event.last, now)
        elif isinstance(event, frozenset):
            self._forget_all_but(event)
        elif event is not None and _HEARTBEATS in str(event.key_expr):
            self._told(event)
        elif event is not None:
            self._hear((event,), asked=True)

    def _told(self, heartbeat: zenoh.Sample) -> None:
        """The number of a publisher's last message; of one never heard nothing is missing yet."""
        key, _, entity = str(heartbeat.key_expr).rpartition(_HEARTBEATS)
        try:
            zenoh_id, number, *_ = entity.split("/")
            name = (zenoh_id, int(number))
            last = int(zenoh.ext.z_deserialize(zenoh.ext.UInt32, heartbeat.payload))
        except (ValueError, zenoh.ZError):  # not one of Zenoh's
            return
        source = self._sources.get(name)
        if source is None:
            self._new_source(key, name, last + 1)
            return
        source.sequence.tell(last)
        if source.sequence.has_gap:
            self._lacking.add(source)
            source.look(time.monotonic())

    def _due(self) -> list[tuple[_Source, int, int]]:
        """What is to be asked for now; what is hopeless is given up."""
        now = time.monotonic()
        due: list[tuple[_Source, int, int]] = []
        with self._lock:
            for source in tuple(self._lacking):
                source.look(now)
                hopeless = source.hopeless(now, self._patience_s)
                if hopeless:
                    ready = self._give_up(source, hopeless)
                    if ready:
                        self._deliver(ready)
                    source.look(now)
                if not source.sequence.has_gap:
                    self._rest(source)
                due += [(source, first, last) for first, last in source.questions(now)]
        return due

    def _ask(self, source: _Source, first: int, last: int) -> None:
        question = _Question(source, first, last, self._events)
        self._session.get(
            f"{source.cache}?_sn={first}..{last}",
            zenoh.handlers.Callback(question.answer, question.over, indirect=False),
            consolidation=zenoh.ConsolidationMode.NONE,
            accept_replies=zenoh.ReplyKeyExpr.ANY,
            target=zenoh.QueryTarget.ALL,
            timeout=_ANSWER_WITHIN_S,
        )
