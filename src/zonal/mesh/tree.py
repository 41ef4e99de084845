"""The spanning tree: a self-stabilizing breadth-first tree with election of the root.

Each node knows its neighbours' (root, depth) from their beacons and takes the smallest root that
is offered, at the smallest depth: the shared-memory algorithm of Dolev, Israeli and Moran
("Self-stabilization of dynamic systems assuming only read/write atomicity", 1993) with the
election by bounded distance of Arora and Gouda ("Distributed reset", 1994), run over cached
neighbour state (Herman, "Models of self-stabilization and sensor networks", 2003).
A root that does not exist can only be claimed at ever greater depth, one more each round, and is
forgotten at ``max_depth``; hence the tree stands after at most ``max_depth`` + diameter rounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from zonal.mesh.links import Neighbour


class TreePlace(NamedTuple):
    """Where a node hangs in the tree; a root is its own parent."""

    root: int
    depth: int
    parent: int


def choose_parent(
    me: int, parent: int, neighbours: Mapping[int, Neighbour], max_depth: int, slack: int = 0
) -> TreePlace:
    """The node's place, given what its neighbours say of theirs and which parent it has now."""
    root, depth = me, 0
    for entry in neighbours.values():
        view = entry.view
        if view.parent == me or view.depth >= max_depth:  # no child can be the parent
            continue
        if view.root < root or (view.root == root and root != me and view.depth + 1 < depth):
            root, depth = view.root, view.depth + 1
    if root == me:
        return TreePlace(me, 0, me)
    current = neighbours.get(parent)
    if current is not None and _offers(current, me, root, min(depth + slack, max_depth)):
        return TreePlace(root, current.view.depth + 1, parent)
    best = min(
        (n for n in neighbours.values() if _offers(n, me, root, depth)),
        key=lambda n: (-round(n.quality, 1), n.node),
    )
    return TreePlace(root, depth, best.node)


def _offers(entry: Neighbour, me: int, root: int, depth: int) -> bool:
    view = entry.view
    return view.root == root and view.parent != me and view.depth < depth


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
