"""Theorem 1 on random graphs, and what the comparisons must hold."""

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from meshes import random_tree
from property_examples import examples
from zonal.mesh import (
    Graph,
    GraphChannel,
    Layout,
    MeshConfig,
    Simulation,
    connected_gnp,
    graph_of,
    lay_out,
)
from zonal_lab.psvr.peers import (
    OlderScheme,
    PsvrScheme,
    Shen,
    SourceTrees,
    bfs_tree,
    depths,
    shared_tree,
    shen_scheme,
)


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


@examples(400)
@given(networks(), st.booleans())
def test_theorem_1_every_subscriber_receives_exactly_once(
    network: tuple[Graph, Layout, set[int], int], wide: bool
) -> None:
    graph, layout, subscribers, publisher = network
    outcome = PsvrScheme(graph, subscribers, layout, wide=wide).publish(publisher)
    assert Counter(node for node, _ in outcome.deliveries) == Counter(subscribers - {publisher})


@examples(200)
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


@examples(200)
@given(networks())
def test_with_all_nodes_subscribed_psvr_is_routing_on_the_tree(
    network: tuple[Graph, Layout, set[int], int],
) -> None:
    graph, layout, _, publisher = network
    ours = PsvrScheme(graph, set(graph), layout).publish(publisher)
    tree = shen_scheme(graph, set(graph), layout).publish(publisher)
    assert len(ours.messages) == len(tree.messages) == len(graph) - 1


def test_shen_routes_on_the_same_node_with_packets_of_its_own() -> None:
    graph = connected_gnp(12, 0.3, random.Random(5))
    config = MeshConfig(max_links=12)
    sim = Simulation(GraphChannel(graph), config, routing=Shen, over_the_wire=True)
    for node in (2, 7, 9):
        sim.subscribe(node, 1)
    sim.settle(40)
    record = sim.publish(4, 1)
    sim.settle(1)
    assert sorted(d.node for d in record.deliveries) == [2, 7, 9]
