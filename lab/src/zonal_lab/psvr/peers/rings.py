"""PSVR and the older ring algorithm on the ring over a tree."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from typing import TYPE_CHECKING

from zonal.mesh import Place, Psvr, Reach, between, forwards, lay_out
from zonal_lab.psvr.peers.outcome import Message, Outcome
from zonal_lab.psvr.peers.trees import bfs_tree

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from zonal.mesh import Graph, Layout


def places(graph: Graph, layout: Layout, *, wide: bool = False) -> dict[int, Place]:
    """Each node's place; `wide` with all shortcuts there are, else with those of figure 4."""
    found = {
        node: Place(
            node,
            layout.tree[node],
            layout.children[node],
            layout.positions[node],
            layout.length,
            Reach({other: layout.positions[other] for other in graph[node]}, layout.length),
        )
        for node in graph
    }
    return found if wide else {node: _as_in_figure_4(place) for node, place in found.items()}


def _as_in_figure_4(place: Place) -> Place:
    """A place whose tree links make no shortcuts.

    In the paper's figure 4 the publisher at 7 has 14, a position of its parent, in reach, and
    sends to 13 all the same; algorithm 2 itself would jump there, and so do our nodes.
    """
    ends: dict[int, list[int]] = {}
    for position, owner in place.reach.owners.items():
        if owner not in place.tree_neighbours:
            ends.setdefault(owner, []).append(position)
    return place._replace(reach=Reach(ends, place.length))


class FigurePsvr(Psvr):
    """The routing layer of running nodes with the shortcuts of the paper's figure 4 only."""

    def settle(self, place: Place | None, now: float) -> None:
        """Take a new place, without the shortcuts that the figure does not use."""
        super().settle(None if place is None else _as_in_figure_4(place), now)


def ring_of(layout: Layout) -> list[int]:
    """R = ⟨v_0, …⟩: the node at each position."""
    owner = {p: node for node, positions in layout.positions.items() for p in positions}
    return [owner[position] for position in range(layout.length)]


class _Subscribers:
    """All subscriber positions in order, to find the next one that is not a node's own."""

    def __init__(self, layout: Layout, subscribers: Iterable[int]) -> None:
        self.owner = {p: node for node in subscribers for p in layout.positions[node]}
        self.places = sorted(self.owner)

    def after(self, position: int, me: int) -> int | None:
        """The next subscriber's position counter-clockwise, other than the node itself."""
        count = len(self.places)
        at = bisect_right(self.places, position)
        for step in range(count):
            found = self.places[(at + step) % count]
            if self.owner[found] != me:
                return found
        return None


class PsvrScheme:
    """The paper's algorithm on the ring over a tree (by default breadth-first from node min)."""

    def __init__(
        self,
        graph: Graph,
        subscribers: Collection[int],
        layout: Layout | None = None,
        *,
        wide: bool = False,
    ) -> None:
        self.layout = layout or lay_out(bfs_tree(graph, min(graph)))
        self.places = places(graph, self.layout, wide=wide)
        self.subscribers = frozenset(subscribers)
        self.known = _Subscribers(self.layout, self.subscribers)

    def publish(self, publisher: int) -> Outcome:
        """Algorithm 2, from node to node until nothing is under way."""
        outcome = Outcome([], [])
        first = self.places[publisher].positions[0]
        under_way = deque([(publisher, first, first, 0)])
        while under_way:
            me, current, end, hops = under_way.popleft()
            if me in self.subscribers and hops:
                outcome.deliveries.append((me, hops))
            place = self.places[me]

            def following(index: int, me: int = me) -> int | None:
                return self.known.after(self.places[me].positions[index], me)

            for position, goal, stop, to in forwards(place, following, current, end):
                outcome.messages.append(Message(me, to, position, goal, stop))
                under_way.append((to, goal, stop, hops + 1))
        return outcome


class OlderScheme:
    """The ring algorithm of [14]: one copy travels on, over ring edges and shortcuts.

    The paper describes it in part only. This reading reproduces its three published examples
    (figures 4, 5 and 6): shortcuts are links that are no tree edges; the copy starts at the own
    position that is nearest before a subscriber, of equals the last; it goes on past the last
    subscriber until the next hop would lead to the publisher's position or past it.
    """

    def __init__(
        self, graph: Graph, subscribers: Collection[int], layout: Layout | None = None
    ) -> None:
        self.layout = layout or lay_out(bfs_tree(graph, min(graph)))
        self.ring = ring_of(self.layout)
        self.subscribers = frozenset(subscribers)
        self.known = _Subscribers(self.layout, self.subscribers)
        tree, length = self.layout.tree, self.layout.length
        self.shortcuts = {
            node: Reach(
                {
                    other: self.layout.positions[other]
                    for other in graph[node]
                    if tree[node] != other and tree[other] != node
                },
                length,
            )
            for node in graph
        }

    def start(self, publisher: int) -> int | None:
        """Where the copy sets out."""
        best, best_steps = None, self.layout.length + 1
        for position in self.layout.positions[publisher]:
            following = self.known.after(position, publisher)
            if following is None:
                return None
            steps = (following - position) % self.layout.length
            if steps <= best_steps:
                best, best_steps = position, steps
        return best

    def publish(self, publisher: int) -> Outcome:
        """Follow the one copy; a node may receive it several times."""
        outcome = Outcome([], [])
        origin = self.start(publisher)
        if origin is None:
            return outcome
        at = origin
        for hops in range(1, self.layout.length + 1):
            me = self.ring[at]
            goal = self._goal(at, me)
            if goal is None or goal == origin or between(origin, at, goal, self.layout.length):
                break
            outcome.messages.append(Message(me, self.ring[goal], at, goal, origin))
            at = goal
            if self.ring[at] in self.subscribers and self.ring[at] != publisher:
                outcome.deliveries.append((self.ring[at], hops))
        return outcome

    def _goal(self, at: int, me: int) -> int | None:
        following = self.known.after(at, me)
        if following is None:
            return None
        ahead = (at + 1) % self.layout.length
        jump = self.shortcuts[me].closest(at, following)
        return ahead if jump is None else jump
