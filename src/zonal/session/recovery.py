"""Asking publishers with a memory for messages that were lost, until they are there.

Zenoh's own recovery gives a message up when the answer to its question is lost, and asks for
everything since; here only what is missing is asked for, again and again, at growing distances.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

import zenoh
import zenoh.ext

from zonal.session.asker import HEARTBEATS, Question
from zonal.session.missing import MissingMessages
from zonal.session.weight import bytes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from zonal.session.asker import Asker, Event

logger = logging.getLogger(__name__)

_HELD_AT_MOST = 262_144
"""Messages of one publisher that wait for an earlier one; then that is given up."""
HELD_BYTES = 256 * 1024 * 1024
"""So much of all publishers' messages waits for earlier ones. Of what comes then only the next in
order is taken; the rest is asked for again, from those who remember it."""
_SOURCES = 32_768
"""Of so many publishers, those heard last, is known what came; each takes a kilobyte. Of others a
gap would go unnoticed."""
_LONGEST_LOOK_S = 1.5
"""Whoever did not look for longer, because what came could not be handed over or the machine was
busy, has not waited for publishers all that time: their answers could not come in, either."""
_INFO_OF, _ENTITY_OF = attrgetter("source_info"), attrgetter("source_id")
_NUMBER_OF, _PUBLISHER_OF = attrgetter("source_sn"), attrgetter("zid", "eid")


@dataclass(frozen=True, slots=True)
class Recovery:
    """That a subscriber asks for what it missed, as long as the publisher remembers it.

    A publisher's messages stay in order: what follows a missing one waits for it.
    """

    patience_s: float = 10.0
    """When for so long nothing has come of what a publisher was asked for, it is given up, and what
    waited for it is delivered; should it come after all, it is delivered late."""

    def __post_init__(self) -> None:
        if not self.patience_s > 0:
            raise ValueError(f"patience is more than 0 seconds, not {self.patience_s}")


class MissingPart(Question):
    """Messages that were asked for, by their first and last number."""

    def __init__(self, publisher: MissingMessages, first: int, last: int) -> None:
        super().__init__(f"{publisher.cache}?_sn={first}..{last}")
        self.publisher = publisher
        self.first = first
        self.last = last


class Recoverer:
    """Puts the messages of one edge into order, and knows which of them to ask for."""

    def __init__(
        self,
        asker: Asker,
        recovery: Recovery,
        deliver: Callable[[list[zenoh.Sample]], None],
    ) -> None:
        self._asker = asker
        self._patience_s = recovery.patience_s
        self._deliver = deliver
        self._lock = threading.Lock()  # also while delivering: a publisher's messages stay in order
        self._sources: OrderedDict[tuple[str, int], MissingMessages] = OrderedDict()
        self._histories: dict[tuple[str, int], MissingMessages] = {}
        self._lacking: set[MissingMessages] = set()
        self._looked_at = time.monotonic()
        self._held_bytes = 0
        self.recovered = 0
        self.given_up = 0
        asker.add(self)

    def hear(self, batch: list[zenoh.Sample]) -> None:
        """Messages came; those that are in order are delivered."""
        with self._lock:
            found_gap = False
            if self._is_in_order(batch):
                self._deliver(batch)
            else:
                found_gap = self._hear(batch)
        if found_gap:
            self._asker.put(self, None)

    def hear_heartbeats(self, key: str) -> zenoh.Subscriber[None]:
        """Hear the heartbeats of a key's publishers, too."""
        return self._asker.hear_heartbeats(self, key)

    def keep(self, expressions: Iterable[str]) -> None:
        """Forget the publishers whose key none of these expressions meets any more."""
        self._asker.put(self, frozenset(expressions))

    def close(self) -> None:
        """Ask for nothing any more."""
        self._asker.remove(self)

    # With the lock

    def _is_in_order(self, batch: list[zenoh.Sample]) -> bool:
        """Whether these are the next messages of one publisher, or of some without a memory.

        As nearly always, and told for all of them at once; then they were heard.
        """
        infos = list(map(_INFO_OF, batch))
        if not any(infos):
            return True
        if not all(infos):
            return False
        entities = list(map(_ENTITY_OF, infos))
        publishers, numbers = list(map(_PUBLISHER_OF, entities)), list(map(_NUMBER_OF, infos))
        first, count = numbers[0], len(numbers)
        if publishers.count(publishers[0]) < count or numbers != list(range(first, first + count)):
            return False
        name = (str(publishers[0][0]), publishers[0][1])
        source = self._sources.get(name)
        if source is None or source in self._lacking:
            return False
        if not source.sequence.hear_next(first, count):
            return False
        self._sources.move_to_end(name)
        source.heard_at = time.monotonic()
        return True

    def _hear(self, batch: Iterable[zenoh.Sample], *, asked: bool = False) -> bool:
        """Deliver what is in order now; whether a new gap was found."""
        ready: list[zenoh.Sample] = []
        found_gap = False
        for sample in batch:
            info = sample.source_info
            if info is None:  # a publisher without a memory
                ready.append(sample)
                continue
            number = info.source_sn
            source = self._source_of(sample, info.source_id, number, asked=asked)
            if source is None:
                continue
            in_order, is_new_gap = self._hear_of(source, sample, number, asked=asked)
            ready += in_order
            found_gap |= is_new_gap
        if ready:
            self._deliver(ready)
        return found_gap

    def _hear_of(
        self, source: MissingMessages, sample: zenoh.Sample, number: int, *, asked: bool
    ) -> tuple[list[zenoh.Sample], bool]:
        """The same for one message of a publisher with a memory."""
        sequence, heard, now = source.sequence, source.sequence.heard, time.monotonic()
        source.heard_at = now
        source.is_reached |= asked
        if not asked and sequence.was_heard_lately(number):
            # A copy, or somebody used the publisher's number: who reads it can tell.
            return [sample], False
        waits = sequence.has_to_wait(number)
        if waits and self._held_bytes >= HELD_BYTES:
            source.leave_out(number)
            self._lacking.add(source)
            return [], True
        if sequence.lacks(number):
            source.came(now)
            self.recovered += asked
        self._held_bytes += bytes_of(sample) if waits else 0
        in_order = sequence.hear(number, sample)
        ready = in_order[:1] + self._let_go(in_order[1:])
        if sequence.has_gap:
            self._lacking.add(source)
            if sequence.held > _HELD_AT_MOST:
                ready += self._give_up(source, sequence.first_gap()[1])
        elif source in self._lacking:
            self._rest(source)
        return ready, sequence.has_gap and sequence.heard > heard + 1

    def _let_go(self, held: list[zenoh.Sample]) -> list[zenoh.Sample]:
        """These were held, and are no longer."""
        self._held_bytes -= sum(map(bytes_of, held))
        return held

    def _all_held(self, source: MissingMessages) -> list[zenoh.Sample]:
        """What waits in a sequence that comes to its end."""
        held: list[zenoh.Sample] = []
        while source.sequence.held:
            held += source.sequence.give_up(source.sequence.first_gap()[1])
        return self._let_go(held)

    def _source_of(
        self, sample: zenoh.Sample, entity: zenoh.EntityGlobalId, number: int, *, asked: bool
    ) -> MissingMessages | None:
        """What a message belongs to; None for the answer of a publisher forgotten meanwhile."""
        name = (str(entity.zid), entity.eid)
        source = self._sources.get(name)
        if source is not None:
            self._sources.move_to_end(name)
        elif asked:
            return None
        else:
            source = self._new_source(str(sample.key_expr), name, number)
        if source.sequence.is_before_first(number):
            return self._history_of(name, source, number)
        return source

    def _new_source(self, key: str, name: tuple[str, int], first: int) -> MissingMessages:
        if len(self._sources) == _SOURCES:
            self._forget(next(iter(self._sources)))
        source = self._sources[name] = MissingMessages(key, *name, first)
        return source

    def _history_of(
        self, name: tuple[str, int], source: MissingMessages, number: int
    ) -> MissingMessages:
        """What a publisher's cache still held when we came, up to what we have heard since.

        A heartbeat or a new message may well be here before a long history is. Zenoh drops of it
        what it cannot send at once, so what is missing is asked for as well.
        """
        history = self._histories.get(name)
        if history is None or history.sequence.is_before_first(number):
            if history is not None:
                self._rest(history)
                self._all_held(history)  # asked for again
            history = self._histories[name] = MissingMessages(source.key, *name, number)
            history.sequence.tell(source.sequence.first - 1)
            self._lacking.add(history)
            self._asker.put(self, None)
        return history

    def _rest(self, source: MissingMessages) -> None:
        """Nothing is missing of it any more."""
        self._lacking.discard(source)
        source.is_reached = False
        source.silent_s = 0.0

    def _give_up(self, source: MissingMessages, count: int) -> list[zenoh.Sample]:
        """The first missing messages; what follows them."""
        self.given_up += count
        source.silent_s = 0.0
        logger.warning("%d messages of %s are lost", count, source.key)
        return self._let_go(source.sequence.give_up(count))

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
        for source in (self._histories.pop(name, None), self._sources.pop(name)):
            if source is None:
                continue
            self._lacking.discard(source)
            held = self._all_held(source)
            if held:
                self._deliver(held)

    # What the asker wants (see `asker.Asks`)

    @property
    def ask_at(self) -> float:
        """When to ask next."""
        with self._lock:
            return min((source.ask_at for source in self._lacking), default=math.inf)

    def take(self, events: Iterable[Event]) -> None:
        """What came for this edge."""
        with self._lock:
            for event in events:
                self._take(event)

    def _take(self, event: Event) -> None:
        if isinstance(event, Question):
            if isinstance(event, MissingPart) and not event.has_failed:
                now = time.monotonic()
                event.publisher.look(now)
                event.publisher.answered(event.first, event.last, now)
        elif isinstance(event, frozenset):
            self._forget_all_but(event)
        elif event is not None and HEARTBEATS in str(event.key_expr):
            self._told(event)
        elif event is not None:
            self._hear((event,), asked=True)

    def _told(self, heartbeat: zenoh.Sample) -> None:
        """The number of a publisher's last message; of one never heard nothing is missing yet."""
        key, _, entity = str(heartbeat.key_expr).rpartition(HEARTBEATS)
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

    def due(self) -> list[MissingPart]:
        """What is to be asked for now; what is hopeless is given up."""
        now = time.monotonic()
        passed_s, self._looked_at = min(now - self._looked_at, _LONGEST_LOOK_S), now
        due: list[MissingPart] = []
        with self._lock:
            for source in tuple(self._lacking):
                source.look(now)
                source.wait(passed_s)
                hopeless = source.hopeless(self._patience_s)
                if hopeless:
                    ready = self._give_up(source, hopeless)
                    if ready:
                        self._deliver(ready)
                    source.look(now)
                if not source.sequence.has_gap:
                    self._rest(source)
                due += [MissingPart(source, first, last) for first, last in source.questions(now)]
        return due
