"""The worked examples of the paper's figures 4 to 6, message by message."""

from collections.abc import Iterator

from zonal.mesh import (
    Forward,
    Graph,
    GraphChannel,
    MeshConfig,
    Pub,
    Simulation,
    between,
    faults,
    forwards,
    graph_of,
    is_legitimate,
    lay_out,
)
from zonal_lab.psvr.peers import FigurePsvr, OlderScheme, PsvrScheme, shen_scheme

CHANNEL = 9

# Figure 1. Identifiers chosen so that the election and the order of children give its ring.
R, E_, C, A, D, B = 0, 1, 2, 3, 4, 5
NAMES = dict(zip((R, E_, C, A, D, B), "recadb", strict=True))
FIGURE_1 = graph_of([(R, E_), (E_, C), (C, A), (E_, D), (D, B), (C, D)])

# Figure 4: eleven nodes; named by their first position. 7 → 13 and 19 → 2 are its shortcuts.
X, NA, N2, N4, N5, N9, N10, N13, NB, N16, N17 = 0, 1, 2, 4, 5, 9, 10, 13, 15, 16, 17
FIGURE_4_TREE = {
    X: X, NA: X, N2: NA, N4: NA, N5: N4, N9: X, N10: N9, N13: X, NB: X, N16: NB, N17: N16,
}  # fmt: skip
FIGURE_4 = graph_of([*((a, b) for a, b in FIGURE_4_TREE.items() if a != b), (NA, N13), (NB, N2)])
FIGURE_4_SUBSCRIBERS = (N2, N4, N5, N16)


def settled(graph: Graph, subscribers: tuple[int, ...] = ()) -> Simulation:
    sim = Simulation(GraphChannel(graph), MeshConfig(max_links=10), routing=FigurePsvr)
    for node in subscribers:
        sim.subscribe(node, CHANNEL)
    whole = lambda: is_legitimate(sim.nodes, sim.now, 1)  # noqa: E731
    assert sim.run_until(whole, 200), list(faults(sim.nodes, sim.now, 1))
    return sim


def pubs_of(sim: Simulation, publisher: int) -> list[tuple[int, int | None, int, int]]:
    """The PUBs of one publication: sender, receiver, goal, end."""
    sim.log = []
    sim.publish(publisher, CHANNEL, b"x")
    sim.settle(2)
    return [(sender, to, p.goal, p.end) for _, sender, to, p in sim.log if isinstance(p, Pub)]


def test_figure_4_positions() -> None:
    positions = lay_out(FIGURE_4_TREE).positions
    assert positions[X] == (0, 8, 12, 14)
    assert positions[NA] == (1, 3, 7)
    assert positions[NB] == (15, 19)
    assert positions[N4] == (4, 6)
    assert positions[N16] == (16, 18)


def test_figure_4_schedule_message_by_message() -> None:
    scheme = PsvrScheme(FIGURE_4, FIGURE_4_SUBSCRIBERS, lay_out(FIGURE_4_TREE))
    from_a = [(m.position, m.goal, m.end) for m in scheme.publish(NA).messages]
    assert from_a == [
        (1, 2, 3), (3, 4, 7), (7, 13, 1),  # (a)
        (4, 5, 6),                         # (d); (c): 2 sends nothing, nor does 6
        (13, 14, 1),                       # (e)
        (14, 15, 0),                       # the end point becomes 0
        (15, 16, 19),                      # b's own next position 19 comes before 0
    ]  # fmt: skip
    assert len(from_a) == 7
    from_b = [(m.position, m.goal, m.end) for m in scheme.publish(NB).messages[:2]]
    assert from_b == [(15, 16, 19), (19, 2, 15)]  # (b)


def test_figure_4_seven_messages_where_the_older_algorithm_needs_twelve() -> None:
    layout = lay_out(FIGURE_4_TREE)
    ours = PsvrScheme(FIGURE_4, FIGURE_4_SUBSCRIBERS, layout).publish(NA)
    older = OlderScheme(FIGURE_4, FIGURE_4_SUBSCRIBERS, layout).publish(NA)
    assert len(ours.messages) == 7
    assert len(older.messages) == 12
    assert sorted(ours.hops) == sorted(older.hops) == sorted(FIGURE_4_SUBSCRIBERS)
    assert {m.goal for m in ours.messages} & {8, 9, 10, 11, 12, 17} == set()


