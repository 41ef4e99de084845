"""Publish/subscribe on the ring: algorithms 1 and 2, behind an interface that others can have."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Protocol

from zonal.errors import PacketError
from zonal.mesh.packets import Effect, Packet, Pub, Send, Sub
from zonal.mesh.place import Forward, Place, forwards
from zonal.mesh.table import RoutingTable
from zonal.mesh.wire import WIRE, Codec, check_channels, sub_packets

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from zonal.mesh.config import MeshConfig

_RESUBSCRIBE = (1.0, 2.0, 3.0, 4.0)  # periods after a change of place; SUBs get lost
_SPREAD = 0.5  # of a period over which the SUBs of a node with many channels are spread
_COPIES = 0.8  # of a period over which copies of one SUB are spread; what comes within it is a copy
_MOST_COPIES = 8
_MISSED = 0.2  # of the SUBs may be lost on each hop of the tree; leases repeat them


class Routing(Protocol):
    """What a node asks of its publish/subscribe layer."""

    codec: ClassVar[Codec]
    """The bytes of all packets that nodes with this layer exchange, its own kinds included."""
    wanted: set[int]
    """C_S: the channels that this node subscribes to."""
    wake_at: float

    def __init__(self, me: int, config: MeshConfig, rng: random.Random) -> None: ...

    def settle(self, place: Place | None, now: float) -> None:
        """The tree or the ring changed under this node; None: it has no place yet."""

    def subscribe(self, channel: int, now: float) -> None:
        """Add a channel to C_S; `PacketError` where it cannot be one, or is one too many."""

    def unsubscribe(self, channel: int) -> None:
        """Take a channel out of C_S."""

    def hear(self, packet: Packet, now: float) -> Iterator[Effect]:
        """Take in a control packet of this layer."""

    def tick(self, now: float) -> Iterator[Effect]:
        """Do what is due."""

    def fits(self, pub: Pub) -> bool:
        """Whether a received publication was addressed to the place that this node has."""

    def hops(self, pub: Pub | None, channels: tuple[int, ...], now: float) -> Iterator[Forward]:
        """Where a received publication, or (None) an own one, goes next."""


class Psvr:
    """The paper's layer: SUB over the tree, PUB over the ring with shortcuts.

    After its positions changed, a node forwards along the ring until its table has had one lease
    to fill: it spends messages rather than skip a subscriber it has not heard yet.

    Channels that do not fit one SUB take several, spread over half a period. Over a tree link that
    loses packets a node repeats the SUBs that it says and passes on, as often as it takes; whoever
    hears several copies passes on the first.
    """

    codec: ClassVar[Codec] = WIRE

    def __init__(self, me: int, config: MeshConfig, rng: random.Random) -> None:
        self.me = me
        self.config = config
        self.rng = rng
        self.wanted: set[int] = set()
        self.table = RoutingTable(config.max_channels)
        self.place: Place | None = None
        self.lease = config.lease_floor
        self.sub_at = 0.0
        self.clean_at = 0.0
        self.cautious_until = 0.0
        self.again: list[float] = []
        self.fresh: set[int] = set()
        self.unsaid: list[tuple[int, ...]] = []
        self.say_at = 0.0
        self.say_gap = 0.0
        self.copies: list[tuple[float, Sub]] = []
        self.heard: dict[tuple[tuple[int, ...], tuple[int, ...]], float] = {}
        self.wake_at = 0.0

    def settle(self, place: Place | None, now: float) -> None:
        """Take a new place; a changed ring empties the table and makes subscribers speak up."""
        table = self.table
        if place is None:
            self.place = None
            return
        moved = place.positions != table.positions or place.length != table.length
        self.place = place
        if not moved:
            return
        table.settle(place.positions, place.length)
        self.copies.clear()
        self.heard.clear()
        self.lease = self.config.lease(place.length)
        self.cautious_until = now + self.lease * (1 + self.config.jitter) + self.config.period
        self.sub_at = now
        self.again = [now + wait * self.config.period for wait in _RESUBSCRIBE]
        self.clean_at = now + self.lease / 4
        self.wake_at = now

    def subscribe(self, channel: int, now: float) -> None:
        """Algorithm 1, `subscribe`."""
        if channel in self.wanted:
            return
        check_channels((channel,))
        if len(self.wanted) >= self.config.max_channels:
            raise PacketError(
                f"a node subscribes to at most {self.config.max_channels} channels, and it has them"
            )
        self.wanted.add(channel)
        self.fresh.add(channel)
        self.wake_at = now

    def unsubscribe(self, channel: int) -> None:
        """Section 4.3: others forget it when the lease is over."""
        self.wanted.discard(channel)
        self.fresh.discard(channel)

    def tick(self, now: float) -> Iterator[Effect]:
        """Expiration of TIMER_SUB and TIMER_CLEAN; a timer far in the future is corrupt."""
        lease = self.lease = self.config.lease(self.table.length)
        if not now < self.clean_at <= now + lease:
            self.clean_at = now + lease / 4
            self.cautious_until = min(self.cautious_until, now + 2 * lease + self.config.period)
            self.table.clean(now, self.config.write_back * lease)
            recent = now - _COPIES * self.config.period
            self.heard = {sub: at for sub, at in self.heard.items() if recent <= at <= now}
        repeat = any(time <= now for time in self.again)
        if repeat:  # what lies too far ahead is corrupt, what is over is done
            horizon = now + max(_RESUBSCRIBE) * self.config.period
            self.again = [time for time in self.again if now < time <= horizon]
        if not now < self.sub_at <= now + lease:
            self.sub_at = now + lease * (1 - self.config.jitter * self.rng.random())
            repeat = True
        self._plan(now, everything=repeat)
        yield from self._say(now)
        yield from self._repeat(now)
        self.wake_at = min(self.sub_at, self.clean_at, *self.again, *(at for at, _ in self.copies))
        if self.unsaid:
            self.wake_at = min(self.wake_at, self.say_at)

    def _plan(self, now: float, *, everything: bool) -> None:
        """Line up SUBs: for all channels, or only for those that are new, before what is left."""
        place = self.place
        if place is None or not place.tree_neighbours:
            self.unsaid = []
        elif everything:
            self.unsaid = sub_packets(self.wanted, place.positions)
            self.say_at = now
            self.say_gap = _SPREAD * self.config.period / max(len(self.unsaid), 1)
        elif self.fresh:
            self.unsaid = [*sub_packets(self.fresh, place.positions), *self.unsaid]
            self.say_at = now
        self.fresh.clear()

    def _say(self, now: float) -> Iterator[Effect]:
        """Say what is due of the SUBs that are lined up; a time far in the future is corrupt."""
        gap = min(max(self.say_gap, 0.0), self.config.period)
        if self.say_at > now + self.config.period:
            self.say_at = now
        while self.unsaid and self.say_at <= now and self.place is not None:
            channels = tuple(c for c in self.unsaid.pop(0) if c in self.wanted)
            if channels:
                sub = Sub(self.me, None, channels, self.place.positions)
                self._copy(sub, now)
                yield Send(None, sub)
            self.say_at = max(self.say_at, now - self.config.period) + gap

    def _copy(self, sub: Sub, now: float) -> None:
        """Plan to say a SUB again, so that nearly every tree neighbour hears one of them."""
        loss = 0.0 if self.place is None else self.place.tree_loss
        count = 1 if loss < _MISSED else math.log(_MISSED) / math.log(min(loss, 0.99))
        copies = min(math.ceil(count), _MOST_COPIES)
        gap = _COPIES * self.config.period / copies
        self.copies += [(now + gap * number, sub) for number in range(1, copies)]

    def _repeat(self, now: float) -> Iterator[Effect]:
        """Say the copies that are due; a time far in the future is corrupt."""
        if not self.copies:
            return
        horizon = now + self.config.period
        due = [sub for at, sub in self.copies if at <= now]
        self.copies = [(at, sub) for at, sub in self.copies if now < at <= horizon]
        yield from (Send(None, sub) for sub in due)

    def _is_copy(self, sub: Sub, now: float) -> bool:
        """Whether the same was heard within the time over which copies are spread."""
        key = (sub.channels, sub.positions)
        before = self.heard.get(key)
        if before is not None and 0 <= now - before < _COPIES * self.config.period:
            return True
        self.heard[key] = now
        return False

    def hear(self, packet: Packet, now: float) -> Iterator[Effect]:
        """Algorithm 1, reception of SUB⟨r, C, P⟩ from u; the tree layer filters by sender."""
        place = self.place
        if not isinstance(packet, Sub) or place is None:
            return
        if packet.previous == self.me or packet.sender not in place.tree_neighbours:
            return
        if self._is_copy(packet, now):
            return
        for channel in packet.channels:
            self.table.update(channel, packet.positions, now, self.lease)
        rest = tuple(c for c in packet.channels if c not in self.wanted)
        if rest and place.children:
            sub = Sub(self.me, packet.sender, rest, packet.positions)
            self._copy(sub, now)
            self.wake_at = min([self.wake_at, *(at for at, _ in self.copies)])
            yield Send(None, sub)

    def fits(self, pub: Pub) -> bool:
        """Not on a ring that moved under way: there goal and end point mean other nodes."""
        place = self._standing()
        return place is not None and pub.goal in place.positions

    def hops(self, pub: Pub | None, channels: tuple[int, ...], now: float) -> Iterator[Forward]:
        """Algorithm 2: `handlePub`, or `publish` where there is no received PUB."""
        place = self._standing()
        if place is None:
            return
        first = place.positions[0]
        current, end = (first, first) if pub is None else (pub.goal, pub.end)
        is_cautious = now < self.cautious_until or self.table.lacks(
            channels, now, self.config.write_back * self.lease
        )

        def following(index: int) -> int | None:
            if is_cautious:
                return (place.positions[index] + 1) % place.length
            return self.table.nearest(channels, index)

        yield from forwards(place, following, current, end)

    def _standing(self) -> Place | None:
        """The place, if the table is about the same positions."""
        place, table = self.place, self.table
        if place is None or (place.positions, place.length) != (table.positions, table.length):
            return None
        return place
