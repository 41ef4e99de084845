"""Publications that get stuck at a broken link wait for the ring, and go around anew."""

import random

import pytest

from zonal.mesh.channels import GraphChannel
from zonal.mesh.config import MeshConfig
from zonal.mesh.graphs import Graph, component, connected_gnp
from zonal.mesh.packets import Pub
from zonal.mesh.place import Place
from zonal.mesh.ring import Reach
from zonal.mesh.simulation import PublicationRecord, Simulation
from zonal.mesh.stranded import Stranded

SUBSCRIBERS = {2, 5, 8}


def place(*positions: int, length: int = 10) -> Place:
    return Place(1, 0, (), positions, length, Reach({}, length))


def pub(serial: int, ttl: int = 200) -> Pub:
    return Pub(7, 1, 3, 4, ttl, (1,), 7, serial, b"")


def anew(serial: int) -> Pub:
    return pub(serial, ttl=200 - 255 // 3)  # it costs a third of all hops


@pytest.fixture
def stranded() -> Stranded:
    found = Stranded(MeshConfig(period=1.0, pending=3))
    found.settle(place(3), 0.0)
    return found


def test_nothing_goes_around_on_the_ring_that_it_failed_on(stranded: Stranded) -> None:
    assert stranded.hold(pub(1), since=9.0, now=10.0)
    stranded.settle(place(3), 15.0)
    assert stranded.due(15.0) == []


def test_it_goes_around_once_on_each_ring_that_stands(stranded: Stranded) -> None:
    stranded.hold(pub(1), since=9.0, now=10.0)
    stranded.settle(place(4), 12.0)
    assert stranded.due(13.0) == []  # may still move
    assert stranded.due(14.0) == [anew(1)]
    assert stranded.due(15.0) == []
    stranded.settle(place(4, length=12), 16.0)
    assert stranded.due(18.0) == [anew(1)]
    stranded.settle(place(5), 19.0)
    assert stranded.due(22.0) == []  # two rings are enough
    assert stranded.due(31.0) == []
    assert not stranded.held


def test_without_a_place_there_is_no_way(stranded: Stranded) -> None:
    stranded.hold(pub(1), since=9.0, now=10.0)
    stranded.settle(None, 12.0)
    assert stranded.due(20.0) == []


def test_a_ring_that_moved_while_it_was_tried_is_a_new_one(stranded: Stranded) -> None:
    stranded.settle(place(4), 10.0)
    stranded.hold(pub(1), since=9.0, now=11.0)
    assert stranded.due(12.0) == []
    assert stranded.due(13.0) == [anew(1)]


def test_bad_luck_on_a_ring_that_stays_is_tried_again_at_the_end(stranded: Stranded) -> None:
    stranded.hold(pub(1), since=9.0, now=10.0)
    assert stranded.due(29.0) == []
    assert stranded.due(30.0) == [anew(1)]
    assert not stranded.held
    assert not stranded.hold(pub(1), since=30.0, now=31.0)  # it had its time


def test_what_is_held_is_bounded_and_a_spent_publication_is_not(stranded: Stranded) -> None:
    assert not stranded.hold(pub(9, ttl=85), since=1.0, now=1.0)  # no third chance elsewhere
    assert [stranded.hold(pub(k), since=1.0, now=1.0) for k in range(5)] == [True] * 3 + [False] * 2


def test_corrupt_times_do_not_keep_anything(stranded: Stranded) -> None:
    stranded.hold(pub(1), since=9.0, now=1e9)
    stranded.stands_since = 1e9
    stranded.settle(place(3), 10.0)
    stranded.due(10.0)
    assert not stranded.held


def has_another_way(graph: Graph, a: int, b: int) -> bool:
    channel = GraphChannel(graph)
    channel.cut(a, b)
    return b in component(channel.neighbours, a)


def under_a_cut(acknowledged: bool) -> list[PublicationRecord]:
    """Publications around the cut of a link that the tree stands on; another way is left."""
    graph = connected_gnp(10, 0.35, random.Random(4))
    channel = GraphChannel(graph)
    config = MeshConfig(max_links=9, max_candidates=9, acknowledged=acknowledged)
    sim = Simulation(channel, config, seed=2)
    for node in SUBSCRIBERS:
        sim.subscribe(node, 1)
    sim.settle(40)
    cut = next(
        (a, b)
        for a in graph
        for b in graph[a]
        if a < b and a == sim.nodes[b].tree.parent and has_another_way(graph, a, b)
    )
    records, rng = [], random.Random(3)
    for step in range(40):
        if step == 2:
            channel.cut(*cut)
        records.append(sim.publish(rng.choice(sorted(sim.nodes)), 1))
        sim.settle(0.5)
    sim.settle(30)
    return records


def missed(records: list[PublicationRecord]) -> int:
    return sum(len(SUBSCRIBERS - {r.origin} - {d.node for d in r.deliveries}) for r in records)


def test_a_cut_tree_link_costs_time_but_no_delivery_with_acknowledgement() -> None:
    assert missed(under_a_cut(acknowledged=False)) > 0
    records = under_a_cut(acknowledged=True)
    assert missed(records) == 0
    for record in records:  # and nobody has it twice
        assert len({d.node for d in record.deliveries}) == len(record.deliveries)
