"""Recorded links as a channel: a delivery ratio for each direction, over time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from zonal.errors import MeshError
from zonal.mesh import GraphChannel, components, graph_of

if TYPE_CHECKING:
    from zonal.mesh import Graph, Transmission

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

    def _ratios(self, a: int, now: float) -> Iterator[tuple[int, float]]:
        """Delivery ratio from a to each node that ever heard it, at this time."""
        at = self.start + now
        for other, times, ratios in self.out.get(a, ()):
            yield other, ratios[max(bisect_right(times, at) - 1, 0)]

    def ratio(self, a: int, b: int, now: float) -> float:
        """Delivery ratio from a to b at this time of the simulation."""
        return dict(self._ratios(a, now)).get(b, 0.0)

    def links_above(self, share: float, now: float) -> Graph:
        """Links that let more than this share of the packets through, each way."""
        return graph_of(
            (
                (a, b)
                for a in self.neighbours
                for b, ratio in self._ratios(a, now)
                if a < b and min(ratio, self.ratio(b, a, now)) > share
            ),
            self.neighbours,
        )

    def best_ways(self, origin: int, now: float) -> dict[int, float]:
        """To each node, the share of packets that survives the best way from `origin`.

        No routing delivers more without repeating packets or sending several copies.
        """
        found: dict[int, float] = {}
        queue = [(-1.0, origin)]
        while queue:
            share, node = heappop(queue)
            if node in found:
                continue
            found[node] = -share
            for other, ratio in self._ratios(node, now):
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


def connected_nodes(series: LinkSeries, n: int, at: float) -> set[int]:
    """So many nodes of a trace that hang together, found outwards from the first one."""
    graph = TraceChannel(series).links_above(0.25, at)
    whole = max(components(graph), key=len)
    order = [min(whole)]
    for node in order:
        order += [other for other in sorted(graph[node]) if other not in order]
    if len(order) < n:
        raise MeshError(f"the trace connects only {len(order)} nodes, not {n}")
    return set(order[:n])
