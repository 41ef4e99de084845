"""Leases, unsubscribing, and several channels; no subscriber is ever skipped."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from property_examples import examples
from zonal.errors import MeshError
from zonal.mesh.channels import GraphChannel
from zonal.mesh.config import MeshConfig
from zonal.mesh.graphs import connected_gnp, line
from zonal.mesh.legitimate import is_legitimate
from zonal.mesh.packets import Sub
from zonal.mesh.simulation import Simulation


def settled(sim: Simulation) -> Simulation:
    assert sim.run_until(lambda: is_legitimate(sim.nodes, sim.now, 1), 200)
    return sim


def make(seed: int, nodes: int = 12) -> Simulation:
    graph = connected_gnp(nodes, 0.3, random.Random(seed))
    return Simulation(GraphChannel(graph), MeshConfig(max_links=12), seed=seed)


@pytest.mark.parametrize("seed", range(5))
def test_unsubscribing_never_makes_a_publication_skip_a_subscriber(seed: int) -> None:
    rng, sim = random.Random(seed), make(seed)
    wanted = set(rng.sample(sorted(sim.nodes), 6))
    for node in wanted:
        sim.subscribe(node, 1)
    settled(sim)
    lease = sim.nodes[0].routing.lease
    while len(wanted) > 1:
        leaver = rng.choice(sorted(wanted))
        wanted.discard(leaver)
        sim.unsubscribe(leaver, 1)
        for _ in range(int(5 * lease / 0.7)):  # over staleness, gathering and writing back
            publisher = rng.choice(sorted(sim.nodes))
            record = sim.publish(publisher, 1)
            sim.run(sim.now + 0.7)
            assert sorted(d.node for d in record.deliveries) == sorted(wanted - {publisher})
    assert is_legitimate(sim.nodes, sim.now, 1)


def test_stale_value_is_used_until_the_temporary_one_replaces_it() -> None:
    sim = Simulation(GraphChannel(line(5)), MeshConfig())
    sim.subscribe(2, 1)
    sim.subscribe(4, 1)
    settled(sim)
    table = sim.nodes[0].routing.table
    sim.unsubscribe(2, 1)
    lease, left = sim.nodes[0].routing.lease, sim.now
    seen = set()
    while sim.now < left + 5 * lease:
        row = table.rows[1][0]
        seen.add((row.following, row.temporary))
        sim.run(sim.now + 0.2)
    assert seen == {(2, None), (2, 4), (4, None)}


@examples(15)
@given(st.integers(0, 10_000))
def test_churn_of_subscriptions_reaches_exactly_those_who_are_settled(seed: int) -> None:
    rng, sim = random.Random(seed), make(seed, nodes=8)
    settled(sim)
    wanted: set[int] = set()
    for _ in range(12):
        node = rng.randrange(8)
        if node in wanted:
            wanted.discard(node)
            sim.unsubscribe(node, 1)
        else:
            wanted.add(node)
            sim.subscribe(node, 1)
        sim.settle(1)
        publisher = rng.randrange(8)
        record = sim.publish(publisher, 1)
        sim.settle(0.5)
        assert sorted(d.node for d in record.deliveries) == sorted(wanted - {publisher})


def test_several_channels_travel_in_one_sub() -> None:
    sim = Simulation(GraphChannel(line(4)), MeshConfig())
    sim.subscribe(3, 5, 6, 7)
    settled(sim)
    sim.log = []
    sim.settle(6)
    subs = [p for _, _, _, p in sim.log if isinstance(p, Sub)]
    assert subs
    assert {p.channels for p in subs} == {(5, 6, 7)}


def test_a_subscriber_stops_only_its_own_channels() -> None:
    sim = Simulation(GraphChannel(line(4)), MeshConfig())
    sim.subscribe(3, 5, 6)
    sim.subscribe(1, 5)
    settled(sim)
    sim.log = []
    sim.settle(6)
    told = {(s, p.channels) for _, s, _, p in sim.log if isinstance(p, Sub)}
    assert (2, (5, 6)) in told  # 2 wants nothing and forwards all
    assert (1, (6,)) in told  # 1 subscribes to 5 itself
    assert (1, (5, 6)) not in told


def test_a_publication_on_several_channels_arrives_once() -> None:
    sim = make(3)
    sim.subscribe(4, 1, 2)
    sim.subscribe(5, 2)
    sim.subscribe(6, 3)
    settled(sim)
    record = sim.publish(0, (1, 2))
    sim.settle(1)
    assert sorted(d.node for d in record.deliveries) == [4, 5]
    assert sum(n.counters.duplicates for n in sim.nodes.values()) == 0


def test_lease_grows_with_the_ring() -> None:
    config = MeshConfig(lease_floor=1.0, lease_per_position=0.5)
    sim = Simulation(GraphChannel(line(6)), config)
    settled(sim)
    assert {n.routing.lease for n in sim.nodes.values()} == {5.0}


def test_routing_state_is_bounded_as_in_the_paper() -> None:
    sim = make(1)
    for node in sim.nodes:
        sim.subscribe(node, *range(20))
    settled(sim)
    for node in sim.nodes.values():
        rows = sum(len(rows) for rows in node.routing.table.rows.values())
        assert rows == 20 * len(node.place.positions)  # n_c × n_p
        assert rows <= 20 * sim.config.max_links
    small = Simulation(GraphChannel(line(3)), MeshConfig(max_channels=4))
    for node in small.nodes:
        small.subscribe(node, *range(4 * node, 4 * node + 4))
    small.settle(20)
    assert len(small.nodes[0].routing.table.rows) == 4
    assert small.nodes[0].routing.table.overflows > 0


def test_configuration_that_would_skip_subscribers_is_refused() -> None:
    with pytest.raises(MeshError, match="skips subscribers"):
        MeshConfig(write_back=1.5)
