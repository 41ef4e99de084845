"""Breadth-first trees, and routing on trees: Shen's, T_S and T_D."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from zonal.mesh import lay_out
from zonal_lab.psvr.peers.outcome import Message, Outcome

if TYPE_CHECKING:
    import random
    from collections.abc import Collection, Iterable

    from zonal.mesh import Graph, Layout, Tree


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


def depths(tree: Tree) -> dict[int, int]:
    """Hops from each node to the root."""
    known: dict[int, int] = {}
    for node in tree:
        path = []
        while node not in known and tree[node] != node:
            path.append(node)
            node = tree[node]  # noqa: PLW2901 - climbs from each node towards the root
        depth = known.setdefault(node, 0)
        for below in reversed(path):
            depth += 1
            known[below] = depth
    return known


def eccentricity(graph: Graph, node: int) -> int:
    """Hops to the farthest node."""
    return max(depths(bfs_tree(graph, node)).values())


def centre(graph: Graph, among: Iterable[int] | None = None) -> int:
    """A central node: of all, or of some, one with the smallest eccentricity."""
    names = graph if among is None else among
    return min(names, key=lambda node: (eccentricity(graph, node), node))


class TreeScheme:
    """Routing on one tree into every branch with a subscriber: Shen's, and T_S."""

    def __init__(self, tree: Tree, subscribers: Collection[int]) -> None:
        self.subscribers = frozenset(subscribers)
        self.links: dict[int, list[int]] = {node: [] for node in tree}
        for node, parent in tree.items():
            if node != parent:
                self.links[node].append(parent)
                self.links[parent].append(node)

    def publish(self, publisher: int) -> Outcome:
        """The part of the tree that connects publisher and subscribers, every link once."""
        came_from, hops, order = {publisher: publisher}, {publisher: 0}, [publisher]
        for node in order:
            for other in self.links[node]:
                if other != came_from[node]:
                    came_from[other], hops[other] = node, hops[node] + 1
                    order.append(other)
        needed = set(self.subscribers & came_from.keys())
        messages = []
        for node in reversed(order):
            if node in needed and node != publisher:
                needed.add(came_from[node])
                messages.append(Message(came_from[node], node))
        reached = self.subscribers & came_from.keys() - {publisher}
        return Outcome(messages[::-1], [(node, hops[node]) for node in sorted(reached)])


class SourceTrees:
    """T_D: a breadth-first tree from each publisher, pruned to its subscribers.

    The paper leaves open which of several possible parents a node takes. The first reached (the
    default) bundles the ways in few nodes and so needs fewest messages; with `ties` it is any.
    """

    def __init__(
        self, graph: Graph, subscribers: Collection[int], ties: random.Random | None = None
    ) -> None:
        self.graph = graph
        self.subscribers = frozenset(subscribers)
        self.ties = ties

    def publish(self, publisher: int) -> Outcome:
        """Publish along the publisher's own tree."""
        if self.ties is None:
            tree = bfs_tree(self.graph, publisher)
        else:
            tree = any_bfs_tree(self.graph, publisher, self.ties)
        return TreeScheme(tree, self.subscribers).publish(publisher)


def shen_scheme(
    graph: Graph, subscribers: Collection[int], layout: Layout | None = None
) -> TreeScheme:
    """Shen's routing on the tree that PSVR's ring stands on."""
    return TreeScheme((layout or lay_out(bfs_tree(graph, min(graph)))).tree, subscribers)


def shared_tree(graph: Graph, subscribers: Collection[int]) -> TreeScheme:
    """T_S: one breadth-first tree from a central node."""
    return TreeScheme(bfs_tree(graph, centre(graph)), subscribers)
