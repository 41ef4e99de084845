"""`zonal.mesh.open`: put and subscribe by place, over real sockets."""

import threading
from typing import Any

import pytest
import shapely

import zonal
from meshes import QUICK, wait_for_ring
from network import eventually
from zonal import mesh
from zonal.errors import ClosedError, GeometryError, MeshError, PositionError, TopicError
from zonal.geo import Circle, Point
from zonal.mesh.udp import UdpDriver

DUOMO = Point(45.4642, 9.1900)
NAVIGLI = Point(45.4500, 9.1750)
TOPIC = "city/noise"


def test_area_and_topic_choose_who_hears(line: list[mesh.MeshSession]) -> None:
    near = line[3].declare_subscriber(TOPIC, area=Circle(DUOMO, radius_m=500))
    far = line[2].declare_subscriber(TOPIC, area=Circle(NAVIGLI, radius_m=500))
    everything = line[1].declare_subscriber(TOPIC)
    other = line[1].declare_subscriber("city/light")
    wait_for_ring(line)
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
        sender.set_peers({1: inside.address, 2: outside.address})
        for node in (inside, outside):
            node.set_peers({0: sender.address})
        heard = [node.declare_subscriber(TOPIC) for node in (inside, outside)]
        wait_for_ring([sender, inside, outside])
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
    mover.set_peers({2: address_of_2})
    line[2].set_peers({1: line[1].address, 3: mover.address})
    around_me = mover.declare_subscriber(TOPIC, area=Circle(radius_m=400))
    wait_for_ring(line)
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
    wait_for_ring(line)
    for number in range(3):
        line[0].put(TOPIC, str(number), location=DUOMO)
    eventually(lambda: sorted(seen) == [b"0", b"1", b"2"])
    assert "not today" in caplog.text


def test_own_messages_reach_own_subscribers() -> None:
    with mesh.open(5) as alone:
        mine = alone.declare_subscriber(TOPIC)
        alone.put(TOPIC, b"to myself")
        assert mine.recv(5).payload == b"to myself"


def test_places_and_areas_are_taken_as_users_have_them() -> None:
    with mesh.open(5, position=(45.4642, 9.19)) as alone:
        assert alone.position == DUOMO
        mine = alone.declare_subscriber(TOPIC, area="CIRCLE (9.19 45.4642, 500)")
        alone.put(TOPIC, b"afar", location=(45.6, 9.19))
        alone.put(TOPIC, b"not for us", geofence="CIRCLE (9.19 45.6, 500)")
        alone.put(TOPIC, b"here", geofence=shapely.box(9, 45, 10, 46))
        heard = mine.recv(5)
        assert (heard.payload, heard.location) == (b"here", DUOMO)
        wrongs: tuple[Any, ...] = ("nowhere", 17)
        for wrong in wrongs:
            with pytest.raises(GeometryError):
                alone.put(TOPIC, b"", location=wrong)
            with pytest.raises(GeometryError):
                alone.put(TOPIC, b"", geofence=wrong)
            with pytest.raises(GeometryError):
                alone.declare_subscriber(TOPIC, area=wrong)
    with pytest.raises(GeometryError):
        mesh.open(5, position="nowhere")


def test_errors_say_what_is_wrong() -> None:
    with mesh.open(5) as node:
        with pytest.raises(TopicError, match="wildcard"):
            node.put("city/*", b"to whom?")
        with pytest.raises(TopicError, match="no key expression"):
            node.declare_subscriber("city//*")
        with pytest.raises(PositionError, match="needs a position"):
            node.declare_subscriber(TOPIC, area=Circle(radius_m=10))
        with pytest.raises(MeshError, match=r"of 65549 octets .* exceeds the 65536"):
            node.put(TOPIC, bytes(65_536))
    with pytest.raises(ClosedError, match="is closed"):
        node.put(TOPIC, b"too late")


def test_wildcards_and_area_choose_who_hears(line: list[mesh.MeshSession]) -> None:
    any_street = line[3].declare_subscriber("city/*/noise", area=Circle(DUOMO, radius_m=500))
    all_below = line[2].declare_subscriber("city/north/**")
    wait_for_ring(line)
    line[0].put("city/north/noise", b"both", location=DUOMO)
    line[0].put("city/south/noise", b"elsewhere", location=NAVIGLI)
    line[0].put("city/north/light", b"north only", location=DUOMO)
    line[0].put("city/south/noise", b"street only", location=DUOMO)
    assert {any_street.recv(10).payload for _ in range(2)} == {b"both", b"street only"}
    assert {all_below.recv(10).payload for _ in range(2)} == {b"both", b"north only"}
    assert any_street.recv(0.3) is None
    assert all_below.recv(0.3) is None


def test_module_exports() -> None:
    assert all(hasattr(mesh, name) for name in mesh.__all__)
    assert zonal.mesh is mesh


def test_puts_that_outrun_the_nodes_thread_are_refused_and_subscribing_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    release = threading.Event()
    turn = UdpDriver.turn

    def starved(driver: UdpDriver, *arguments: object) -> object:
        release.wait(20)
        return turn(driver, *arguments)

    with mesh.open(5, config=QUICK) as node:
        heard = node.declare_subscriber(TOPIC)
        monkeypatch.setattr(UdpDriver, "turn", starved)
        accepted = [number for number in range(20_000) if says(node)]
        assert 4000 < len(accepted) < 10_000
        with pytest.raises(MeshError, match="requests wait for mesh node 5, which does not"):
            node.put(TOPIC, b"62 dB")
        node.declare_subscriber("city/light")
        release.set()
        eventually(lambda: says(node), 10)
        eventually(lambda: node.status().wanted == 2, 10)
        assert heard.recv(10).payload == b"62 dB"


def says(node: mesh.MeshSession) -> bool:
    try:
        node.put(TOPIC, b"62 dB")
    except MeshError:
        return False
    return True
