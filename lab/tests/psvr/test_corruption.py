"""From any state of any node the mesh returns to a legitimate one."""

import random

import pytest

from meshes import is_one_mesh, settled_network
from zonal.mesh import Simulation, faults
from zonal_lab.psvr.corruption import Corruption


def recover(sim: Simulation, victims: list[int], rng: random.Random, limit: float = 150) -> float:
    corruption = Corruption(sorted(sim.nodes), rng)
    for victim in victims:
        corruption.corrupt(sim.nodes[victim], sim.now)
    start = sim.now
    assert sim.run_until(lambda: is_one_mesh(sim), start + limit), (
        f"no recovery: {list(faults(sim.nodes, sim.now, 1))[:5]}"
    )
    return sim.now - start


@pytest.mark.parametrize("seed", range(8))
def test_recovers_from_corruption_of_one_node(seed: int) -> None:
    sim, rng = settled_network(seed), random.Random(seed)
    for _ in range(10):
        recover(sim, [rng.choice(sorted(sim.nodes))], rng)


@pytest.mark.parametrize("seed", range(4))
def test_recovers_from_corruption_of_all_nodes_at_once(seed: int) -> None:
    sim, rng = settled_network(seed), random.Random(100 + seed)
    for _ in range(5):
        recover(sim, sorted(sim.nodes), rng)
