"""The mesh node: links, tree, ring and publish/subscribe in one, without sockets and clocks.

Whoever drives it hands it packets and the time, calls `tick` at `wake_at` (and at least once a
period, whatever `wake_at` says), and carries out the effects it returns. The simulator and the
processes over UDP drive the same class.

The layers stand on one another (collateral composition): each computes its state from the one
below and from what neighbours last told, and all of it is computed anew at least once a period,
so that no corrupt value outlives its turn.
"""

from __future__ import annotations

import math
import random
from collections import deque
from math import inf
from typing import TYPE_CHECKING

from zonal.errors import MeshError, PacketError
from zonal.mesh import wire
from zonal.mesh.config import MeshConfig
from zonal.mesh.counters import NodeCounters
from zonal.mesh.links import LinkTable
from zonal.mesh.packets import Ack, Beacon, Deliver, Effect, Packet, Pub, Send, View
from zonal.mesh.place import Place
from zonal.mesh.relay import Relay
from zonal.mesh.ring import Reach, own_positions, ring_length
from zonal.mesh.routing import Psvr, Routing
from zonal.mesh.tree import TreePlace, children_of, choose_parent

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_SIZE = 2**20  # no subtree is larger; keeps corrupt sizes from growing without bound
_LEAST_SLEEP = 1e-3  # whatever corrupt timers say, a node does not keep its driver busy
_NOTHING: tuple[Effect, ...] = ()


