"""The ring over a whole tree at once: what the nodes agree on when the protocol has settled."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from zonal.mesh.ring import own_positions, ring_length

if TYPE_CHECKING:
    from zonal.mesh.graphs import Tree


class Layout(NamedTuple):
    """Positions of all nodes on the ring over a tree."""

    tree: Tree
    children: dict[int, tuple[int, ...]]
    """By identifier."""
    positions: dict[int, tuple[int, ...]]
    length: int


def lay_out(tree: Tree) -> Layout:
    """Sizes up, positions down, as the nodes do it."""
    children: dict[int, tuple[int, ...]] = dict.fromkeys(tree, ())
    for node in sorted(tree):
        if (parent := tree[node]) != node:
            children[parent] = (*children[parent], node)
    root = next(node for node, parent in tree.items() if node == parent)
    order = [root]
    for node in order:
        order += children[node]
    size = dict.fromkeys(tree, 1)
    for node in reversed(order):
        if node != root:
            size[tree[node]] += size[node]
    positions: dict[int, tuple[int, ...]] = {}
    start = {root: 0}
    for node in order:
        sizes = [size[child] for child in children[node]]
        positions[node] = own_positions(start[node], sizes, is_root=node == root)
        for child, position in zip(children[node], positions[node], strict=False):
            start[child] = position + 1
    return Layout(tree, children, positions, ring_length(len(tree)))
