"""Shen's tree routing as a layer of running nodes, with its packet and the bytes of that."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from zonal.mesh import WIRE, Codec, Effect, Forward, PacketKind, Place, Send

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from zonal.mesh import FieldReader, FieldWriter, MeshConfig, Packet, Pub


class Interest(NamedTuple):
    """The exchange of routing tables: channels that are wanted on the sender's side."""

    sender: int
    channels: tuple[int, ...]


def _write(packet: Interest, to: FieldWriter) -> None:
    to.numbers(packet.channels)


def _read(sender: int, src: FieldReader) -> Interest:
    return Interest(sender, src.numbers())


class Shen:
    """Shen's tree routing [13]: tree neighbours exchange tables, paths follow the tree."""

    codec: ClassVar[Codec] = WIRE.extended(5, PacketKind(Interest, _write, _read))

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

    def fits(self, pub: Pub) -> bool:  # noqa: ARG002 - a branch is a branch
        """Tree routing needs a tree, no more."""
        return self.place is not None

    def hops(self, pub: Pub | None, channels: tuple[int, ...], now: float) -> Iterator[Forward]:  # noqa: ARG002 - the interface has a clock, tree routing needs none
        """Into every branch with a subscriber, except where the publication came from."""
        wanted = frozenset(channels)
        for branch, (_, there) in self.branches.items():
            if (pub is None or pub.sender != branch) and wanted & there:
                yield Forward(0, 0, 0, branch)
