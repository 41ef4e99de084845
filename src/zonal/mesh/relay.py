"""Carrying publications over a hop: numbering, acknowledgement, repetition, and a way around."""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from zonal.mesh.packets import Ack, Effect, Pub, Send
from zonal.mesh.place import Forward, Place
from zonal.mesh.stranded import REMEMBERED, Stranded
from zonal.runtime import Recent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from zonal.mesh.config import MeshConfig
    from zonal.mesh.counters import NodeCounters
    from zonal.mesh.links import LinkTable

_LONGEST = 3  # doublings of the time to wait for an acknowledgement
_MOST_TRIES = 8  # times as many over a weak link as over a good one
_LASTING = 40  # periods for which a hop is tried where there is no way around it
_HANDLED = 4 * REMEMBERED
_WAVE = 6  # periods after which what comes again is about another ring


@dataclass(slots=True)
class Pending:
    """A hop that is not acknowledged yet."""

    to: int
    pub: Pub
    position: int
    tries: int
    due: float
    most: int
    """Tries in all, by the quality of the link."""
    since: float


class Relay:
    """Sends PUBs and, where acknowledgement is on, watches over them."""

    def __init__(
        self, me: int, config: MeshConfig, counters: NodeCounters, links: LinkTable
    ) -> None:
        self.me = me
        self.config = config
        self.counters = counters
        self.links = links
        self.hop = 0
        self.pending: dict[int, Pending] = {}
        self.publications: Recent[tuple[int, int]] = Recent(REMEMBERED)
        self.hops: Recent[tuple[int, int]] = Recent(REMEMBERED)
        self.handled: dict[tuple[int, int, int, bool], tuple[int, float]] = {}
        self.stranded = Stranded(config)
        self.wake_at = inf

    def seen_before(self, origin: int, serial: int) -> bool:
        """Whether this publication passed here already."""
        return self.publications.check((origin, serial))

    def repeated(self, pub: Pub) -> bool:
        """Whether this very transmission was received already (its acknowledgement was lost)."""
        return self.hops.check((pub.sender, pub.hop))

    def is_handled(self, pub: Pub, length: int, now: float) -> bool:
        """Whether a publication came to this very position lately, to go at least as far.

        On a ring that stands each position is passed once (theorem 1). What comes again was taken
        for lost, or set out anew, where it had arrived: to pass it on would do all of it twice.
        One that set out anew after the ring had moved is told apart from the first.
        """
        span = (pub.end - pub.goal) % length or length
        key = (pub.origin, pub.serial, pub.goal, pub.ttl < self.config.ttl // 2)
        before, at = self.handled.pop(key, (0, now))
        again = span <= before and 0 <= now - at < _WAVE * self.config.period
        self.handled[key] = (before, at) if again else (span, now)
        if len(self.handled) > _HANDLED:
            del self.handled[next(iter(self.handled))]
        return again

    def send(self, pub: Pub, hops: Iterable[Forward], now: float) -> list[Effect]:
        """One PUB per hop that the routing layer chose."""
        return [self._send(pub, forward, now) for forward in hops]

    def _send(self, pub: Pub, forward: Forward, now: float) -> Effect:
        self.hop = (self.hop + 1) & 0xFFFF
        self.counters.forwarded += 1
        sent = pub._replace(
            sender=self.me, hop=self.hop, goal=forward.goal, end=forward.end, ttl=pub.ttl - 1
        )
        if self.config.acknowledged and len(self.pending) < self.config.pending:
            due = now + self.config.ack_timeout
            self.pending[self.hop] = Pending(
                forward.to, sent, forward.position, 1, due, self._tries(forward.to), now
            )
            self.wake_at = min(self.wake_at, due)
        return Send(forward.to, sent)

    def _tries(self, to: int) -> int:
        """Tries after which a link of this quality fails in one case in a thousand, within bounds.

        What counts is the way there and back: the acknowledgement must arrive as well.
        """
        usual, link = self.config.ack_tries, self.links.used.get(to)
        loss = 1 - min(max(link.quality if link else 0.5, 0.01), 0.99)
        return min(max(usual, math.ceil(math.log(1e-3) / math.log(loss))), _MOST_TRIES * usual)

    def acknowledged(self, ack: Ack) -> None:
        """A hop arrived: it is not repeated any more."""
        entry = self.pending.get(ack.hop)
        if entry is not None and entry.to == ack.sender:
            del self.pending[ack.hop]

    def tick(self, now: float, place: Place | None) -> list[Effect]:
        """Repeat what is overdue; after the last try go around the neighbour that is silent."""
        effects: list[Effect] = []
        limit = now + self.config.ack_timeout * 2 ** (_LONGEST + 1)
        for hop, entry in list(self.pending.items()):
            if now < entry.due <= limit:
                continue
            if self._may_try(entry, now, place):
                entry.tries += 1
                entry.due = now + self.config.ack_timeout * 2 ** min(entry.tries - 1, _LONGEST)
                self.counters.repeats += 1
                effects.append(Send(entry.to, entry.pub))
                continue
            del self.pending[hop]
            effects += self._around(entry, now, place)
        self.wake_at = min((entry.due for entry in self.pending.values()), default=inf)
        return effects

    def _may_try(self, entry: Pending, now: float, place: Place | None) -> bool:
        """Whether a hop is tried again; beyond its tries only where there is no way around.

        While link and ring stand, one more try may arrive and is known again by its number; what
        sets out anew does the whole ring once more. Half of the room is left to those that follow.
        """
        if entry.to not in self.links.used:
            return False
        if entry.tries < min(entry.most, _MOST_TRIES * self.config.ack_tries):
            return True
        lasts = 0 <= now - entry.since < _LASTING * self.config.period
        has_room = 2 * len(self.pending) <= self.config.pending
        stands = lasts and has_room and self._stands(entry)
        return stands and self._way_around(entry, place) is None

    def _stands(self, entry: Pending) -> bool:
        """Whether the ring is still the one on which the hop was first tried."""
        return self.stranded.stands_since <= entry.since

    def _way_around(self, entry: Pending, place: Place | None) -> Forward | None:
        """To the next best neighbour before the goal; None: there is none."""
        if place is None or entry.position not in place.positions:
            return None
        index = place.positions.index(entry.position)
        hop = place.closest(index, entry.pub.goal, avoid=entry.to)
        return None if hop is None else Forward(entry.position, hop[1], entry.pub.end, hop[0])

    def _around(self, entry: Pending, now: float, place: Place | None) -> list[Effect]:
        """Give the publication to another neighbour; where there is none it waits for the ring."""
        if self._stands(entry) and entry.pub.ttl > 0:
            forward = self._way_around(entry, place)
            if forward is not None:
                return [self._send(entry.pub, forward, now)]
        self.strand(entry.pub, entry.since, now)
        return []

    def strand(self, pub: Pub, since: float, now: float) -> None:
        """A publication has no way on from here: keep it for when the ring stands again."""
        if not self.stranded.hold(pub, since, now):
            self.counters.given_up += 1
