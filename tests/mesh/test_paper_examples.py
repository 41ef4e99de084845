"""The worked examples of the paper's figures 1 to 3 in running nodes."""

from zonal.mesh.channels import GraphChannel
from zonal.mesh.config import MeshConfig
from zonal.mesh.graphs import Graph, graph_of, line
from zonal.mesh.layout import lay_out
from zonal.mesh.legitimate import faults, is_legitimate
from zonal.mesh.packets import Sub
from zonal.mesh.routing import Psvr
from zonal.mesh.simulation import Simulation
from zonal.mesh.table import RoutingRow, RoutingTable

CHANNEL = 9

# Figure 1. Identifiers chosen so that the election and the order of children give its ring.
R, E_, C, A, D, B = 0, 1, 2, 3, 4, 5
NAMES = dict(zip((R, E_, C, A, D, B), "recadb", strict=True))
FIGURE_1 = graph_of([(R, E_), (E_, C), (C, A), (E_, D), (D, B), (C, D)])


def settled(graph: Graph, subscribers: tuple[int, ...] = ()) -> Simulation:
    sim = Simulation(GraphChannel(graph), MeshConfig(max_links=10))
    for node in subscribers:
        sim.subscribe(node, CHANNEL)
    whole = lambda: is_legitimate(sim.nodes, sim.now, 1)  # noqa: E731
    assert sim.run_until(whole, 200), list(faults(sim.nodes, sim.now, 1))
    return sim


def test_figure_1_ring_of_the_topology() -> None:
    sim = settled(FIGURE_1)
    layout = lay_out({n: node.tree.parent for n, node in sim.nodes.items()})
    owner = {p: NAMES[node] for node, places in layout.positions.items() for p in places}
    assert "".join(owner[position] for position in range(10)) == "recacedbde"
    assert layout.length == 10
    assert {n: node.place.positions for n, node in sim.nodes.items()} == layout.positions


def test_figure_1_link_c_d_gives_shortcuts_between_2_4_and_6_8() -> None:
    sim = settled(FIGURE_1)
    assert sim.nodes[C].place.positions == (2, 4)
    assert sim.nodes[D].place.positions == (6, 8)
    assert {6, 8} <= set(sim.nodes[C].place.reach.positions)
    assert {2, 4} <= set(sim.nodes[D].place.reach.positions)


def test_figure_2_next_subscribers_around_the_ring() -> None:
    # Root 0 with leaves 1 … 5 has its leaves at 1, 3, 5, 7, 9: subscribers at 7 and 9.
    star = graph_of([(0, leaf) for leaf in range(1, 6)])
    sim = settled(star, subscribers=(4, 5))
    assert sim.nodes[4].place.positions == (7,)
    assert sim.nodes[5].place.positions == (9,)
    stored = {
        position: row.following
        for node in sim.nodes.values()
        for position, row in zip(
            node.place.positions, node.routing.table.rows[CHANNEL], strict=True
        )
    }
    assert stored == {p: 9 if 7 <= p < 9 else 7 for p in range(10)}


def test_section_4_1_update_takes_the_closer_position_only() -> None:
    table = RoutingTable(max_channels=4)
    table.settle((5, 12, 18), 40)
    table.rows[CHANNEL] = [RoutingRow(14, 0.0), RoutingRow(14, 0.0), RoutingRow(20, 0.0)]
    table.update(CHANNEL, (3, 7), now=1.0, lease=10.0)
    assert [row.following for row in table.rows[CHANNEL]] == [7, 14, 20]


def test_figure_3_subscription_on_a_line() -> None:
    # g e c a d b f in a line; a has positions 3 and 9; c is a subscriber already.
    g, e, c, a, d, b, f = range(7)
    sim = settled(line(7), subscribers=(c,))
    assert sim.nodes[a].place.positions == (3, 9)
    before = {
        n: [r.following for r in node.routing.table.rows.get(CHANNEL, [])]
        for n, node in sim.nodes.items()
    }
    assert before == {g: [2], e: [2, 2], c: [], a: [10, 10], d: [10, 10], b: [10, 10], f: [10]}

    sim.log = []
    sim.subscribe(a, CHANNEL)
    sim.run(sim.now + 0.1)
    subs = [(s, p) for _, s, _, p in sim.log if isinstance(p, Sub) and p.positions == (3, 9)]
    assert subs == [
        (a, Sub(a, None, (CHANNEL,), (3, 9))),  # SUB⟨⊥, ⟨c⟩, ⟨3, 9⟩⟩
        (d, Sub(d, a, (CHANNEL,), (3, 9))),
        (b, Sub(b, d, (CHANNEL,), (3, 9))),  # neither c, a subscriber, nor f, a leaf, forwards
    ]
    after = {
        n: [r.following for r in node.routing.table.rows[CHANNEL]] for n, node in sim.nodes.items()
    }
    assert after == {g: [2], e: [2, 2], c: [3, 3], a: [10, 10], d: [9, 9], b: [9, 9], f: [9]}


def test_routing_of_the_examples_is_the_default() -> None:
    assert isinstance(settled(line(2)).nodes[0].routing, Psvr)