class MeshNode:
    """One node of the mesh."""

    def __init__(
        self,
        node_id: int,
        config: MeshConfig | None = None,
        *,
        seed: int = 0,
        routing: type[Routing] = Psvr,
        now: float = 0.0,
    ) -> None:
        if not 0 <= node_id < wire.MAX_NUMBER:
            raise MeshError(f"node id {node_id} must be from 0 to {wire.MAX_NUMBER - 1}")
        self.id = node_id
        self.config = config or MeshConfig()
        self.rng = random.Random(seed * 1_000_003 + node_id)
        self.counters = NodeCounters()
        self.links = LinkTable(node_id, self.config)
        self.tree = TreePlace(node_id, 0, node_id, 0)
        self.size = 1
        self.place: Place | None = None
        self.routing = routing(node_id, self.config, self.rng)
        self.relay = Relay(node_id, self.config, self.counters, self.links)
        self.view = View(node_id, 0, node_id, 0, 1, 1, (0,), (), ())
        self.seq = self.rng.randrange(0x10000)
        self.serial = self.rng.randrange(2**31)
        self.beacon_at = now + self.rng.random() * self.config.period
        self.review_at = now
        self.pace = 1
        self.told: tuple[object, ...] = ()
        self.sent_at = now
        self.waiting: deque[tuple[float, tuple[int, ...], int, bytes]] = deque(
            maxlen=self.config.pending
        )
        self.wake_at = now
        self._settle(now)

    # What the application asks.

    def subscribe(self, channel: int, now: float) -> None:
        """Receive publications on this channel from now on; `PacketError` where that cannot be."""
        self.routing.subscribe(channel, now)
        self.wake_at = now

    def unsubscribe(self, channel: int) -> None:
        """No longer receive publications on this channel."""
        self.routing.unsubscribe(channel)

    def publish(self, channels: int | Sequence[int], data: bytes, now: float) -> list[Effect]:
        """Publish to whoever subscribes to the channel, or to any of the channels, once.

        `PacketError` where channels and data do not fit one packet.
        """
        wanted = (channels,) if isinstance(channels, int) else tuple(channels)
        wire.check_publication(wanted, data)
        self.serial = (self.serial + 1) & 0x7FFFFFFF
        if self.place is None:
            self.counters.homeless += len(self.waiting) == self.config.pending  # the oldest goes
            self.waiting.append((now, wanted, self.serial, data))
            return []
        return self._publish(wanted, self.serial, data, now)

    def _publish(
        self, channels: tuple[int, ...], serial: int, data: bytes, now: float
    ) -> list[Effect]:
        self.relay.seen_before(self.id, serial)  # an own publication that comes back is known
        hops = self.routing.hops(None, channels, now)
        pub = Pub(self.id, 0, 0, 0, self.config.ttl, channels, self.id, serial, data)
        return self.relay.send(pub, hops, now)

    # What the network brings.

    def receive_bytes(self, data: bytes, now: float) -> Sequence[Effect]:
        """A packet as it came off the wire; what does not parse is dropped and counted."""
        packet = self.decode(data)
        return _NOTHING if packet is None else self.receive(packet, now)

    def decode(self, data: bytes) -> Packet | None:
        """The packet in these bytes; None, and counted as refused, where there is none."""
        try:
            return self.routing.codec.decode(data)
        except PacketError:
            self.counters.refused += 1
            return None

    def receive(self, packet: Packet, now: float) -> Sequence[Effect]:
        """A packet from a neighbour; the topology control filters who may speak."""
        if type(packet) is Beacon:
            if self.links.heard(packet, now):
                self._settle(now)
            return _NOTHING
        if packet.sender not in self.links.used:
            self.counters.strangers += 1
            return _NOTHING
        if type(packet) is Pub:
            return self._on_pub(packet, now)
        if type(packet) is Ack:
            self.relay.acknowledged(packet)
            return _NOTHING
        effects = list(self.routing.hear(packet, now))
        self.counters.control += len(effects)
        self._wake()
        return effects

    def _on_pub(self, pub: Pub, now: float) -> Sequence[Effect]:
        effects: list[Effect] = []
        if self.config.acknowledged:
            self.counters.acks += 1
            effects.append(Send(pub.sender, Ack(self.id, pub.hop)))
            if self.relay.repeated(pub):
                return effects
        again = self.relay.seen_before(pub.origin, pub.serial)
        if not self.routing.wanted.isdisjoint(pub.channels):
            self.counters.delivered += not again
            self.counters.duplicates += again
            if not again:
                hops = self.config.ttl - pub.ttl
                effects.append(Deliver(pub.channels, pub.origin, pub.serial, pub.data, hops))
        if pub.ttl <= 0:
            self.counters.expired += 1
            return effects
        if self.config.acknowledged and not self.routing.fits(pub):
            self.relay.strand(pub, -inf, now)
            return effects
        place = self.place
        if self.config.acknowledged and place and self.relay.is_handled(pub, place.length, now):
            return effects
        onward = self.routing.hops(pub, pub.channels, now)
        effects += self.relay.send(pub, onward, now)
        self._wake()
        return effects

    # What time brings.

    def tick(self, now: float) -> list[Effect]:
        """Do what is due, and say in `wake_at` when to come again."""
        effects: list[Effect] = []
        period = self.config.period
        is_due = not now < self.beacon_at <= now + 2 * period * self.config.rest_periods
        if is_due or not now < self.review_at <= now + 2 * period:
            tree = (self.tree.parent, *self.view.children)
            self.links.review(now, self.tree.root, tree)
            self._settle(now)
            self.review_at = now + period * (1 + self.config.jitter)
            if self._has_news():
                self.beacon_at = min(self.beacon_at, now + period)
        if is_due:
            self.pace = 1 if self._has_news() else min(2 * self.pace, self.config.rest_periods)
            jitter = 1 + self.config.jitter * (2 * self.rng.random() - 1)
            self.beacon_at = now + period * self.pace * jitter
            effects.append(self._beacon(now))
        if not now < self.routing.wake_at <= now + period:
            said = list(self.routing.tick(now))
            self.counters.control += len(said)
            effects += said
        if self.config.acknowledged or self.relay.stranded.held:
            self.relay.stranded.settle(self.place, now)
        if self.relay.wake_at <= now or self.relay.pending:
            effects += self.relay.tick(now, self.place)
        if self.relay.stranded.held:
            effects += self._go_around(now)
        while self.waiting and self.place is not None:
            since, channels, serial, data = self.waiting.popleft()
            if 0 <= now - since <= 5 * period:
                effects += self._publish(channels, serial, data, now)
            else:
                self.counters.homeless += 1
        self._wake()
        self.wake_at = max(self.wake_at, now + _LEAST_SLEEP)
        return effects

    def _go_around(self, now: float) -> list[Effect]:
        """What got stuck here is published anew on the ring as it is now.

        Its old goal and end point mean nothing there. Who has it already passes it on, no more.
        """
        effects: list[Effect] = []
        for pub in self.relay.stranded.due(now):
            self.counters.anew += 1
            effects += self.relay.send(pub, self.routing.hops(None, pub.channels, now), now)
        return effects

    def _beacon(self, now: float) -> Send:
        links = self.links.told(now)
        if links != self.view.links:
            self.view = self.view._replace(links=links)
        self.seq = (self.seq + 1) & 0xFFFF
        self.sent_at = now
        self.counters.beacons += 1
        self.told = self._news()
        return Send(None, Beacon(self.id, self.seq, self.view, self.pace))

    def _news(self) -> tuple[object, ...]:
        """What neighbours must hear of soon: tree and ring, who is heard, and who is kept."""
        links = tuple((name, entry.kept) for name, entry in self.links.entries.items())
        return (*self.view[:3], *self.view[4:8], links)

    def _has_news(self) -> bool:
        return self.config.rest_periods > 1 and self._news() != self.told

    def _wake(self) -> None:
        self.wake_at = min(self.beacon_at, self.review_at, self.routing.wake_at, self.relay.wake_at)

    def _settle(self, now: float) -> None:
        """Tree, then ring, then routing, from the links up; a change is told soon."""
        config, used, me = self.config, self.links.used, self.id
        tree = choose_parent(me, self.tree.parent, used, config.max_depth, config.parent_factor)
        children = children_of(tree, me, used)
        sizes = [min(child.view.size, _MAX_SIZE) for child in children]
        names = tuple([child.node for child in children])
        self.tree, self.size = tree, min(1 + sum(sizes), _MAX_SIZE)
        positions, length = self._lay(sizes)
        view = View(*tree, self.size, length, positions, names, self.view.links)
        self._place(positions, length, names, now)
        changed = view._replace(cost=self.view.cost) != self.view  # a mere price can wait
        self.view = view
        if changed:
            soon = self.sent_at + config.trigger_gap * config.period
            self.beacon_at = min(self.beacon_at, max(now, soon))
        self._wake()

    def _lay(self, sizes: Sequence[int]) -> tuple[tuple[int, ...], int]:
        """The DOWN part: own positions and ring length from the parent's; none if not placed."""
        if self.tree.parent == self.id:
            return own_positions(0, sizes, is_root=True), ring_length(self.size)
        parent = self.links.used.get(self.tree.parent)
        if parent is None or self.id not in parent.view.children:
            return (), 0
        above = parent.view
        index = above.children.index(self.id)
        if index >= len(above.positions):
            return (), 0
        positions = own_positions(above.positions[index] + 1, sizes, is_root=False)
        return (positions, above.length) if positions[-1] < above.length else ((), 0)

    def _place(
        self, positions: tuple[int, ...], length: int, children: tuple[int, ...], now: float
    ) -> None:
        if not positions:
            self.place = None
            self.routing.settle(None, now)
            return
        good = self.config.shortcut_quality
        near = {
            n.node: n.view.positions
            for n in self.links.used.values()
            if n.view.length == length and n.quality >= good
        }
        reach = Reach(near, length)
        # By their own names: a table that was never right may have entries under others.
        quality = {n.node: n.quality for n in self.links.used.values()}
        tree = [quality[n] for n in (self.tree.parent, *children) if n != self.id]
        loss = 1 - math.sqrt(max(min(tree, default=1.0), 0.0))
        self.place = Place(self.id, self.tree.parent, children, positions, length, reach, loss)
        self.routing.settle(self.place, now)
