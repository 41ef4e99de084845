"""The virtual ring: positions by depth-first traversal, and arithmetic on them.

Positions grow counter-clockwise. A subtree of `k` nodes that hangs below an edge takes
`2k − 1` consecutive positions, so a node knows where each child starts from sizes alone.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def between(test: int, left: int, right: int, length: int) -> bool:
    """Whether `test` lies counter-clockwise after `left`, up to and including `right`.

    As the paper notes, `between(x, y, y)` is true for any x and y: the segment is the whole ring.
    """
    if left == right:
        return True
    return 0 < (test - left) % length <= (right - left) % length


def ring_length(nodes: int) -> int:
    """The length of the ring over `nodes` nodes: 2(n − 1), and 1 for a node on its own."""
    return max(2 * (nodes - 1), 1)


def own_positions(start: int, child_sizes: Sequence[int], *, is_root: bool) -> tuple[int, ...]:
    """A node's positions, given where its subtree starts and the sizes of its children's subtrees.

    The i-th child's subtree starts right after the i-th position. The root's last return is its
    first position again, so it has one position per child; every other node has one more.
    """
    positions = [start]
    for size in child_sizes:
        positions.append(positions[-1] + 2 * size)
    if is_root and len(positions) > 1:
        positions.pop()
    return tuple(positions)


class Reach:
    """The positions one hop away, for `getPosClosestTo` of algorithm 2 in logarithmic time."""

    __slots__ = ("length", "owners", "positions")

    def __init__(self, neighbours: Mapping[int, Iterable[int]], length: int) -> None:
        owners = {p: node for node, places in neighbours.items() for p in places if p < length}
        self.owners = owners
        self.positions = sorted(owners)
        self.length = length

    def closest(self, position: int, goal: int) -> int | None:
        """The farthest reachable position after `position` and not beyond `goal`, if any."""
        places = self.positions
        if not places:
            return None
        found = places[bisect_right(places, goal) - 1]  # index -1 wraps to the last one
        return found if between(found, position, goal, self.length) else None
