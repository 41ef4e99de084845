"""The ring over a whole tree at once: what the nodes agree on when the protocol has settled."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from zonal.mesh.place import Place, make_place
from zonal.mesh.ring import own_positions, ring_length

if TYPE_CHECKING:
    from zonal.mesh.graphs import Graph, Tree


class Layout(NamedTuple):
    """Positions of all nodes on the ring over a tree."""

    tree: Tree
    children: dict[int, tuple[int, ...]]
    positions: dict[int, tuple[int, ...]]
    length: int

    def ring(self) -> list[int]:
        """R = ⟨v_0, …⟩: the node at each position."""
        sequence = [0] * self.length
        for node, places in self.positions.items():
            for place in places:
                sequence[place] = node
        return sequence


def children_in(tree: Tree) -> dict[int, tuple[int, ...]]:
    """Each node's children, by identifier."""
    below: dict[int, list[int]] = {node: [] for node in tree}
    for node, parent in tree.items():
        if node != parent:
            below[parent].append(node)
    return {node: tuple(sorted(names)) for node, names in below.items()}


def lay_out(tree: Tree, children: dict[int, tuple[int, ...]] | None = None) -> Layout:
    """Sizes up, positions down, as the nodes do it; ``children`` may fix another order."""
    below = children_in(tree) if children is None else children
    root = next(node for node, parent in tree.items() if node == parent)
    order = [root]
    for node in order:
        order += below[node]
    size = dict.fromkeys(tree, 1)
    for node in reversed(order):
        if node != root:
            size[tree[node]] += size[node]
    positions: dict[int, tuple[int, ...]] = {}
    start = {root: 0}
    for node in order:
        sizes = [size[child] for child in below[node]]
        positions[node] = own_positions(start[node], sizes, is_root=node == root)
        for child, position in zip(below[node], positions[node], strict=False):
            start[child] = position + 1
    return Layout(tree, below, positions, ring_length(len(tree)))


def places(graph: Graph, layout: Layout, *, wide: bool = False) -> dict[int, Place]:
    """Each node's place: its own positions and those of its neighbours in the graph."""
    return {
        node: make_place(
            node,
            layout.tree[node],
            layout.children[node],
            layout.positions[node],
            length=layout.length,
            neighbours={other: layout.positions[other] for other in graph[node]},
            wide=wide,
        )
        for node in graph
    }
