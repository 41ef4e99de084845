"""A node over UDP: who is heard, and what a wrong address says."""

import socket
import time

import pytest

from zonal.errors import MeshError
from zonal.mesh.node import MeshNode
from zonal.mesh.packets import Beacon, View
from zonal.mesh.udp import UdpDriver, parse_peer
from zonal.mesh.wire import WIRE


def test_strangers_are_not_heard() -> None:
    driver = UdpDriver(MeshNode(1, now=time.monotonic()))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.sendto(b"anything", driver.address)
        deadline = time.monotonic() + 5
        while not driver.unknown and time.monotonic() < deadline:
            driver.turn()
        assert driver.unknown == 1
        driver.set_peers({2: stranger.getsockname()})
        stranger.sendto(b"anything", driver.address)
        while not driver.node.counters.refused and time.monotonic() < deadline:
            driver.turn()
        assert driver.node.counters.refused == 1
    driver.close()


def test_peers_are_parsed_and_bad_ones_explained() -> None:
    assert parse_peer("7=10.0.0.1:4007") == (7, ("10.0.0.1", 4007))
    assert parse_peer("7=4007") == (7, ("127.0.0.1", 4007))
    for bad in ("7", "x=1.2.3.4:5", "7=1.2.3.4:port", "7=1.2.3.4:5,0.1"):
        with pytest.raises(MeshError, match="right would be"):
            parse_peer(bad)


def test_a_port_in_use_is_a_clear_error() -> None:
    first = UdpDriver(MeshNode(1))
    with pytest.raises(MeshError, match="cannot listen on"):
        UdpDriver(MeshNode(2), address=first.address)
    first.close()


def test_a_neighbour_cannot_speak_for_another() -> None:
    driver = UdpDriver(MeshNode(1, now=time.monotonic()))
    view = View(2, 0, 2, 0, 1, 1, (0,), (), ())
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as two:
        two.bind(("127.0.0.1", 0))
        driver.set_peers({2: two.getsockname(), 3: ("127.0.0.1", 9)})
        two.sendto(WIRE.encode(Beacon(3, 1, view)), driver.address)
        two.sendto(WIRE.encode(Beacon(2, 1, view)), driver.address)
        deadline = time.monotonic() + 5
        while 2 not in driver.node.links.entries and time.monotonic() < deadline:
            driver.turn()
    assert set(driver.node.links.entries) == {2}
    assert driver.impostors == 1
    driver.close()
