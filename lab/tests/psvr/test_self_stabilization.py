"""From any state of any node the mesh returns to a legitimate one, and stays there."""

import random

import pytest

from zonal.mesh.channels import GraphChannel
from zonal.mesh.config import MeshConfig
from zonal.mesh.graphs import connected_gnp, line
from zonal.mesh.legitimate import faults, is_legitimate
from zonal.mesh.simulation import Simulation
from zonal_lab.psvr.corruption import Corruption

CONFIG = MeshConfig(max_links=10, max_candidates=16, max_depth=16)


def legitimate(sim: Simulation, parts: int = 1) -> bool:
    return is_legitimate(sim.nodes, sim.now, parts)


def network(seed: int, nodes: int = 8) -> Simulation:
    rng = random.Random(seed)
    sim = Simulation(GraphChannel(connected_gnp(nodes, 0.4, rng)), CONFIG, seed=seed)
    for node in sim.nodes:
        sim.subscribe(node, *(c for c in (1, 2) if rng.random() < 0.4))
    assert sim.run_until(lambda: legitimate(sim), 100), list(faults(sim.nodes, sim.now, 1))
    return sim


def recover(sim: Simulation, victims: list[int], rng: random.Random, limit: float = 150) -> float:
    corruption = Corruption(sorted(sim.nodes), rng)
    for victim in victims:
        corruption.corrupt(sim.nodes[victim], sim.now)
    start = sim.now
    assert sim.run_until(lambda: legitimate(sim), start + limit), (
        f"no recovery: {list(faults(sim.nodes, sim.now, 1))[:5]}"
    )
    return sim.now - start


@pytest.mark.parametrize("seed", range(8))
def test_recovers_from_corruption_of_one_node(seed: int) -> None:
    sim, rng = network(seed), random.Random(seed)
    for _ in range(10):
        recover(sim, [rng.choice(sorted(sim.nodes))], rng)


@pytest.mark.parametrize("seed", range(4))
def test_recovers_from_corruption_of_all_nodes_at_once(seed: int) -> None:
    sim, rng = network(seed), random.Random(100 + seed)
    for _ in range(5):
        recover(sim, sorted(sim.nodes), rng)


def test_stays_legitimate_without_faults() -> None:
    sim = network(1)
    sim.settle(150)  # until every link estimate has risen to its end
    for _ in range(60):
        sim.settle(1)
        assert not list(faults(sim.nodes, sim.now, 1))


def test_partition_and_merge() -> None:
    sim = Simulation(GraphChannel(line(8)), CONFIG)
    for node in (0, 3, 7):
        sim.subscribe(node, 1)
    assert sim.run_until(lambda: legitimate(sim), 60)
    sim.channel.cut(3, 4)
    assert sim.run_until(lambda: legitimate(sim, 2), sim.now + 100)
    assert {n.tree.root for n in sim.nodes.values()} == {0, 4}
    record = sim.publish(5, 1)
    sim.settle(1)
    assert [d.node for d in record.deliveries] == [7]
    sim.channel.mend(3, 4)
    assert sim.run_until(lambda: legitimate(sim), sim.now + 100)
    record = sim.publish(5, 1)
    sim.settle(1)
    assert sorted(d.node for d in record.deliveries) == [0, 3, 7]


def test_nodes_leave_and_join() -> None:
    sim = network(3)
    sim.remove(0)  # the root, of all nodes
    gone = lambda: all(node.tree.root != 0 for node in sim.nodes.values())  # noqa: E731
    assert sim.run_until(gone, sim.now + 60)
    sim.add(0)
    assert sim.run_until(lambda: legitimate(sim), sim.now + 150), list(
        faults(sim.nodes, sim.now, 1)
    )
