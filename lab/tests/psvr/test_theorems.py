"""Theorem 1 and lemma 1 on random graphs, and what the comparisons must hold."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zonal.mesh.channels import GraphChannel
from zonal.mesh.config import MeshConfig
from zonal.mesh.graphs import Graph, bfs_tree, connected_gnp, depths, graph_of
from zonal.mesh.layout import Layout, lay_out
from zonal.mesh.legitimate import is_legitimate
from zonal.mesh.simulation import Simulation
from zonal_lab.psvr.schemes import OlderScheme, PsvrScheme, SourceTrees, shared_tree, shen_scheme


def random_tree(nodes: int, rng: random.Random) -> dict[int, int]:
    return {0: 0} | {node: rng.randrange(node) for node in range(1, nodes)}


@st.composite
def networks(draw: st.DrawFn, most: int = 30) -> tuple[Graph, Layout, set[int], int]:
    """A connected graph that contains a random tree, with subscribers and a publisher."""
    nodes = draw(st.integers(2, most))
    rng = random.Random(draw(st.integers(0, 2**32)))
    tree = random_tree(nodes, rng)
    extra = draw(st.integers(0, 3 * nodes))
    edges = [(a, b) for a, b in tree.items() if a != b]
    edges += [(rng.randrange(nodes), rng.randrange(nodes)) for _ in range(extra)]
    graph = graph_of([(a, b) for a, b in edges if a != b])
    subscribers = {n for n in graph if rng.random() < draw(st.sampled_from((0.05, 0.3, 1.0)))}
    return graph, lay_out(tree), subscribers, rng.randrange(nodes)


@settings(max_examples=400, deadline=None)
@given(networks(), st.booleans())
def test_theorem_1_every_subscriber_receives_exactly_once(
    network: tuple[Graph, Layout, set[int], int], wide: bool
) -> None:
    graph, layout, subscribers, publisher = network
    outcome = PsvrScheme(graph, subscribers, layout, wide=wide).publish(publisher)
    assert Counter(node for node, _ in outcome.deliveries) == Counter(subscribers - {publisher})


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 60), st.integers(0, 2**32))
def test_lemma_1_positions_are_never_interlaced(nodes: int, seed: int) -> None:
    layout = lay_out(random_tree(nodes, random.Random(seed)))
    where = layout.positions
    for v in where:
        for w in where:
            if v == w:
                continue
            first = where[v][0]
            gaps = {sum((p - first) % layout.length <= (q - first) % layout.length
                        for p in where[v]) for q in where[w]}  # fmt: skip
            assert len(gaps) == 1, f"{w} has positions in several segments of {v}"


@settings(max_examples=200, deadline=None)
@given(st.integers(2, 60), st.integers(0, 2**32))
def test_ring_has_one_position_per_tree_link_end(nodes: int, seed: int) -> None:
    tree = random_tree(nodes, random.Random(seed))
    layout = lay_out(tree)
    links = Counter(n for a, b in tree.items() if a != b for n in (a, b))
    assert layout.length == 2 * (nodes - 1)
    assert {n: len(p) for n, p in layout.positions.items()} == links
    assert sorted(p for places in layout.positions.values() for p in places) == list(
        range(layout.length)
    )
    ring = layout.ring()
    for at, node in enumerate(ring):
        following = ring[(at + 1) % layout.length]
        assert tree[node] == following or tree[following] == node


@settings(max_examples=200, deadline=None)
@given(networks())
def test_every_scheme_reaches_every_subscriber(
    network: tuple[Graph, Layout, set[int], int],
) -> None:
    graph, layout, subscribers, publisher = network
    wanted = subscribers - {publisher}
    ours = PsvrScheme(graph, subscribers, layout).publish(publisher)
    near_optimal = SourceTrees(graph, subscribers).publish(publisher)
    for scheme in (
        OlderScheme(graph, subscribers, layout),
        shen_scheme(graph, subscribers, layout),
        shared_tree(graph, subscribers),
    ):
        assert set(scheme.publish(publisher).hops) == wanted
    assert set(near_optimal.hops) == wanted
    by_chance = SourceTrees(graph, subscribers, random.Random(1)).publish(publisher)
    assert by_chance.hops == near_optimal.hops
    shortest = depths(bfs_tree(graph, publisher))
    assert all(near_optimal.hops[n] == shortest[n] for n in wanted)
    assert all(ours.hops[n] >= shortest[n] for n in wanted)


@settings(max_examples=200, deadline=None)
@given(networks())
def test_with_all_nodes_subscribed_psvr_is_routing_on_the_tree(
    network: tuple[Graph, Layout, set[int], int],
) -> None:
    graph, layout, _, publisher = network
    ours = PsvrScheme(graph, set(graph), layout).publish(publisher)
    tree = shen_scheme(graph, set(graph), layout).publish(publisher)
    assert len(ours.messages) == len(tree.messages) == len(graph) - 1


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
