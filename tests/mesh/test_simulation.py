"""The simulator: same seed, same run; over bytes as well; loss, corruption, churn."""

import random

import pytest

from meshes import share_delivered
from zonal.mesh.channels import GraphChannel, Transmission
from zonal.mesh.config import MeshConfig
from zonal.mesh.graphs import connected_gnp, line
from zonal.mesh.legitimate import is_legitimate
from zonal.mesh.packets import Beacon
from zonal.mesh.simulation import Simulation


def test_same_seed_same_run_and_another_seed_another_run() -> None:
    def run(seed: int) -> list[tuple[float, int]]:
        graph = connected_gnp(10, 0.3, random.Random(1))
        sim = Simulation(GraphChannel(graph, loss=0.2, seed=seed), seed=seed)
        sim.log = []
        sim.settle(20)
        return [(time, sender) for time, sender, _, _ in sim.log]

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_over_the_wire_gives_the_same_result_as_passing_packets() -> None:
    graph = connected_gnp(10, 0.3, random.Random(1))

    def run(over_the_wire: bool) -> list[object]:
        sim = Simulation(GraphChannel(graph), seed=4, over_the_wire=over_the_wire)
        sim.subscribe(3, 1)
        sim.log = []
        sim.settle(15)
        sim.publish(7, 1)
        sim.settle(2)
        return sim.log

    assert run(True) == run(False)


def test_corrupt_bytes_on_the_air_are_counted_and_survived() -> None:
    class Noisy(GraphChannel):
        def begin(
            self, sender: int, to: int | None, packet: bytes, now: float, octets: int
        ) -> Transmission:
            if self.rng.random() < 0.2:
                data = bytearray(packet)
                data[self.rng.randrange(len(data))] ^= 1 << self.rng.randrange(8)
                packet = bytes(data)
            return super().begin(sender, to, packet, now, octets)

    sim = Simulation(Noisy(line(6)), seed=1, over_the_wire=True)
    sim.subscribe(5, 1)
    sim.settle(60)
    assert sum(n.counters.refused for n in sim.nodes.values()) > 50
    assert {n.tree.root for n in sim.nodes.values()} == {0}


def test_independent_loss_without_and_with_acknowledgement() -> None:
    graph = connected_gnp(20, 0.2, random.Random(2))
    plain = Simulation(GraphChannel(graph, loss=0.1), MeshConfig(write_back=6))
    acked = Simulation(GraphChannel(graph, loss=0.1), MeshConfig(write_back=6, acknowledged=True))
    subscribers = [2, 9, 15]
    without, with_it = share_delivered(plain, subscribers), share_delivered(acked, subscribers)
    assert 0.5 < without < 0.99
    assert with_it > 0.97 > 0.97 * without


def test_churn_of_nodes_and_links_heals() -> None:
    rng = random.Random(8)
    channel = GraphChannel(connected_gnp(15, 0.4, rng))
    sim = Simulation(channel, MeshConfig(max_links=14, max_candidates=14))
    for node in (1, 6, 12):
        sim.subscribe(node, 1)
    for step in range(6):
        a, b = rng.sample(range(15), 2)
        sim.at(20.0 + 5 * step, lambda a=a, b=b: channel.cut(a, b))
        sim.at(60.0 + 5 * step, lambda a=a, b=b: channel.mend(a, b))
    sim.at(30.0, lambda: sim.remove(14))
    sim.at(70.0, lambda: sim.add(14))
    sim.run(95)
    assert sim.run_until(lambda: is_legitimate(sim.nodes, sim.now, 1), 250)


def test_beacons_are_sent_once_a_period_when_nothing_changes() -> None:
    sim = Simulation(GraphChannel(line(4)), MeshConfig(max_links=4))
    sim.settle(40)
    before = sim.sent[Beacon]
    sim.settle(50)
    assert sim.sent[Beacon] - before == pytest.approx(200, rel=0.05)
