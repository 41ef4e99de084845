"""A fence: events at the border of an area, from the messages that come from there and around."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import zenoh

from zonal.border import Border, FenceEvent, NotedPlace
from zonal.runtime import Incoming, Mailbox
from zonal.session.stamps import micros_of_stamp, stamp_parts
from zonal.session.subscriber import Subscriber
from zonal.session.undeclaring import Declared
from zonal.session.weight import ITSELF, bytes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from zonal.border import BorderPlan, ZoneSet
    from zonal.geo import Area
    from zonal.runtime import CallbackThreads, Overflow
    from zonal.session.position import Position
    from zonal.session.sample import Sample
    from zonal.session.subscriber import Counters

    NameOf = Callable[[Sample], str]

GRACE_S = 0.5
"""How long a message may be under way before time passes without it."""
_ASKED_AT_A_TIME = 100
_AHEAD_US = 60_000_000


class FenceSubscriber(Subscriber):
    """Hands samples over as they come, on the session's reading thread."""

    def __init__(
        self, *args: Any, take: Callable[[Sequence[Sample]], None], **options: Any
    ) -> None:
        self._take = take
        super().__init__(*args, **options)

    def deliver(self, samples: Sequence[Sample], *, at_once: bool = False) -> bool:  # noqa: ARG002
        """To the fence."""
        self._accepted += len(samples)
        self._take(samples)
        return True


class Fence(Declared, Incoming[FenceEvent]):
    """Events at the border of one area or of many zones: iterate over it, or give a callback.

    It hears messages from its zones and from a ring around them, in which leaving is noticed. A
    thing that went beyond the ring in one step is no longer heard; after `ask_s` a store is asked
    where it is, and after `silence_s` it has left in any case.
    """

    def __init__(
        self,
        key: str,
        zones: ZoneSet,
        plan: BorderPlan,
        position: Position,
        *,
        name_of: NameOf | None,
        ask_s: float | None,
        capacity: int,
        overflow: Overflow,
        on_close: Callable[[Fence], None],
    ) -> None:
        self.key = key
        self.zones = zones
        self.plan = plan
        self._position = position
        self._name_of = name_of
        self._ask_us = None if ask_s is None else round(ask_s * 1e6)
        self._on_close = on_close
        self._name = f"fence {key!r}"
        super().__init__(Mailbox(capacity, overflow, name=self._name, weigh=_bytes_of))
        self._lock = threading.Lock()
        self._border = Border(self._placed(), plan)
        self._waiting: Mailbox[Sample] | None = Mailbox(name=self._name, weigh=_bytes_of_sample)
        self._subscriber: Subscriber | None = None
        self._asked: dict[str, int] = {}
        self.asked = 0
        """How often a store was asked where a thing has gone."""

    # What the user sees

    @property
    def counters(self) -> Counters:
        """What happened to the messages that it heard."""
        assert self._subscriber is not None
        return self._subscriber.counters

    @property
    def declared_keys(self) -> tuple[str, ...]:
        """The key expressions that are declared to the network."""
        return () if self._subscriber is None else self._subscriber.declared_keys

    def inside(self) -> list[tuple[str, str | None]]:
        """The things that are in a zone now, with its name."""
        with self._lock:
            return sorted(self._border.inside(), key=lambda each: (each[0], each[1] or ""))

    def undeclare(self) -> None:
        """Watch no more; events that happened can still be read."""
        if self._closed:
            return
        self._closed = True
        if self._subscriber is not None:
            self._subscriber.undeclare()
        self._end()
        self._on_close(self)

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"{len(self._mailbox)} waiting"
        return f"Fence(key={self.key!r}, {len(self.zones)} zones, {state})"

    # What the session does with it

    def begin(self, subscriber: Subscriber, known: Iterable[Sample]) -> None:
        """Things were here when we began; then what was heard meanwhile."""
        self._subscriber = subscriber
        self._mailbox.when_stuck = subscriber.when_stuck
        places = [
            noted
            for sample in known
            if sample.timestamp is not None and (noted := self._noted(sample)) is not None
        ]
        with self._lock:
            self._border.resume(places)
            waiting, self._waiting = self._waiting, None
            if waiting is not None:
                self._bring(self._events_of(waiting.take_all(0)))

    def call(self, function: Callable[[FenceEvent], Any], threads: CallbackThreads) -> None:
        """Hand every event to a callback, one after another, in threads of the session's own."""
        self._call_back(self._name, function, threads)

    def take(self, samples: Sequence[Sample]) -> None:
        """On the reading thread: messages from the zones and from around them."""
        with self._lock:
            if self._waiting is not None:
                self._waiting.put(samples)
                return
            events = self._events_of(samples)
        if events:
            self._bring(events)

    def tick(self, now_s: float) -> list[str]:
        """Time passed; returns the keys of things that a store is to be asked for."""
        now = round((now_s - GRACE_S) * 1e6)
        with self._lock:
            if self._waiting is not None:
                return []
            events = self._border.pass_time(now)
            wanted = self._gone_quiet(now)
        if events:
            self._bring(events)
        self.asked += len(wanted)
        return wanted

    def _gone_quiet(self, now: int) -> list[str]:
        """Things in a zone that have not been heard of for long, each once in that time."""
        if self._ask_us is None or self._name_of is not None:
            return []
        before = now - self._ask_us
        self._asked = {name: at for name, at in self._asked.items() if at >= before}
        quiet = [name for name in self._border.quiet(before) if name not in self._asked]
        self._asked |= dict.fromkeys(quiet[:_ASKED_AT_A_TIME], now)
        return quiet[:_ASKED_AT_A_TIME]

    @property
    def follows_position(self) -> bool:
        """Whether the zone follows the session's position."""
        return not self._closed and self.zones.is_ego_centric

    def move(self) -> None:
        """Follow the position: others come near, or stay behind."""
        with self._lock:
            events = self._border.move_zone(self._placed().areas[0], time.time_ns() // 1000)
        if events:
            self._bring(events)

    # Small things

    def _placed(self) -> ZoneSet:
        """The zones, around our position where they follow it."""
        if not self.zones.is_ego_centric:
            return self.zones
        area: Area = self.zones.areas[0].at(self._position.current())
        return type(self.zones)(self.zones.names, (area,))

    def _events_of(self, samples: Sequence[Sample]) -> list[FenceEvent]:
        events: list[FenceEvent] = []
        places: list[NotedPlace] = []
        for sample in samples:
            noted = self._noted(sample)
            if noted is None:
                continue
            if sample.kind == zenoh.SampleKind.DELETE:
                events += self._border.update(places)
                places = []
                events += self._border.remove(noted.thing, noted.time, sample)
            else:
                places.append(noted)
        return events + self._border.update(places)

    def _noted(self, sample: Sample) -> NotedPlace | None:
        place, stamp = sample.location, sample.timestamp
        if place is None:
            return None
        now = time.time_ns() // 1000
        when = now if stamp is None else micros_of_stamp(stamp_parts(stamp)[0])
        if when > now + _AHEAD_US:
            return None  # all that follows would be late
        name = sample.key if self._name_of is None else self._name_of(sample)
        return NotedPlace(name, place.lat, place.lon, when, sample)


def _bytes_of_sample(sample: Sample) -> int:
    return bytes_of(sample.zenoh)


def _bytes_of(event: FenceEvent) -> int:
    return ITSELF + (0 if event.sample is None else _bytes_of_sample(event.sample))
