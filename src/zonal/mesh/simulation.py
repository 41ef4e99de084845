"""The simulator: events in order of time, the real node code, and a channel model in between."""

from __future__ import annotations

import random
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from zonal.errors import MeshError
from zonal.mesh.config import MeshConfig
from zonal.mesh.node import MeshNode
from zonal.mesh.packets import Deliver, Effect, Packet, Send
from zonal.mesh.routing import Psvr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from zonal.mesh.channels import Channel, Transmission
    from zonal.mesh.routing import Routing

_WAKE, _SEND, _HEAR, _CALL = range(4)
_GIVE_UP = 6  # tries at a busy medium


class Arrival(NamedTuple):
    """A publication reached a subscriber."""

    node: int
    time: float
    hops: int


class PublicationRecord(NamedTuple):
    """A publication, and where it went."""

    origin: int
    time: float
    deliveries: list[Arrival]


class Simulation:
    """A mesh in one process, event by event; the same seed gives the same run.

    Args:
        channel: who hears whom.
        config: of all nodes.
        seed: of everything that the nodes leave to chance.
        routing: the publish/subscribe layer of all nodes.
        over_the_wire: whether packets travel as bytes, which a channel can then corrupt.
    """

    def __init__(
        self,
        channel: Channel,
        config: MeshConfig | None = None,
        *,
        seed: int = 0,
        routing: type[Routing] = Psvr,
        over_the_wire: bool = False,
    ) -> None:
        self.channel = channel
        self.config = config or MeshConfig()
        self.routing = routing
        self.seed = seed
        self.rng = random.Random(seed)
        self.over_the_wire = over_the_wire
        self.now = 0.0
        self.events = 0
        self.nodes: dict[int, MeshNode] = {}
        self.published: dict[tuple[int, int], PublicationRecord] = {}
        self.log: list[tuple[float, int, int | None, Packet]] | None = None
        self.sent: dict[type, int] = {}
        self.busy_drops = 0
        self._queue: list[tuple[float, int, int, Any, Any]] = []
        self._tie = count()
        self._wake_at: dict[int, float] = {}
        for node in channel.nodes():
            self.add(node)

    def add(self, node_id: int) -> MeshNode:
        """Switch a node on, with nothing but its identifier."""
        if node_id in self.nodes:
            raise MeshError(f"node {node_id} is in the simulation already")
        node = MeshNode(node_id, self.config, seed=self.seed, routing=self.routing, now=self.now)
        self.nodes[node_id] = node
        self._wake(node)
        return node

    def remove(self, node_id: int) -> None:
        """Switch a node off; its neighbours are not told."""
        del self.nodes[node_id]
        self._wake_at.pop(node_id, None)

    def at(self, time: float, call: Callable[[], None]) -> None:
        """Have something happen at this time."""
        heappush(self._queue, (time, next(self._tie), _CALL, call, None))

    def subscribe(self, node_id: int, *channels: int) -> None:
        """A node subscribes, now."""
        node = self.nodes[node_id]
        for channel in channels:
            node.subscribe(channel, self.now)
        self._wake(node)

    def unsubscribe(self, node_id: int, *channels: int) -> None:
        """A node unsubscribes, now."""
        for channel in channels:
            self.nodes[node_id].unsubscribe(channel)

    def publish(
        self, node_id: int, channels: int | tuple[int, ...], data: bytes = b""
    ) -> PublicationRecord:
        """A node publishes, now; the answer fills as the simulation runs on."""
        node = self.nodes[node_id]
        effects = node.publish(channels, data, self.now)
        record = PublicationRecord(node_id, self.now, [])
        self.published[node_id, node.serial] = record
        self._carry_out(node_id, effects)
        self._wake(node)
        return record

    def run(self, until: float) -> None:
        """Let time pass up to this moment."""
        queue = self._queue
        while queue and queue[0][0] <= until:
            time, _, kind, subject, detail = heappop(queue)
            self.now = time
            if kind == _HEAR:
                self._hear(subject)
            elif kind == _WAKE:
                if self._wake_at.get(subject) == time:
                    self._tick(subject)
            elif kind == _SEND:
                self._try(subject, detail)
            else:
                self.events += 1
                subject()
        self.now = max(self.now, until)

    def run_until(
        self, condition: Callable[[], bool], limit: float, step: float | None = None
    ) -> bool:
        """Let time pass until the condition holds, looking every `step`; False at the limit."""
        stride = self.config.period / 2 if step is None else step
        while not condition():
            if self.now >= limit:
                return False
            self.run(min(self.now + stride, limit))
        return True

    def settle(self, rounds: float) -> None:
        """Let this many beacon periods pass."""
        self.run(self.now + rounds * self.config.period)

    def _hear(self, sent: Transmission) -> None:
        nodes, now = self.nodes, self.now
        packet: Any = sent.packet
        for receiver in self.channel.receivers(sent):
            node = nodes.get(receiver)
            if node is None:
                continue
            self.events += 1
            if self.over_the_wire:
                effects = node.receive_bytes(packet, now)
            else:
                effects = node.receive(packet, now)
            if effects:
                self._carry_out(receiver, effects)
            if node.wake_at < self._wake_at[receiver]:
                self._wake(node)

    def _tick(self, node_id: int) -> None:
        node = self.nodes[node_id]
        self.events += 1
        effects = node.tick(self.now)
        self._wake(node)
        if effects:
            self._carry_out(node_id, effects)

    def _wake(self, node: MeshNode) -> None:
        """Come back when the node asks, and once a period whatever it asks."""
        time = min(max(node.wake_at, self.now), self.now + self.config.period)
        self._wake_at[node.id] = time
        heappush(self._queue, (time, next(self._tie), _WAKE, node.id, None))

    def _carry_out(self, node_id: int, effects: Iterable[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Send):
                self._try((node_id, effect), 0)
            else:
                self._delivered(node_id, effect)

    def _delivered(self, node_id: int, effect: Deliver) -> None:
        record = self.published.get((effect.origin, effect.serial))
        if record is not None:
            record.deliveries.append(Arrival(node_id, self.now, effect.hops))

    def _try(self, subject: tuple[int, Send], attempt: int) -> None:
        node_id, (to, packet) = subject
        wait = self.channel.defer(node_id, self.now, attempt)
        if wait > 0:
            if attempt >= _GIVE_UP:
                self.busy_drops += 1
                return
            event = (self.now + wait, next(self._tie), _SEND, subject, attempt + 1)
            heappush(self._queue, event)
            return
        kind = type(packet)
        self.sent[kind] = self.sent.get(kind, 0) + 1
        if self.log is not None:
            self.log.append((self.now, node_id, to, packet))
        payload: Any = packet
        octets = 0
        if self.over_the_wire or self.channel.measures:
            data = self.routing.codec.encode(packet)
            octets = len(data)
            payload = data if self.over_the_wire else packet
        sent = self.channel.begin(node_id, to, payload, self.now, octets)
        heappush(self._queue, (sent.end, next(self._tie), _HEAR, sent, None))
