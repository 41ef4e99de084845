"""The spanning tree: a self-stabilizing breadth-first tree with election of the root.

Each node knows its neighbours' (root, cost, depth) from their beacons and takes the smallest root
that is offered, over the cheapest way (with perfect links: the shortest, so that the tree is
breadth-first): the shared-memory algorithm of Dolev, Israeli and Moran
("Self-stabilization of dynamic systems assuming only read/write atomicity", 1993) with the
election by bounded distance of Arora and Gouda ("Distributed reset", 1994), run over cached
neighbour state (Herman, "Models of self-stabilization and sensor networks", 2003).
A root that does not exist can only be claimed at ever greater depth, one more each round, and is
forgotten at `max_depth`; hence the tree stands after at most `max_depth` + diameter rounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from zonal.mesh.links import Neighbour

_MAX_COST = 2**20
_WEAKEST = 0.05


class TreePlace(NamedTuple):
    """Where a node hangs in the tree; a root is its own parent."""

    root: int
    depth: int
    parent: int
    cost: int


def choose_parent(
    me: int, parent: int, neighbours: Mapping[int, Neighbour], max_depth: int, factor: float = 1.0
) -> TreePlace:
    """The node's place, given what its neighbours say of theirs and which parent it has now."""
    root = me
    for entry in neighbours.values():
        view = entry.view
        if view.root < root and view.parent != me and view.depth < max_depth:
            root = view.root
    if root == me:
        return TreePlace(me, 0, me, 0)
    best, best_price = None, 0.0
    for entry in neighbours.values():
        view = entry.view
        if view.root != root or view.parent == me or view.depth >= max_depth:
            continue  # no child can be the parent
        price = float(min(view.cost, _MAX_COST) + entry.cost)
        if entry.node == parent:
            # The weaker the link, the less its estimate says: it must not move the ring.
            price *= min(max(entry.quality, _WEAKEST), 1.0) / factor
        if best is None or (price, entry.node) < (best_price, best.node):
            best, best_price = entry, price
    assert best is not None
    cost = min(best.view.cost, _MAX_COST) + best.cost
    return TreePlace(root, best.view.depth + 1, best.node, cost)


def children_of(place: TreePlace, me: int, neighbours: Mapping[int, Neighbour]) -> list[Neighbour]:
    """Neighbours that hang on this node, by identifier: the order of the depth-first traversal."""
    root, depth = place.root, place.depth + 1
    found = [
        n
        for n in neighbours.values()
        if n.view.parent == me and n.view.root == root and n.view.depth == depth and n.node != root
    ]
    found.sort(key=lambda n: n.node)
    return found
