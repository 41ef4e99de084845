"""Neighbours that find each other by multicast, on loopback only, and who is believed."""

import random

import pytest

from meshes import QUICK, wait_for_ring
from zonal import mesh
from zonal.errors import MeshError
from zonal.mesh.discovery import Discovery
from zonal.mesh.packets import Ack, Beacon, View

VIEW = View(7, 0, 7, 0, 1, 1, (0,), (), ())
HERE = ("10.0.0.1", 4000)
THERE = ("fe80::2%eth0", 4000, 0, 2)


def own_port() -> int:
    """A group port for one test: meshes of other tests are others."""
    return random.SystemRandom().randrange(20_000, 30_000)


@pytest.fixture
def found() -> Discovery:
    discovery = Discovery(["lo"], port=own_port(), patience_s=6.0, most=2)
    yield discovery
    discovery.close()


def test_three_nodes_on_a_link_find_each_other_without_a_word() -> None:
    port = own_port()
    nodes = [mesh.open(config=QUICK, discovery=Discovery(["lo"], port=port)) for _ in range(3)]
    try:
        heard = nodes[2].declare_subscriber("street/*/noise")
        wait_for_ring(nodes)
        nodes[0].put("street/a/noise", b"62 dB")
        assert heard.recv(10).payload == b"62 dB"
    finally:
        for node in nodes:
            node.close()


@pytest.mark.parametrize("listen", ["0.0.0.0", "127.0.0.1"])
def test_a_node_for_anybody_in_reach_is_refused_unless_it_is_meant(listen: str) -> None:
    everywhere = None if listen == "0.0.0.0" else Discovery(port=own_port())
    with pytest.raises(MeshError, match="anybody in reach"):
        mesh.open(listen=(listen, 0), discovery=everywhere)
    mesh.open(listen=("0.0.0.0", 0), insecure=True).close()


def test_a_beacon_to_all_makes_known_and_nothing_else_does(found: Discovery) -> None:
    assert not found.admits(Ack(7, 1), HERE, 0.0, to_group=True)
    assert not found.admits(Beacon(7, 1, VIEW), HERE, 0.0, to_group=False)
    assert found.admits(Beacon(7, 1, VIEW), HERE, 0.0, to_group=True)
    assert found.admits(Ack(7, 1), HERE, 0.0, to_group=False)


def test_an_identifier_stays_with_its_address_until_that_is_silent(found: Discovery) -> None:
    assert found.admits(Beacon(7, 1, VIEW), HERE, 0.0, to_group=True)
    assert not found.admits(Beacon(7, 2, VIEW), THERE, 5.0, to_group=True)
    assert not found.admits(Beacon(8, 2, VIEW), HERE, 5.0, to_group=True)
    assert not found.admits(Ack(7, 2), THERE, 5.0, to_group=False)
    assert found.admits(Beacon(7, 3, VIEW), THERE, 6.5, to_group=True)
    assert not found.admits(Ack(7, 3), HERE, 6.6, to_group=False)


def test_an_address_at_rest_keeps_its_identifier_for_longer(found: Discovery) -> None:
    assert found.admits(Beacon(7, 1, VIEW, 8), HERE, 0.0, to_group=True)
    assert not found.admits(Beacon(7, 2, VIEW), THERE, 40.0, to_group=True)
    assert found.admits(Beacon(7, 2, VIEW), THERE, 50.0, to_group=True)


def test_a_crowd_is_remembered_up_to_a_bound(found: Discovery) -> None:
    for node in (7, 8):
        assert found.admits(Beacon(node, 1, VIEW), ("10.0.0.1", node), 0.0, to_group=True)
    assert not found.admits(Beacon(9, 1, VIEW), ("10.0.0.1", 9), 1.0, to_group=True)
    assert found.admits(Beacon(9, 1, VIEW), ("10.0.0.1", 9), 7.0, to_group=True)
    assert len(found.neighbours) == 2
