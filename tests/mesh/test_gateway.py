"""The gateway: topics between a mesh and Zenoh routers."""

import socket

import zenoh

import zonal
from meshes import wait_for_ring
from network import client, eventually, router_row
from zonal import mesh
from zonal.geo import Circle, Point
from zonal.mesh.backlog import Backlog, KeptSample
from zonal.session import Router

DUOMO = Point(45.4642, 9.1900)
TOPIC = "city/noise"


def test_gateway_carries_both_ways_and_nothing_twice(line: list[mesh.MeshSession]) -> None:
    with router_row(1) as (router,), client(router) as left, client(router) as right:
        beyond = client(router)
        heard_beyond = beyond.declare_subscriber(TOPIC)
        heard_here = line[0].declare_subscriber(TOPIC, area=Circle(DUOMO, radius_m=900))
        gates = [mesh.Gateway(line[1], left, [TOPIC]), mesh.Gateway(line[3], right, [TOPIC])]
        wait_for_ring(line)

        line[0].put(TOPIC, b"from the mesh", location=DUOMO)
        got = [heard_beyond.recv(10), heard_beyond.recv(10)]  # each of the two gateways carries it
        assert {s.payload.to_bytes() for s in got} == {b"from the mesh"}
        assert {s.location for s in got} == {DUOMO}
        assert heard_here.recv(5).source == 0  # the sender's own subscriber

        def arrives() -> mesh.MeshSample | None:
            beyond.put(TOPIC, b"from beyond", location=DUOMO)
            return heard_here.recv(0.5)

        sample = eventually(arrives)
        assert sample.payload == b"from beyond"
        assert sample.from_gateway
        eventually(lambda: all(gate.counters.turned_back for gate in gates))
        while heard_beyond.recv(0.5) is not None:
            pass  # the session hears its own puts; after them nothing circulates
        carried = [gate.counters.to_zenoh for gate in gates]
        assert heard_beyond.recv(1.0) is None
        assert [gate.counters.to_zenoh for gate in gates] == carried == [1, 1]
        for gate in gates:
            gate.close()
        beyond.close()


def free_endpoint() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"tcp/127.0.0.1:{probe.getsockname()[1]}"


def wait_for_route(near: mesh.MeshSession, far: mesh.MeshSession) -> None:
    """Have the far node subscribe (it stays so), until what the near one publishes arrives."""
    probe = far.declare_subscriber(TOPIC)

    def arrives() -> bool:
        near.put(TOPIC, b"is there a way?", location=DUOMO)
        return probe.recv(1) is not None

    eventually(arrives, 30)
    while probe.recv(1) is not None:
        pass  # those that were slower


def test_what_is_heard_without_a_router_goes_out_later_in_order_and_once(
    line: list[mesh.MeshSession],
) -> None:
    endpoint = free_endpoint()
    patient = {"connect/timeout_ms": -1, "connect/exit_on_failure": False}
    config = zonal.config("peer", connect=[endpoint], settings=patient)
    with router_row(1) as (front,), client(front) as beyond, zonal.open(config) as session:
        heard = beyond.declare_subscriber(TOPIC)
        wait_for_ring(line)
        wait_for_route(line[0], line[3])
        with mesh.Gateway(line[3], session, [TOPIC]) as gate:
            line[0].put(TOPIC, b"0", location=DUOMO)
            eventually(lambda: len(gate.backlog) == 1, 20)
            for number in range(1, 30):
                line[0].put(TOPIC, str(number), location=DUOMO)
                eventually(lambda number=number: len(gate.backlog) == number + 1, 20)
            assert gate.counters.to_zenoh == 0
            back = Router([endpoint], connect=front.endpoints)
            try:
                got = [heard.recv(20) for _ in range(30)]
                assert [s.payload.to_bytes() for s in got] == [str(n).encode() for n in range(30)]
                assert heard.recv(1) is None
                assert (gate.counters.to_zenoh, len(gate.backlog)) == (30, 0)
                stamps = [s.timestamp for s in got]
                assert stamps == sorted(stamps, key=str)
            finally:
                back.close()


def test_a_backlog_is_bounded_and_the_oldest_give_way() -> None:
    stamp = zenoh.Timestamp.parse_rfc3339("2026-01-01T00:00:00Z/33")
    sample = mesh.MeshSample(TOPIC, bytes(1000), None, None, 1)
    few, small = Backlog(most=3), Backlog(most_octets=5000)
    kept = [KeptSample(sample._replace(source=n), stamp) for n in range(10)]
    for each in kept:
        few.add(each)
        small.add(each)
    assert (len(few), few.dropped) == (3, 7)
    assert few.first(0) is kept[7]
    few.remove(kept[0])
    assert len(few) == 3
    few.remove(kept[7])
    assert few.first(0) is kept[8]
    assert small.octets <= 5000
    assert len(small) + small.dropped == 10
