"""Topologies to try a mesh on: graphs by their edges, lines, random graphs, and their parts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

from zonal.errors import MeshError

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable

Graph: TypeAlias = dict[int, tuple[int, ...]]
"""Each node's neighbours, in ascending order."""

Tree: TypeAlias = dict[int, int]
"""Each node's parent; the root is its own."""


def graph_of(edges: Iterable[tuple[int, int]], nodes: Iterable[int] = ()) -> Graph:
    """The undirected graph with these edges, and with nodes that may have none."""
    neighbours: dict[int, set[int]] = {node: set() for node in nodes}
    for a, b in edges:
        neighbours.setdefault(a, set()).add(b)
        neighbours.setdefault(b, set()).add(a)
    return {node: tuple(sorted(neighbours[node])) for node in sorted(neighbours)}


def line(nodes: int) -> Graph:
    """A line of nodes 0 to n − 1."""
    return graph_of(((i, i + 1) for i in range(nodes - 1)), range(nodes))


def connected_gnp(nodes: int, p: float, rng: random.Random, tries: int = 1000) -> Graph:
    """A connected Erdős–Rényi graph G(n, p), drawn again until it is connected."""
    for _ in range(tries):
        graph = graph_of(_gnp_edges(nodes, p, rng), range(nodes))
        if len(component(graph, 0)) == nodes:
            return graph
    raise MeshError(f"no connected G({nodes}, {p}) in {tries} draws: p is too small")


def _gnp_edges(nodes: int, p: float, rng: random.Random) -> Iterable[tuple[int, int]]:
    """Edges by geometric jumps (Batagelj and Brandes 2005): time goes with edges, not pairs."""
    if p >= 1:
        yield from ((a, b) for b in range(nodes) for a in range(b))
        return
    a, b, scale = -1, 1, math.log(1 - p)
    while b < nodes:
        a += 1 + int(math.log(1 - rng.random()) / scale)
        while a >= b and b < nodes:
            a, b = a - b, b + 1
        if b < nodes:
            yield a, b


def component(graph: Graph, node: int) -> set[int]:
    """All nodes that can be reached from one."""
    found = rim = {node}
    while rim:
        rim = {other for each in rim for other in graph[each]} - found
        found = found | rim
    return found


def components(graph: Graph) -> list[set[int]]:
    """The connected parts, each once."""
    parts, rest = [], set(graph)
    while rest:
        parts.append(part := component(graph, min(rest)))
        rest -= part
    return parts
