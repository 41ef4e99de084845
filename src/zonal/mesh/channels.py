"""Channel models of the simulator: perfect, independent loss, and recorded link traces."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from zonal.mesh.graphs import Graph

HOP_DELAY = 0.004
"""Seconds from sending to receiving where the model has no air time of its own."""


class Transmission:
    """A packet on the air."""

    __slots__ = ("end", "packet", "sender", "start", "to")

    def __init__(
        self, sender: int, to: int | None, packet: object, start: float, end: float
    ) -> None:
        self.sender = sender
        self.to = to
        self.packet = packet
        self.start = start
        self.end = end


class Channel(Protocol):
    """Who receives what."""

    measures: bool
    """Whether the model needs the packets' size in octets (they are encoded for it then)."""

    def nodes(self) -> Sequence[int]:
        """All nodes there are."""

    def defer(self, sender: int, now: float, attempt: int) -> float:
        """How long the sender must wait before it may speak; 0: not at all."""

    def begin(
        self, sender: int, to: int | None, packet: object, now: float, octets: int
    ) -> Transmission:
        """A packet goes on the air."""

    def receivers(self, sent: Transmission) -> Sequence[int]:
        """Who received it, asked when it ends."""


class GraphChannel:
    """Links of a graph, each with the same independent loss; links can be cut and mended."""

    measures = False

    def __init__(self, graph: Graph, loss: float = 0.0, seed: int = 0) -> None:
        self.neighbours: dict[int, tuple[int, ...]] = dict(graph)
        self.loss = loss
        self.rng = random.Random(seed)

    def nodes(self) -> Sequence[int]:
        """All nodes of the graph."""
        return sorted(self.neighbours)

    def cut(self, a: int, b: int) -> None:
        """Take a link away."""
        self.neighbours[a] = tuple(n for n in self.neighbours[a] if n != b)
        self.neighbours[b] = tuple(n for n in self.neighbours[b] if n != a)

    def mend(self, a: int, b: int) -> None:
        """Put a link there."""
        self.neighbours[a] = tuple(sorted({*self.neighbours[a], b}))
        self.neighbours[b] = tuple(sorted({*self.neighbours[b], a}))

    def defer(self, sender: int, now: float, attempt: int) -> float:  # noqa: ARG002 — never busy
        """This medium is always free."""
        return 0.0

    def begin(
        self,
        sender: int,
        to: int | None,
        packet: object,
        now: float,
        octets: int,  # noqa: ARG002 — every packet takes the same time here
    ) -> Transmission:
        """Every hop takes the same time."""
        return Transmission(sender, to, packet, now, now + HOP_DELAY)

    def receivers(self, sent: Transmission) -> Sequence[int]:
        """The neighbours, each with its own luck."""
        heard: Sequence[int] = self.neighbours[sent.sender]
        if sent.to is not None:
            heard = (sent.to,) if sent.to in heard else ()
        if self.loss:
            chance, loss = self.rng.random, self.loss
            heard = [node for node in heard if chance() >= loss]
        return heard


LinkSeries = Mapping[tuple[int, int], tuple[Sequence[float], Sequence[float]]]
"""(sender, receiver) → times in seconds, and the delivery ratio from each time on."""


class TraceChannel(GraphChannel):
    """Recorded links: each direction has a delivery ratio that changes over time."""

    def __init__(self, series: LinkSeries, seed: int = 0, start: float = 0.0) -> None:
        known = {node for pair in series for node in pair}
        super().__init__(dict.fromkeys(known, ()), seed=seed)
        self.start = start
        self.out: dict[int, list[tuple[int, Sequence[float], Sequence[float]]]] = {}
        for (a, b), (times, ratios) in sorted(series.items()):
            self.out.setdefault(a, []).append((b, times, ratios))
            self.neighbours[a] = (*self.neighbours[a], b)
        self.down: set[tuple[int, int]] = set()

    def cut(self, a: int, b: int) -> None:
        """Take a link away, both ways."""
        self.down |= {(a, b), (b, a)}

    def mend(self, a: int, b: int) -> None:
        """Let the trace speak again."""
        self.down -= {(a, b), (b, a)}

    def ratio(self, a: int, b: int, now: float) -> float:
        """Delivery ratio from a to b at this time of the simulation."""
        for other, times, ratios in self.out.get(a, ()):
            if other == b:
                return ratios[max(bisect_right(times, self.start + now) - 1, 0)]
        return 0.0

    def best_ways(self, origin: int, now: float) -> dict[int, float]:
        """To each node, the share of packets that survives the best way from ``origin``.

        No routing delivers more without repeating packets or sending several copies.
        """
        found: dict[int, float] = {}
        queue = [(-1.0, origin)]
        while queue:
            share, node = heappop(queue)
            if node in found:
                continue
            found[node] = -share
            for other, times, ratios in self.out.get(node, ()):
                ratio = ratios[max(bisect_right(times, self.start + now) - 1, 0)]
                if ratio and other not in found:
                    heappush(queue, (share * ratio, other))
        return found

    def receivers(self, sent: Transmission) -> Sequence[int]:
        """Whoever the recorded ratio lets hear it."""
        at, sender, to, chance = self.start + sent.end, sent.sender, sent.to, self.rng.random
        heard = []
        for node, times, ratios in self.out.get(sender, ()):
            if to is not None and node != to:
                continue
            if chance() < ratios[max(bisect_right(times, at) - 1, 0)]:
                heard.append(node)
        if self.down:
            heard = [node for node in heard if (sender, node) not in self.down]
        return heard
