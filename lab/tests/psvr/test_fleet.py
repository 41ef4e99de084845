"""Real processes over real sockets: the same node, another driver."""

import random

import pytest

from zonal.errors import MeshError
from zonal.mesh import MeshConfig, connected_gnp, line
from zonal_lab.psvr.parts.processes import parts_left
from zonal_lab.psvr.processes.fleet import Fleet

QUICK = MeshConfig(period=0.15, lease_floor=0.6, max_links=10, ack_timeout=0.05, write_back=6)


def links(graph: dict[int, tuple[int, ...]], loss: float = 0.0) -> dict[tuple[int, int], float]:
    return {(a, b): loss for a in graph for b in graph[a]}


def publish_and_wait(fleet: Fleet, publisher: int, wanted: set[int]) -> None:
    before = set(fleet.published)
    fleet.publish(publisher, 1, "hello")
    fleet.wait_until(lambda: set(fleet.published) - before, 10, "the publication")
    (key,) = set(fleet.published) - before
    fleet.wait_until(lambda: set(fleet.delivered.get(key, ())) == wanted, 10, f"{wanted}")


def test_ten_processes_form_a_ring_and_deliver() -> None:
    graph = connected_gnp(10, 0.35, random.Random(4))
    with Fleet(links(graph), QUICK) as fleet:
        for node in (2, 5, 9):
            fleet.subscribe(node, 1)
        fleet.wait_for_ring(30)
        fleet.run(2)
        publish_and_wait(fleet, 0, {2, 5, 9})
        publish_and_wait(fleet, 5, {2, 9})
        reports = fleet.ask()
        assert sum(r["duplicates"] for r in reports.values()) == 0
        assert all(set(r["links"]) == set(graph[n]) for n, r in reports.items())


def test_cut_link_and_killed_process_are_survived() -> None:
    ring = {n: ((n - 1) % 6, (n + 1) % 6) for n in range(6)}
    config = MeshConfig(
        period=0.15, lease_floor=0.6, acknowledged=True, ack_timeout=0.05, write_back=6
    )
    with Fleet(links(ring, loss=0.02), config) as fleet:
        fleet.subscribe(3, 1)
        fleet.wait_for_ring(30)
        fleet.cut(1, 2)
        fleet.wait_until(lambda: 2 not in fleet.ask()[1]["links"], 20, "the cut to be noticed")
        fleet.wait_for_ring(30)
        fleet.run(1.5)
        publish_and_wait(fleet, 1, {3})
        assert sum(r["lost"] for r in fleet.ask().values()) > 0  # two of a hundred, by chance
        fleet.mend(1, 2)
        fleet.wait_until(lambda: 2 in fleet.ask()[1]["links"], 20, "the link to be back")
        fleet.kill(0)
        fleet.wait_for_ring(30)
        fleet.run(1.5)
        publish_and_wait(fleet, 5, {3})


def test_what_is_published_while_a_tree_link_is_down_arrives_late() -> None:
    ring = {n: ((n - 1) % 6, (n + 1) % 6) for n in range(6)}
    config = MeshConfig(
        period=0.2, lease_floor=0.8, acknowledged=True, ack_timeout=0.02, write_back=6
    )
    with Fleet(links(ring), config) as fleet:
        fleet.subscribe(1, 1)
        fleet.wait_for_ring(30)
        fleet.run(2)
        assert fleet.ask()[1]["tree"][2] == 0  # nobody has another way to node 1 for now
        fleet.cut(0, 1)
        for _ in range(5):
            fleet.publish(5, 1)
            fleet.run(0.1)
        fleet.wait_until(
            lambda: len(fleet.published) == 5 and set(fleet.delivered) == set(fleet.published),
            20,
            "what got stuck to go around",
        )
        assert sum(report["anew"] for report in fleet.ask().values()) > 0


@pytest.mark.usefixtures("emulating")
def test_processes_in_network_namespaces() -> None:
    with Fleet(links(line(4)), QUICK, namespaces=True) as fleet:
        fleet.subscribe(3, 1)
        fleet.wait_for_ring(30)
        fleet.run(1.5)
        publish_and_wait(fleet, 0, {3})
        fleet.cut(1, 2)
        fleet.wait_until(
            lambda: {r["tree"][0] for r in fleet.ask().values()} == {0, 2}, 30, "two parts"
        )


@pytest.mark.slow
def test_fifty_processes_with_loss_and_link_cuts() -> None:
    rng = random.Random(2)
    graph = connected_gnp(50, 0.12, rng)
    config = MeshConfig(period=0.5, lease_floor=2.0, max_links=12, acknowledged=True, write_back=6)
    with Fleet(links(graph, loss=0.05), config) as fleet:
        subscribers = set(range(0, 50, 5))
        for node in subscribers:
            fleet.subscribe(node, 1)
        fleet.wait_for_ring(90)
        fleet.run(6)
        for step in range(40):
            if step == 15:
                fleet.cut(1, graph[1][0])
            fleet.publish(rng.randrange(50), 1)
            fleet.run(0.3)
        fleet.run(2)
        wanted = sum(len(subscribers - {origin}) for origin, _ in fleet.published)
        got = sum(len(fleet.delivered.get(key, ())) for key in fleet.published)
        assert got / wanted > 0.95


def test_an_empty_fleet_is_refused() -> None:
    with pytest.raises(MeshError, match="at least one link"):
        Fleet({})


def test_what_cuts_leave_possible() -> None:
    losses = {pair: 0.1 for a, b in ((0, 1), (1, 2), (2, 3)) for pair in ((a, b), (b, a))}
    losses[3, 4] = 0.1  # one way only: no link
    assert parts_left(losses, set())[0] == {0, 1, 2, 3}
    left = parts_left(losses, {(1, 2), (2, 1)})
    assert (left[0], left[3], left[4]) == ({0, 1}, {2, 3}, {4})
