"""Where a node stands: its tree neighbours, its ring positions, and what it reaches in one hop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from zonal.mesh.ring import Reach, between

NextSubscriber = Callable[[int], int | None]
"""Maps the index of an own position to the next subscriber counter-clockwise; None is ⊥."""


class Place(NamedTuple):
    """The interface that the ring and tree layers offer to publish/subscribe."""

    me: int
    parent: int
    children: tuple[int, ...]
    positions: tuple[int, ...]
    length: int
    reach: Reach
    """Positions that shortcuts lead to: all of all neighbours, as algorithm 2 has it."""
    tree_loss: float = 0.0
    """The share of packets that the worst link to a tree neighbour loses, one way."""

    @property
    def successors(self) -> tuple[int, ...]:
        """The node that owns the position after each own one: the children, then the parent."""
        return self.children if self.parent == self.me else (*self.children, self.parent)

    def closest(self, index: int, goal: int, avoid: int | None = None) -> tuple[int, int] | None:
        """`getPosClosestTo`: the node and position one hop on, nearest before `goal`.

        That is a shortcut's end, or the ring's next position; `avoid` names a node to go around.
        """
        position = self.positions[index]
        jump = self.reach.closest(position, goal)
        while jump is not None and self.reach.owners[jump] == avoid:
            before = (jump - 1) % self.length
            jump = self.reach.closest(position, before) if before != position else None
        if jump is not None:
            return self.reach.owners[jump], jump
        if index >= len(self.successors) or self.successors[index] == avoid:
            return None
        return self.successors[index], (position + 1) % self.length

    @property
    def tree_neighbours(self) -> frozenset[int]:
        """Parent (unless this is the root) and children."""
        return frozenset((self.parent, *self.children)) - {self.me}


class Forward(NamedTuple):
    """One PUB to send: from an own position to a node's goal position, with its end point."""

    position: int
    goal: int
    end: int
    to: int


def new_end(place: Place, index: int, end: int) -> int:
    """`calcNewEP` of algorithm 2: the own next position, if that comes before `end`."""
    positions = place.positions
    following = positions[(index + 1) % len(positions)]
    return following if between(following, positions[index], end, place.length) else end


def forwards(
    place: Place, next_subscriber: NextSubscriber, current: int, end: int
) -> Iterator[Forward]:
    """`handlePub` of algorithm 2: the PUBs that a publication at `current` turns into.

    The listing tests `isBetween(nextS, curPos, newEp)`. Read to the letter that sends from own
    positions *outside* the segment [curPos, ep) as well, and then figure 4 and theorem 1 fail;
    the text restricts forwarding to the segment, and so does this.
    """
    length = place.length
    span = (end - current) % length
    for index, position in enumerate(place.positions):
        if span and (position - current) % length >= span:
            continue
        following = next_subscriber(index)
        if following is None:
            continue
        stop = new_end(place, index, end)
        if following == stop or not between(following, position, stop, length):
            continue
        hop = place.closest(index, following)
        if hop is not None:
            yield Forward(position, hop[1], stop, hop[0])
