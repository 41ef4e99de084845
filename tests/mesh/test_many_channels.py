"""Any number of channels: several SUBs a lease, nothing lost, and what cannot be is said."""

import random
import time

import pytest

from meshes import QUICK, wait_for_ring
from network import eventually
from zonal import mesh
from zonal.errors import MeshError, PacketError
from zonal.mesh.channels import GraphChannel
from zonal.mesh.config import MeshConfig
from zonal.mesh.graphs import connected_gnp, line
from zonal.mesh.node import MeshNode
from zonal.mesh.packets import Beacon, Sub
from zonal.mesh.simulation import Simulation
from zonal.mesh.udp import UdpDriver
from zonal.mesh.wire import MAX_NUMBER, MAX_PACKET, WIRE, sub_packets


def crowd(nodes: int, channels: int, *, config: MeshConfig | None = None) -> Simulation:
    """A mesh over the wire, on perfect links, whose nodes share out so many channels."""
    rng = random.Random(1)
    graph = connected_gnp(nodes, 6 / nodes, rng)
    sim = Simulation(GraphChannel(graph), config, seed=1, over_the_wire=True)
    for number in range(channels):
        sim.subscribe(number % nodes, channel_name(number))
    sim.settle(30)
    return sim


def channel_name(number: int) -> int:
    """As long as those of topics: five octets."""
    return MAX_NUMBER - 7919 * number


def lost(sim: Simulation, channels: range) -> list[int]:
    """The channels of which a publication does not reach its one subscriber, once."""
    rng, records = random.Random(2), {}
    nodes = len(sim.nodes)
    for number in channels:
        publisher = rng.choice([n for n in sim.nodes if n != number % nodes])
        records[number] = sim.publish(publisher, channel_name(number))
        sim.settle(0.002)
    sim.settle(2)
    got = {n: [arrival.node for arrival in record.deliveries] for n, record in records.items()}
    return [n for n in channels if got[n] != [n % nodes]]


def test_six_hundred_channels_in_a_mesh_lose_nothing() -> None:
    sim = crowd(12, 600)
    assert max(len(n.routing.table.rows) for n in sim.nodes.values()) > 256
    assert lost(sim, range(0, 600, 4)) == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_five_thousand_channels_on_sixty_nodes_lose_nothing() -> None:
    sim = crowd(60, 5000)
    assert lost(sim, range(5000)) == []
    assert sum(n.counters.duplicates for n in sim.nodes.values()) == 0


def test_a_table_without_room_costs_messages_and_no_delivery() -> None:
    sim = crowd(12, 240, config=MeshConfig(max_channels=40))
    assert all(n.routing.table.overflows for n in sim.nodes.values())
    assert lost(sim, range(240)) == []


def test_many_channels_go_out_in_several_subs_spread_over_a_period() -> None:
    sim = Simulation(GraphChannel(line(2)), over_the_wire=True)
    sim.settle(20)
    sim.log = []
    start = sim.now
    sim.subscribe(0, *map(channel_name, range(1000)))
    sim.settle(8)
    said = [(at, packet) for at, sender, _, packet in sim.log if isinstance(packet, Sub)]
    assert {c for _, sub in said for c in sub.channels} == set(map(channel_name, range(1000)))
    assert all(len(WIRE.encode(sub)) <= MAX_PACKET for _, sub in said)
    renewed = [at for at, _ in said if at > start + 0.5]
    assert len(renewed) >= 4
    assert max(renewed) - min(renewed) > 0.3 * sim.config.period
    assert len(sim.nodes[1].routing.table.rows) == 1000


def test_a_portion_of_channels_leaves_room_for_whoever_passes_it_on() -> None:
    places = tuple(range(MAX_NUMBER - 9, MAX_NUMBER))
    portions = sub_packets(range(MAX_NUMBER - 5000, MAX_NUMBER), places)
    assert sum(map(len, portions)) == 5000
    for portion in portions:
        WIRE.encode(Sub(MAX_NUMBER, MAX_NUMBER - 1, portion, places))


def test_what_cannot_be_is_refused_to_who_asks() -> None:
    node = MeshNode(1, MeshConfig(max_channels=2))
    with pytest.raises(PacketError, match="not from 0 to"):
        node.subscribe(2**32, 0.0)
    node.subscribe(1, 0.0)
    node.subscribe(2, 0.0)
    with pytest.raises(PacketError, match="at most 2 channels"):
        node.subscribe(3, 0.0)
    with pytest.raises(PacketError, match="exceeds the 255"):
        node.publish(range(300), b"", 0.0)
    with pytest.raises(PacketError, match="exceeds 1400"):
        node.publish(range(2**30, 2**30 + 200), bytes(1000), 0.0)


def test_260_subscribers_on_one_node_are_all_heard() -> None:
    with mesh.open(0, config=QUICK) as left, mesh.open(1, config=QUICK) as right:
        left.set_peers({1: right.address})
        right.set_peers({0: left.address})
        heard = [right.declare_subscriber(f"street/{n}/noise") for n in range(260)]
        wait_for_ring([left, right])
        eventually(lambda: left.status().channels == 260)
        for n, subscriber in enumerate(heard):
            left.put(f"street/{n}/noise", str(n))
            assert subscriber.recv(5).payload == str(n).encode()


def test_one_subscriber_too_many_is_an_error_and_leaves_the_others() -> None:
    config = MeshConfig(max_channels=3)
    with mesh.open(5, config=config) as node:
        kept = [node.declare_subscriber(f"t/{n}") for n in range(3)]
        with pytest.raises(PacketError, match="4 channels exceed the 3"):
            node.declare_subscriber("t/3")
        node.put("t/2", b"still here")
        assert kept[2].recv(5).payload == b"still here"


def test_a_node_goes_on_after_a_failure_and_says_when_it_stops(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with mesh.open(5, config=QUICK) as node:
        mine = node.declare_subscriber("t")
        calls = []

        def broken(*_: object) -> list[object]:
            calls.append(1)
            raise OSError("the card is on fire")

        monkeypatch.setattr(UdpDriver, "turn", broken)
        deadline = time.monotonic() + 10
        while len(calls) < 2 and time.monotonic() < deadline:
            time.sleep(0.005)
        monkeypatch.undo()
        node.put("t", b"alive")
        assert mine.recv(5).payload == b"alive"
        assert "goes on after a failure" in caplog.text
        monkeypatch.setattr(UdpDriver, "turn", broken)
        with pytest.raises(MeshError, match="has stopped: the card is on fire"):
            mine.recv(20)
        for call in (lambda: node.put("t", b"x"), lambda: node.declare_subscriber("u")):
            with pytest.raises(MeshError, match="has stopped"):
                call()
        with pytest.raises(MeshError, match="has stopped"):
            list(mine)


def test_beacons_that_would_not_fit_are_refused_at_the_start() -> None:
    with pytest.raises(PacketError, match="exceeds"):
        UdpDriver(MeshNode(1, MeshConfig(max_links=200, max_candidates=200)))


def test_a_packet_that_fits_no_bytes_does_not_stop_the_others() -> None:
    driver = UdpDriver(MeshNode(1))
    good = Beacon(1, 1, driver.node.view)
    driver.set_peers({2: driver.address})
    driver.carry_out([mesh.Send(None, good._replace(seq=-1)), mesh.Send(None, good)])
    assert (driver.unsendable, driver.sent) == (1, 1)
    driver.close()
