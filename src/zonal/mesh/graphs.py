"""Topologies: random graphs, lines, points in the plane, and trees through them."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, TypeAlias

from zonal.errors import MeshError

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Mapping

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


def geometric(points: Mapping[int, tuple[float, float]], reach: float) -> Graph:
    """Nodes within ``reach`` of each other are neighbours."""
    names = sorted(points)
    near = (
        (a, b)
        for i, a in enumerate(names)
        for b in names[i + 1 :]
        if math.dist(points[a], points[b]) <= reach
    )
    return graph_of(near, names)


def random_points(nodes: int, side: float, rng: random.Random) -> dict[int, tuple[float, float]]:
    """Nodes placed uniformly in a square."""
    return {node: (rng.random() * side, rng.random() * side) for node in range(nodes)}


def bfs_tree(graph: Graph, root: int) -> Tree:
    """A breadth-first tree; of several possible parents the one first reached."""
    tree, queue = {root: root}, deque([root])
    while queue:
        node = queue.popleft()
        for other in graph[node]:
            if other not in tree:
                tree[other] = node
                queue.append(other)
    return tree


def any_bfs_tree(graph: Graph, root: int, rng: random.Random) -> Tree:
    """A breadth-first tree; of several possible parents any, by chance."""
    depth = depths(bfs_tree(graph, root))
    return {
        node: rng.choice([o for o in graph[node] if depth[o] == depth[node] - 1] or [node])
        for node in graph
    }


def component(graph: Graph, node: int) -> set[int]:
    """All nodes that can be reached from one."""
    return set(bfs_tree(graph, node))


def components(graph: Graph) -> list[set[int]]:
    """The connected parts, each once."""
    parts, rest = [], set(graph)
    while rest:
        parts.append(part := component(graph, min(rest)))
        rest -= part
    return parts


def depths(tree: Tree) -> dict[int, int]:
    """Hops from each node to the root."""
    known: dict[int, int] = {}
    for node in tree:
        path = []
        while node not in known and tree[node] != node:
            path.append(node)
            node = tree[node]  # noqa: PLW2901 — climbs from each node towards the root
        depth = known.setdefault(node, 0)
        for below in reversed(path):
            depth += 1
            known[below] = depth
    return known


def eccentricity(graph: Graph, node: int) -> int:
    """Hops to the farthest node."""
    return max(depths(bfs_tree(graph, node)).values())


def centre(graph: Graph) -> int:
    """A central node: one with the smallest eccentricity."""
    return min(graph, key=lambda node: (eccentricity(graph, node), node))
