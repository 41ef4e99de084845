"""Running nodes: theorem 1, acknowledgement, and publications before a node has a place."""

import random

import pytest

from meshes import RatioChannel
from zonal.errors import MeshError
from zonal.mesh.channels import GraphChannel
from zonal.mesh.config import MeshConfig
from zonal.mesh.graphs import connected_gnp, line
from zonal.mesh.legitimate import is_legitimate
from zonal.mesh.packets import Beacon
from zonal.mesh.simulation import Simulation


@pytest.mark.parametrize("seed", range(6))
def test_theorem_1_in_running_nodes(seed: int) -> None:
    rng = random.Random(seed)
    graph = connected_gnp(rng.randrange(5, 25), 0.25, rng)
    sim = Simulation(GraphChannel(graph), MeshConfig(max_links=24, max_candidates=24), seed=seed)
    subscribers = {n: {c for c in (1, 2, 3) if rng.random() < 0.4} for n in graph}
    for node, channels in subscribers.items():
        sim.subscribe(node, *channels)
    assert sim.run_until(lambda: is_legitimate(sim.nodes, sim.now, 1), 200)
    for publisher in graph:
        for channel in (1, 2, 3):
            record = sim.publish(publisher, channel)
            sim.run(sim.now + 0.5)
            wanted = [n for n, c in subscribers.items() if channel in c and n != publisher]
            assert sorted(d.node for d in record.deliveries) == wanted
    assert sum(node.counters.duplicates for node in sim.nodes.values()) == 0


def test_a_publication_before_the_node_has_a_place_waits_for_it() -> None:
    sim = Simulation(GraphChannel(line(3)), MeshConfig())
    sim.subscribe(0, 1)
    assert sim.run_until(lambda: is_legitimate(sim.nodes, sim.now, 1), 200)
    sim.nodes[2].place = None
    record = sim.publish(2, 1)
    sim.settle(3)
    assert [d.node for d in record.deliveries] == [0]


def test_a_table_with_an_entry_under_another_name_heals() -> None:
    sim = Simulation(GraphChannel(line(4)), MeshConfig())
    assert sim.run_until(lambda: is_legitimate(sim.nodes, sim.now, 1), 200)
    links = sim.nodes[2].links
    for table in (links.entries, links.used):
        table[77] = table.pop(3)
    above = links.used[1]
    news = above.view._replace(cost=above.view.cost + 1)
    sim.nodes[2].receive(Beacon(1, above.seq + 1, news), sim.now)
    assert sim.run_until(lambda: is_legitimate(sim.nodes, sim.now, 1), sim.now + 200)


def test_acknowledgement_repeats_over_a_lossy_link() -> None:
    config = MeshConfig(acknowledged=True, ack_tries=8, write_back=8)
    sim = Simulation(GraphChannel(line(5), loss=0.3, seed=2), config)
    sim.subscribe(4, 1)
    sim.settle(60)
    records = []
    for _ in range(60):
        records.append(sim.publish(0, 1))
        sim.settle(2)
    assert sum(len(r.deliveries) for r in records) >= 57
    assert sum(n.counters.repeats for n in sim.nodes.values()) > 0


def test_too_much_data_is_refused() -> None:
    with pytest.raises(MeshError, match="exceed the 1024"):
        Simulation(GraphChannel(line(2))).publish(0, 1, bytes(2000))


def test_weak_links_get_more_tries() -> None:
    weak = RatioChannel({(0, 1): 0.55, (1, 0): 0.55}, seed=3)
    sim = Simulation(weak, MeshConfig(acknowledged=True, write_back=10))
    sim.subscribe(1, 1)
    sim.settle(60)
    records = []
    for _ in range(60):
        records.append(sim.publish(0, 1))
        sim.settle(3)
    # Four tries would leave (1 - 0.55)^4 = 4 % undelivered, apart from beacons that get lost.
    assert sum(len(r.deliveries) for r in records) >= 59
    assert sum(n.counters.repeats for n in sim.nodes.values()) > 60


def test_publications_that_find_no_room_to_wait_are_counted() -> None:
    sim = Simulation(GraphChannel(line(2)), MeshConfig(pending=4))
    sim.nodes[1].place = None
    for _ in range(6):
        sim.publish(1, 1)
    assert sim.nodes[1].counters.homeless == 2
