"""PSVR and what it is compared with, behind one interface: a publication on a settled network.

`PsvrScheme` uses the very forwarding function of the nodes. The others: the older ring algorithm
([14] of the paper), Shen's tree routing ([13]), a pruned breadth-first tree per publisher (T_D,
near the optimum) and one breadth-first tree for all (T_S).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from typing import TYPE_CHECKING, NamedTuple, Protocol

from zonal.mesh.graphs import Graph, Tree, any_bfs_tree, bfs_tree, centre
from zonal.mesh.layout import Layout, lay_out, places
from zonal.mesh.place import forwards
from zonal.mesh.ring import Reach, between

if TYPE_CHECKING:
    import random
    from collections.abc import Collection, Iterable


class Message(NamedTuple):
    """One transmission; positions and end point where the scheme has a ring."""

    sender: int
    receiver: int
    position: int = 0
    goal: int = 0
    end: int = 0


class Outcome(NamedTuple):
    """What one publication cost, and how many hops away each receiver was (once per delivery)."""

    messages: list[Message]
    deliveries: list[tuple[int, int]]

    @property
    def hops(self) -> dict[int, int]:
        """Hops to each subscriber."""
        return dict(self.deliveries)


class Scheme(Protocol):
    """A way to bring a publication from a node to all subscribers of one channel."""

    def publish(self, publisher: int) -> Outcome:
        """Publish once."""


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
        self.ring = self.layout.ring()
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
    default) bundles the ways in few nodes and so needs fewest messages; with ``ties`` it is any.
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
