"""Beacons that slow down at rest, and what changes then: joining stays fast, leaving is bounded."""

import random

import pytest

from zonal.errors import MeshError
from zonal.mesh.channels import GraphChannel
from zonal.mesh.config import MeshConfig
from zonal.mesh.graphs import connected_gnp, line
from zonal.mesh.legitimate import faults, is_legitimate
from zonal.mesh.simulation import Simulation

RESTING = MeshConfig(rest_periods=8)


def beacons_of(sim: Simulation, rounds: float) -> float:
    """Beacons a node and period, over so many periods."""
    before = sum(node.counters.beacons for node in sim.nodes.values())
    sim.settle(rounds)
    after = sum(node.counters.beacons for node in sim.nodes.values())
    return (after - before) / len(sim.nodes) / rounds


def whole(sim: Simulation, parts: int = 1) -> bool:
    return is_legitimate(sim.nodes, sim.now, parts)


def test_beacons_slow_down_to_an_eighth_and_the_mesh_stays_legitimate() -> None:
    graph = connected_gnp(20, 0.25, random.Random(1))
    sim = Simulation(GraphChannel(graph), RESTING, seed=1)
    sim.subscribe(3, 1)
    sim.settle(150)
    assert whole(sim), list(faults(sim.nodes, sim.now, 1))
    assert beacons_of(sim, 80) == pytest.approx(1 / 8, rel=0.15)
    assert whole(sim)
    record = sim.publish(0, 1)
    sim.settle(1)
    assert [d.node for d in record.deliveries] == [3]


def test_a_newcomer_wakes_its_neighbours_and_joins_as_fast_as_ever() -> None:
    channel = GraphChannel(line(6))
    sim = Simulation(channel, RESTING, seed=2)
    sim.remove(5)
    sim.settle(150)
    start = sim.now
    sim.add(5)
    assert sim.run_until(lambda: sim.nodes[0].place.length == 10, start + 40)
    assert sim.now - start <= 25


def test_a_neighbour_that_is_gone_is_noticed_within_the_stated_bound() -> None:
    channel = GraphChannel(line(6))
    sim = Simulation(channel, RESTING, seed=3)
    sim.settle(150)
    start = sim.now
    channel.cut(2, 3)
    assert sim.run_until(lambda: whole(sim, 2), start + 200)
    assert sim.now - start <= 8 * RESTING.silence + 40


def test_a_pace_without_bound_is_refused() -> None:
    with pytest.raises(MeshError, match="from 1 to 64"):
        MeshConfig(rest_periods=100)


def test_what_is_published_over_a_cut_at_rest_arrives_late() -> None:
    ring = {n: ((n - 1) % 6, (n + 1) % 6) for n in range(6)}
    channel = GraphChannel(ring)
    config = MeshConfig(rest_periods=8, acknowledged=True, write_back=6)
    sim = Simulation(channel, config, seed=3)
    sim.subscribe(3, 1)
    sim.settle(200)
    parent = sim.nodes[3].tree.parent
    channel.cut(3, parent)
    record = sim.publish(parent, 1)
    assert sim.run_until(lambda: bool(record.deliveries), sim.now + 160)
    sim.settle(60)
    assert [arrival.node for arrival in record.deliveries] == [3]
