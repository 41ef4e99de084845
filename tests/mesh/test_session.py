"""`zonal.mesh.open`: put and subscribe by place, over real sockets; and the gateway to Zenoh."""

import contextlib
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zonal
from network import client, eventually, router_row
from places import areas, points
from zonal import mesh
from zonal.errors import ClosedError, MeshError, PacketError, PositionError, TopicError
from zonal.geo import Area, Box, Circle, Point
from zonal.mesh.envelope import Envelope
from zonal.mesh.topics import channels_for, channels_of, check_pattern, topic_matches

QUICK = mesh.MeshConfig(
    period=0.15, lease_floor=0.75, acknowledged=True, ack_timeout=0.05, write_back=6
)
DUOMO = Point(45.4642, 9.1900)
NAVIGLI = Point(45.4500, 9.1750)
TOPIC = "city/noise"


@pytest.fixture
def line() -> list[mesh.MeshSession]:
    """Four nodes in a line, each in reach of the next only; one ring over all."""
    nodes = [mesh.open(n, config=QUICK) for n in range(4)]
    for n, node in enumerate(nodes):
        node.set_peers({m: mesh.Peer(nodes[m].address) for m in (n - 1, n + 1) if 0 <= m < 4})
    yield nodes
    for node in nodes:
        node.close()


def settled(nodes: list[mesh.MeshSession]) -> None:
    length = 2 * (len(nodes) - 1)

    def one_ring() -> bool:
        rings = [node.ring for node in nodes]
        places = sorted(p for positions, _ in rings for p in positions)
        return all(n == length for _, n in rings) and places == list(range(length))

    eventually(one_ring, 30, "one ring")


def test_area_and_topic_choose_who_hears(line: list[mesh.MeshSession]) -> None:
    near = line[3].declare_subscriber(TOPIC, area=Circle(DUOMO, radius_m=500))
    far = line[2].declare_subscriber(TOPIC, area=Circle(NAVIGLI, radius_m=500))
    everything = line[1].declare_subscriber(TOPIC)
    other = line[1].declare_subscriber("city/light")
    settled(line)
    line[0].put(TOPIC, "62 dB", location=DUOMO)
    sample = near.recv(10)
    assert sample == mesh.MeshSample(TOPIC, b"62 dB", DUOMO, None, 0)
    assert everything.recv(10) == sample
    line[0].put(TOPIC, b"70 dB", location=NAVIGLI)
    found = far.recv(10)
    assert found is not None
    assert found.payload == b"70 dB"
    line[0].put(TOPIC, b"no place")
    assert [everything.recv(10).payload for _ in range(2)] == [b"70 dB", b"no place"]
    for quiet in (near, far, other):
        assert quiet.recv(0.3) is None


def test_geofence_is_kept_by_the_receiving_edge() -> None:
    inside = mesh.open(1, position=DUOMO, config=QUICK)
    outside = mesh.open(2, position=NAVIGLI, config=QUICK)
    with mesh.open(0, config=QUICK) as sender, inside, outside:
        sender.set_peers({1: mesh.Peer(inside.address), 2: mesh.Peer(outside.address)})
        for node in (inside, outside):
            node.set_peers({0: mesh.Peer(sender.address)})
        heard = [node.declare_subscriber(TOPIC) for node in (inside, outside)]
        settled([sender, inside, outside])
        sender.put(TOPIC, b"only here", geofence=Circle(DUOMO, radius_m=300))
        assert heard[0].recv(10).payload == b"only here"
        assert heard[1].recv(0.5) is None


def test_ego_centric_area_follows_the_node(line: list[mesh.MeshSession]) -> None:
    at = [NAVIGLI]
    last = line.pop()
    address_of_2 = line[2].address
    last.close()
    mover = mesh.open(3, position=lambda: at[0], config=QUICK)
    line.append(mover)
    mover.set_peers({2: mesh.Peer(address_of_2)})
    line[2].set_peers({1: mesh.Peer(line[1].address), 3: mesh.Peer(mover.address)})
    around_me = mover.declare_subscriber(TOPIC, area=Circle(radius_m=400))
    settled(line)
    line[0].put(TOPIC, b"far from me", location=DUOMO)
    assert around_me.recv(0.5) is None
    at[0] = DUOMO
    mover.update_position()

    def heard() -> mesh.MeshSample | None:
        line[0].put(TOPIC, b"near me now", location=DUOMO)
        return around_me.recv(0.3)

    assert eventually(heard).payload == b"near me now"


