"""The gateway: topics between a mesh and Zenoh routers."""

from meshes import wait_for_ring
from network import client, eventually, router_row
from zonal import mesh
from zonal.geo import Circle, Point

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
