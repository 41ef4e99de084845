"""Publish/subscribe on the ring: algorithms 1 and 2, behind the interface that Shen's has too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from zonal.mesh.packets import Effect, Interest, Packet, Pub, Send, Sub
from zonal.mesh.place import Forward, Place, forwards
from zonal.mesh.table import RoutingTable

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from zonal.mesh.config import MeshConfig

_RESUBSCRIBE = (1.0, 2.0, 3.0, 4.0)  # periods after a change of place; SUBs get lost


class Routing(Protocol):
    """What a node asks of its publish/subscribe layer."""

    wanted: set[int]
    wake_at: float

    def settle(self, place: Place | None, now: float) -> None:
        """The tree or the ring changed under this node; None: it has no place yet."""

    def subscribe(self, channel: int, now: float) -> None:
        """Add a channel to C_S."""

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
    """The paper's layer: SUB over the tree, PUB over the ring with shortcuts."""

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
        self.lease = self.config.lease(place.length)
        self.cautious_until = now + self.lease * (1 + self.config.jitter) + self.config.period
        self.sub_at = now
        self.again = [now + wait * self.config.period for wait in _RESUBSCRIBE]
        self.clean_at = now + self.lease / 4
        self.wake_at = now

    def subscribe(self, channel: int, now: float) -> None:
        """Algorithm 1, ``subscribe``."""
        if channel not in self.wanted:
            self.wanted.add(channel)
            self.sub_at = self.wake_at = now

    def unsubscribe(self, channel: int) -> None:
        """Section 4.3: silence does the rest."""
        self.wanted.discard(channel)

    def tick(self, now: float) -> Iterator[Effect]:
        """Expiration of TIMER_SUB and TIMER_CLEAN; a timer far in the future is corrupt."""
        lease = self.lease = self.config.lease(self.table.length)
        if not now < self.clean_at <= now + lease:
            self.clean_at = now + lease / 4
            self.cautious_until = min(self.cautious_until, now + 2 * lease + self.config.period)
            self.table.clean(now, self.config.write_back * lease)
        repeat = any(time <= now for time in self.again)
        if repeat:  # what lies too far ahead is corrupt, what is over is done
            horizon = now + max(_RESUBSCRIBE) * self.config.period
            self.again = [time for time in self.again if now < time <= horizon]
        if not now < self.sub_at <= now + lease:
            self.sub_at = now + lease * (1 - self.config.jitter * self.rng.random())
            repeat = True
        if repeat:
            yield from self._say()
        self.wake_at = min(self.sub_at, self.clean_at, *self.again)

    def _say(self) -> Iterator[Effect]:
        if self.wanted and self.place is not None and self.place.tree_neighbours:
            channels = tuple(sorted(self.wanted))
            yield Send(None, Sub(self.me, None, channels, self.place.positions))

    def hear(self, packet: Packet, now: float) -> Iterator[Effect]:
        """Algorithm 1, reception of SUB⟨r, C, P⟩ from u; the tree layer filters by sender."""
        place = self.place
        if not isinstance(packet, Sub) or place is None:
            return
        if packet.previous == self.me or packet.sender not in place.tree_neighbours:
            return
        for channel in packet.channels:
            self.table.update(channel, packet.positions, now, self.lease)
        rest = tuple(c for c in packet.channels if c not in self.wanted)
        if rest and place.children:
            yield Send(None, Sub(self.me, packet.sender, rest, packet.positions))

    def fits(self, pub: Pub) -> bool:
        """Not on a ring that moved under way: there goal and end point mean other nodes."""
        place, table = self.place, self.table
        if place is None or (place.positions, place.length) != (table.positions, table.length):
            return False
        return pub.goal in place.positions

    def hops(self, pub: Pub | None, channels: tuple[int, ...], now: float) -> Iterator[Forward]:
        """Algorithm 2: ``handlePub``, or ``publish`` where there is no received PUB."""
        place, table = self.place, self.table
        if place is None or (place.positions, place.length) != (table.positions, table.length):
            return
        first = place.positions[0]
        current, end = (first, first) if pub is None else (pub.goal, pub.end)
        if self.config.cautious and now < self.cautious_until:

            def following(index: int) -> int | None:
                return (place.positions[index] + 1) % place.length
        else:

            def following(index: int) -> int | None:
                return table.nearest(channels, index)

        yield from forwards(place, following, current, end)


class Shen:
    """Shen's tree routing [13]: tree neighbours exchange tables, paths follow the tree."""

    def __init__(self, me: int, config: MeshConfig, rng: random.Random) -> None:
        self.me = me
        self.config = config
        self.rng = rng
        self.wanted: set[int] = set()
        self.branches: dict[int, tuple[float, frozenset[int]]] = {}
        self.place: Place | None = None
        self.exchange_at = 0.0
        self.wake_at = 0.0

    def settle(self, place: Place | None, now: float) -> None:
        """Forget branches that are no more; tell the new ones soon."""
        self.place = place
        links = frozenset() if place is None else place.tree_neighbours
        if set(self.branches) != links:
            self.branches = {b: e for b, e in self.branches.items() if b in links}
            self.exchange_at = self.wake_at = now

    def subscribe(self, channel: int, now: float) -> None:
        """Want a channel, and say so at once."""
        self.wanted.add(channel)
        self.exchange_at = self.wake_at = now

    def unsubscribe(self, channel: int) -> None:
        """No longer want a channel; the next exchange tells."""
        self.wanted.discard(channel)

    def tick(self, now: float) -> Iterator[Effect]:
        """The periodic exchange; a branch that has been silent for three is empty."""
        lease = self.config.lease_floor
        if now < self.exchange_at <= now + lease:
            return
        self.exchange_at = self.wake_at = now + lease * (1 - self.config.jitter * self.rng.random())
        self.branches = {b: e for b, e in self.branches.items() if 0 <= now - e[0] <= 3 * lease}
        yield from self._tell()

    def _tell(self, not_to: int | None = None) -> Iterator[Effect]:
        links = frozenset() if self.place is None else self.place.tree_neighbours
        for link in sorted(links - {not_to}):
            others = [entry[1] for branch, entry in self.branches.items() if branch != link]
            channels = self.wanted.union(*others)
            yield Send(link, Interest(self.me, tuple(sorted(channels))))

    def hear(self, packet: Packet, now: float) -> Iterator[Effect]:
        """Take a neighbour's table; what is new travels on at once."""
        if not isinstance(packet, Interest) or self.place is None:
            return
        if packet.sender not in self.place.tree_neighbours:
            return
        channels = frozenset(packet.channels)
        known = self.branches.get(packet.sender, (0.0, frozenset()))[1]
        self.branches[packet.sender] = (now, channels)
        if channels != known:
            yield from self._tell(not_to=packet.sender)

    def fits(self, pub: Pub) -> bool:  # noqa: ARG002 — a branch is a branch
        """Tree routing needs a tree, no more."""
        return self.place is not None

    def hops(self, pub: Pub | None, channels: tuple[int, ...], now: float) -> Iterator[Forward]:  # noqa: ARG002 — the interface has a clock, tree routing needs none
        """Into every branch with a subscriber, except where the publication came from."""
        wanted = frozenset(channels)
        for branch, (_, there) in self.branches.items():
            if (pub is None or pub.sender != branch) and wanted & there:
                yield Forward(0, 0, 0, branch)
