"""Meshes to test with: simulated links with a delivery ratio each, and real nodes in a line."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from network import eventually
from zonal import mesh

QUICK = mesh.MeshConfig(
    period=0.15, lease_floor=0.75, acknowledged=True, ack_timeout=0.05, write_back=6
)
"""For nodes over real sockets, whose rounds take real time."""


class RatioChannel(mesh.GraphChannel):
    """Links that deliver a share of the packets, each direction its own; `ratios` may change."""

    def __init__(self, ratios: Mapping[tuple[int, int], float], seed: int = 0) -> None:
        super().__init__(mesh.graph_of(ratios), seed=seed)
        self.ratios = dict(ratios)

    def receivers(self, sent: mesh.Transmission) -> Sequence[int]:
        """Whoever the ratio lets hear it."""
        heard = self.neighbours[sent.sender] if sent.to is None else (sent.to,)
        return [
            node for node in heard if self.rng.random() < self.ratios.get((sent.sender, node), 0.0)
        ]


def share_delivered(sim: mesh.Simulation, subscribers: Sequence[int], count: int = 40) -> float:
    """The share of deliveries, of so many publications by those who do not subscribe."""
    for node in subscribers:
        sim.subscribe(node, 1)
    sim.settle(60)
    rng, records = random.Random(1), []
    for _ in range(count):
        publisher = rng.choice([n for n in sim.nodes if n not in subscribers])
        records.append(sim.publish(publisher, 1))
        sim.settle(1)
    return sum(len(r.deliveries) for r in records) / count / len(subscribers)


def settled_network(seed: int, nodes: int = 8) -> mesh.Simulation:
    """A legitimate mesh on a random graph, where nodes subscribe to some of the channels 1, 2."""
    rng = random.Random(seed)
    config = mesh.MeshConfig(max_links=10, max_candidates=16, max_depth=16)
    sim = mesh.Simulation(mesh.GraphChannel(mesh.connected_gnp(nodes, 0.4, rng)), config, seed=seed)
    for node in sim.nodes:
        sim.subscribe(node, *(c for c in (1, 2) if rng.random() < 0.4))
    assert sim.run_until(lambda: is_one_mesh(sim), 100), list(mesh.faults(sim.nodes, sim.now, 1))
    return sim


def is_one_mesh(sim: mesh.Simulation) -> bool:
    """Whether the mesh is legitimate and whole."""
    return mesh.is_legitimate(sim.nodes, sim.now, 1)


def random_tree(nodes: int, rng: random.Random) -> mesh.Tree:
    """A tree over 0 to n − 1 with root 0; every node hangs on a smaller one."""
    return {0: 0} | {node: rng.randrange(node) for node in range(1, nodes)}


@contextmanager
def nodes_in_a_line(count: int = 4) -> Iterator[list[mesh.MeshSession]]:
    """Real nodes, each in reach of the next only; the list may be changed meanwhile."""
    nodes = [mesh.open(n, config=QUICK) for n in range(count)]
    for n, node in enumerate(nodes):
        node.set_peers({m: nodes[m].address for m in (n - 1, n + 1) if 0 <= m < count})
    with ExitStack() as closing:
        for node in nodes:
            closing.enter_context(node)
        yield nodes


def wait_for_ring(nodes: Sequence[mesh.MeshSession]) -> None:
    """Wait until there is one ring over all nodes."""
    length = 2 * (len(nodes) - 1)

    def one_ring() -> bool:
        rings = [node.ring for node in nodes]
        places = sorted(p for positions, _ in rings for p in positions)
        return all(n == length for _, n in rings) and places == list(range(length))

    eventually(one_ring, 30, "one ring")