def test_figure_4_wide_shortcuts_save_the_detour_over_13() -> None:
    layout = lay_out(FIGURE_4_TREE)
    wide = PsvrScheme(FIGURE_4, FIGURE_4_SUBSCRIBERS, layout, wide=True).publish(NA)
    assert (7, 14) in [(m.position, m.goal) for m in wide.messages]
    assert len(wide.messages) == 6
    assert sorted(node for node, _ in wide.deliveries) == sorted(FIGURE_4_SUBSCRIBERS)


def test_figure_4_in_running_nodes() -> None:
    # Node 2 could as well hang on b: it keeps the parent that it finds first, so a comes first.
    first = graph_of((n, o) for n in FIGURE_4 for o in FIGURE_4[n] if {n, o} != {NB, N2})
    sim = settled(first, FIGURE_4_SUBSCRIBERS)
    sim.channel.mend(NB, N2)
    assert sim.run_until(lambda: NB in sim.nodes[N2].links.used, sim.now + 60)
    sim.settle(80)  # until the new link is known to be as good as it is
    assert not list(faults(sim.nodes, sim.now, 1))
    tree = {n: node.tree.parent for n, node in sim.nodes.items()}
    assert tree == FIGURE_4_TREE
    assert sorted(pubs_of(sim, NA)) == sorted(
        [
            (NA, N2, 2, 3), (NA, N4, 4, 7), (NA, N13, 13, 1), (N4, N5, 5, 6),
            (N13, X, 14, 1), (X, NB, 15, 0), (NB, N16, 16, 19),
        ]
    )  # fmt: skip


def test_figure_5_publisher_d_reaches_b_and_over_the_shortcut_c_a() -> None:
    sim = settled(FIGURE_1, subscribers=(A, B))
    assert pubs_of(sim, D) == [(D, B, 7, 8), (D, C, 2, 6), (C, A, 3, 4)]


def test_figure_5_older_algorithm_visits_publisher_and_c_twice() -> None:
    older = OlderScheme(FIGURE_1, (A, B)).publish(D)
    assert [older.messages[0].position, *(m.goal for m in older.messages)] == [6, 7, 8, 2, 3, 4]
    assert len(PsvrScheme(FIGURE_1, (A, B)).publish(D).messages) == 3


def test_figure_5_tree_routing_goes_over_e() -> None:
    way = [(m.sender, m.receiver) for m in shen_scheme(FIGURE_1, (D,)).publish(C).messages]
    assert way == [(C, E_), (E_, D)]
    ours = PsvrScheme(FIGURE_1, (D,)).publish(C)
    assert [(m.sender, m.receiver) for m in ours.messages] == [(C, D)]


def test_figure_6_older_algorithm_sends_four_messages_past_the_last_subscriber() -> None:
    # p_t is 3 (position 3), the publisher p_v is 5 (position 8), p_w is 6 (position 11).
    tree = {0: 0, 1: 0, 2: 1, 3: 2, 4: 0, 5: 4, 6: 0}
    graph = graph_of([(a, b) for a, b in tree.items() if a != b])
    layout = lay_out(tree)
    assert (layout.positions[3], layout.positions[5], layout.positions[6]) == ((3,), (8,), (11,))
    older = OlderScheme(graph, (3, 6), layout).publish(5)
    assert [(m.position, m.goal) for m in older.messages[-4:]] == [(3, 4), (4, 5), (5, 6), (6, 7)]
    ours = PsvrScheme(graph, (3, 6), layout).publish(5)
    assert sorted(ours.hops) == [3, 6]
    assert not [m for m in ours.messages if m.position >= 3 and m.goal in (4, 5, 6, 7)]


def test_listing_of_algorithm_2_read_to_the_letter_contradicts_figure_4() -> None:
    """Why `forwards` restricts own positions to the segment, as the text of section 4.2 does."""
    scheme = PsvrScheme(FIGURE_4, FIGURE_4_SUBSCRIBERS, lay_out(FIGURE_4_TREE))
    place = scheme.places[X]
    following = lambda index: scheme.known.after(place.positions[index], X)  # noqa: E731

    def listing(current: int, end: int) -> Iterator[Forward]:
        for index, position in enumerate(place.positions):
            own_next = place.positions[(index + 1) % len(place.positions)]
            stop = own_next if between(own_next, position, end, 20) else end
            if between(following(index), current, stop, 20):
                to, goal = place.closest(index, following(index))
                yield Forward(position, goal, stop, to)

    assert list(forwards(place, following, 14, 1)) == [Forward(14, 15, 0, NB)]  # as the paper says
    assert len(list(listing(14, 1))) > 1