def test_handler_runs_and_a_failing_one_does_not_stop_the_mesh(
    line: list[mesh.MeshSession], caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[bytes] = []

    def handler(sample: mesh.MeshSample) -> None:
        seen.append(sample.payload)
        if len(seen) == 1:
            raise ValueError("not today")

    line[3].declare_subscriber(TOPIC, handler)
    settled(line)
    for number in range(3):
        line[0].put(TOPIC, str(number), location=DUOMO)
    eventually(lambda: sorted(seen) == [b"0", b"1", b"2"])
    assert "not today" in caplog.text


def test_own_messages_reach_own_subscribers() -> None:
    with mesh.open(5) as alone:
        mine = alone.declare_subscriber(TOPIC)
        alone.put(TOPIC, b"to myself")
        assert mine.recv(5).payload == b"to myself"


def test_errors_say_what_is_wrong() -> None:
    with mesh.open(5) as node:
        with pytest.raises(TopicError, match="wildcard"):
            node.put("city/*", b"to whom?")
        with pytest.raises(TopicError, match="no key expression"):
            node.declare_subscriber("city//*")
        with pytest.raises(PositionError, match="needs a position"):
            node.declare_subscriber(TOPIC, area=Circle(radius_m=10))
        with pytest.raises(MeshError, match="exceeds the 1024"):
            node.put(TOPIC, bytes(1100))
    with pytest.raises(ClosedError, match="is closed"):
        node.put(TOPIC, b"too late")


@settings(max_examples=120, deadline=None)
@given(areas, points)
def test_channels_never_miss_what_the_area_contains(area: Area, point: Point) -> None:
    if area.contains(point):
        assert channels_for(TOPIC, area) & set(channels_of(TOPIC, point))
    assert 1 <= len(channels_for(TOPIC, area)) <= 24


def test_wildcards_and_area_choose_who_hears(line: list[mesh.MeshSession]) -> None:
    any_street = line[3].declare_subscriber("city/*/noise", area=Circle(DUOMO, radius_m=500))
    all_below = line[2].declare_subscriber("city/north/**")
    settled(line)
    line[0].put("city/north/noise", b"both", location=DUOMO)
    line[0].put("city/south/noise", b"elsewhere", location=NAVIGLI)
    line[0].put("city/north/light", b"north only", location=DUOMO)
    line[0].put("city/south/noise", b"street only", location=DUOMO)
    assert {any_street.recv(10).payload for _ in range(2)} == {b"both", b"street only"}
    assert {all_below.recv(10).payload for _ in range(2)} == {b"both", b"north only"}
    assert any_street.recv(0.3) is None
    assert all_below.recv(0.3) is None


chunks = st.sampled_from(("a", "b", "ab", "c"))
wild_chunks = st.one_of(chunks, st.sampled_from(("*", "**", "a$*")))


@settings(max_examples=400, deadline=None)
@given(st.lists(wild_chunks, min_size=1, max_size=5), st.lists(chunks, min_size=1, max_size=5))
def test_channels_never_miss_what_a_wildcard_matches(pattern: list[str], topic: list[str]) -> None:
    wanted, name = check_pattern("/".join(pattern)), "/".join(topic)
    if topic_matches(wanted, name):
        assert channels_for(wanted, None) & set(channels_of(name, None))
    assert len(channels_of(name, DUOMO)) <= 9


@settings(max_examples=200, deadline=None)
@given(
    st.text("abc/é", min_size=1, max_size=20), st.binary(max_size=100), st.none() | points,
    st.none() | st.just(Box(45, 9, 46, 10)), st.booleans(),
)  # fmt: skip
def test_envelope_round_trip(
    topic: str, payload: bytes, place: Point | None, fence: Area | None, gate: bool
) -> None:
    message = Envelope(topic, payload, place, fence, gate)
    assert Envelope.from_bytes(message.to_bytes()) == message


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60))
def test_envelope_of_any_bytes_is_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(PacketError):
        assert Envelope.from_bytes(data).to_bytes()[:2] == data[:2]


def test_gateway_carries_both_ways_and_nothing_twice(line: list[mesh.MeshSession]) -> None:
    with router_row(1) as (router,), client(router) as left, client(router) as right:
        beyond = client(router)
        heard_beyond = beyond.declare_subscriber(TOPIC)
        heard_here = line[0].declare_subscriber(TOPIC, area=Circle(DUOMO, radius_m=900))
        gates = [mesh.Gateway(line[1], left, [TOPIC]), mesh.Gateway(line[3], right, [TOPIC])]
        settled(line)

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


def test_gateway_command(line: list[mesh.MeshSession]) -> None:
    with router_row(1) as (router,), client(router) as beyond:
        heard = beyond.declare_subscriber(TOPIC)
        host, port = line[0].address
        arguments = ["gateway", "--id", "9", "--topic", TOPIC, "--seconds", "60"]
        arguments += ["--period", str(QUICK.period), "--acknowledged"]  # as its neighbours
        arguments += ["--connect", router.endpoints[0], "--peer", f"0={host}:{port}"]
        code = f"from zonal.cli.mesh import app; app({arguments!r})"
        gate = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        try:
            place = gate.stdout.readline().split()[-1].rpartition(":")
            peers = {9: mesh.Peer((place[0], int(place[2]))), 1: mesh.Peer(line[1].address)}
            line[0].set_peers(peers)

            def crossed() -> zonal.Sample | None:
                line[3].put(TOPIC, b"hello", location=DUOMO)
                return heard.recv(0.3)

            assert eventually(crossed, 40).payload.to_bytes() == b"hello"
        finally:
            gate.kill()
            gate.communicate()


def test_module_exports() -> None:
    assert all(hasattr(mesh, name) for name in mesh.__all__)
    assert zonal.mesh is mesh
