"""State corruption: every variable of a node set to anything its type allows.

What stays is what no memory error touches in the model of self-stabilization: the program, the
node's identifier and configuration, and what the application asks for (the channels it wants).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal.mesh import (
    Held,
    LinkReport,
    Neighbour,
    Pending,
    Place,
    Psvr,
    Pub,
    Reach,
    RoutingRow,
    Sub,
    TreePlace,
    View,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from zonal.mesh import MeshNode


class Corruption:
    """Draws corrupt values; node names come from the network and from nowhere."""

    def __init__(self, names: Sequence[int], rng: random.Random) -> None:
        self.names = names
        self.rng = rng

    def corrupt(self, node: MeshNode, now: float) -> None:
        """Overwrite the node's whole state."""
        rng = self.rng
        self._links(node, now)
        node.tree = TreePlace(self._name(), self._number(), self._name(), self._number())
        node.size = self._number()
        node.place = self._place(node.id)
        node.view = self._view()
        node.seq, node.serial = rng.randrange(0x10000), rng.randrange(2**31)
        node.beacon_at, node.sent_at, node.wake_at = (self._time(now) for _ in range(3))
        node.review_at, node.pace = self._time(now), rng.choice((1, 2, 64))
        self._relay(node, now)
        if isinstance(node.routing, Psvr):
            self._routing(node.routing, now)

    def _name(self) -> int:
        rng = self.rng
        return rng.choice(self.names) if rng.random() < 0.7 else rng.randrange(2**31)

    def _number(self) -> int:
        return self.rng.choice((self.rng.randrange(10), self.rng.randrange(200), 2**19))

    def _time(self, now: float) -> float:
        return now + self.rng.choice((-1, 1)) * self.rng.choice((1e-3, 1.0, 60.0, 1e9))

    def _numbers(self, most: int = 8) -> tuple[int, ...]:
        return tuple(self._number() for _ in range(self.rng.randrange(most + 1)))

    def _view(self) -> View:
        rng = self.rng
        names = tuple(self._name() for _ in range(rng.randrange(5)))
        links = tuple(
            LinkReport(self._name(), rng.randrange(16), rng.random() < 0.5)
            for _ in range(rng.randrange(6))
        )
        root, parent = self._name(), self._name()
        depth, cost, size, length = (self._number() for _ in range(4))
        return View(root, depth, parent, cost, size, length, self._numbers(), names, links)

    def _neighbour(self, name: int, now: float) -> Neighbour:
        rng = self.rng
        return Neighbour(
            node=name if rng.random() < 0.8 else self._name(),
            view=self._view(),
            seq=rng.randrange(0x10000),
            heard_at=self._time(now),
            inbound=rng.uniform(-1, 2),
            samples=rng.randrange(-5, 100),
            streak=rng.randrange(-5, 100),
            quality=rng.random(),
            cost=self._number(),
            keeps_me=rng.random() < 0.5,
            kept=rng.random() < 0.5,
            kept_at=self._time(now),
            refused_until=self._time(now),
        )

    def _links(self, node: MeshNode, now: float) -> None:
        rng, table = self.rng, node.links
        known = [name for name in table.entries if rng.random() < 0.7]
        known += [self._name() for _ in range(rng.randrange(table.config.max_candidates))]
        known = known[: table.config.max_candidates]
        table.entries = {n: self._neighbour(n, now) for n in known if n != node.id}
        table.used = {n: e for n, e in table.entries.items() if rng.random() < 0.5}

    def _place(self, me: int) -> Place | None:
        if self.rng.random() < 0.3:
            return None
        length = max(self._number(), 1)
        positions = tuple(sorted({p % length for p in (*self._numbers(), 0)}))
        owners = {self._name(): self._numbers() for _ in range(3)}
        children = tuple(self._name() for _ in positions[1:])
        return Place(me, self._name(), children, positions, length, Reach(owners, length))

    def _relay(self, node: MeshNode, now: float) -> None:
        rng, relay = self.rng, node.relay
        relay.hop = rng.randrange(0x10000)
        relay.wake_at = self._time(now)
        pub = Pub(node.id, relay.hop, self._number(), self._number(), rng.randrange(256), (1,),
                  self._name(), self._number(), b"ghost")  # fmt: skip
        relay.pending = {
            rng.randrange(0x10000): Pending(
                self._name(),
                pub,
                self._number(),
                rng.randrange(9),
                self._time(now),
                rng.randrange(40),
                self._time(now),
            )
            for _ in range(rng.randrange(4))
        }
        relay.stranded.held = [
            Held(pub, self._time(now), None if rng.random() < 0.5 else (self._numbers(), 1))
            for _ in range(rng.randrange(3))
        ]
        relay.stranded.stands_since = self._time(now)
        relay.handled = {
            (self._name(), self._number(), self._number(), rng.randrange(3)): (
                self._number(),
                self._time(now),
            )
            for _ in range(20)
        }
        for memory in (relay.publications, relay.hops):
            for _ in range(20):
                memory.check((self._name(), self._number()))

    def _routing(self, layer: Psvr, now: float) -> None:
        rng, table = self.rng, layer.table
        place = self._place(layer.me)
        if place is not None and rng.random() < 0.5:  # else: right positions, wrong rows
            table.positions, table.length = place.positions, place.length
        layer.place = self._place(layer.me)
        channels = [*table.rows, *layer.wanted, rng.randrange(2**31)]
        table.overflowed_at = self._time(now)
        table.rows = {
            channel: [self._row(now) for _ in range(self._rows(table.positions))]
            for channel in channels
            if rng.random() < 0.8
        }
        layer.lease = rng.choice((0.0, 1.0, 1e9))
        layer.sub_at, layer.clean_at, layer.cautious_until, layer.wake_at = (
            self._time(now) for _ in range(4)
        )
        layer.again = [self._time(now) for _ in range(rng.randrange(3))]
        layer.say_at, layer.say_gap = self._time(now), self._time(now)
        layer.unsaid = [self._numbers() for _ in range(rng.randrange(3))]
        ghosts = [Sub(layer.me, None, self._numbers(), self._numbers()) for _ in range(3)]
        layer.copies = [(self._time(now), sub) for sub in ghosts]
        layer.heard = {(sub.channels, sub.positions): self._time(now) for sub in ghosts}

    def _rows(self, positions: tuple[int, ...]) -> int:
        return len(positions) if self.rng.random() < 0.8 else self.rng.randrange(6)

    def _row(self, now: float) -> RoutingRow:
        rng = self.rng
        following = None if rng.random() < 0.2 else self._number()
        temporary = None if rng.random() < 0.5 else self._number()
        return RoutingRow(following, self._time(now), temporary)
