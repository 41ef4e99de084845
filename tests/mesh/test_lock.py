"""A mesh with a key hears only those who have it, and each of their packets once."""

from __future__ import annotations

import contextlib
import socket
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshes import QUICK, wait_for_ring
from network import eventually
from zonal import mesh
from zonal.errors import MeshError
from zonal.mesh.lock import LOCK_OCTETS, PacketLock
from zonal.mesh.node import MeshNode
from zonal.mesh.packets import Beacon, View
from zonal.mesh.udp import UdpDriver
from zonal.mesh.wire import MAX_PACKET, WIRE

KEY = b"the key of this mesh"
VIEW = View(2, 0, 2, 0, 1, 1, (0,), (), ())


@given(data=st.binary(min_size=1, max_size=MAX_PACKET), at=st.integers(0), flip=st.integers(1, 255))
def test_a_packet_is_taken_from_who_has_the_key_and_unchanged(
    data: bytes, at: int, flip: int
) -> None:
    locked = PacketLock(KEY).lock(data)
    assert len(locked) == len(data) + LOCK_OCTETS <= 1452
    unlocked = PacketLock(KEY).unlock(locked)
    assert unlocked is not None
    assert unlocked.data == data
    assert PacketLock(b"another key of a mesh").unlock(locked) is None
    changed = bytearray(locked)
    changed[at % len(locked)] ^= flip
    assert PacketLock(KEY).unlock(bytes(changed)) is None
    assert PacketLock(KEY).unlock(data) is None


def test_numbers_rise_over_starts_and_each_is_taken_once() -> None:
    ours, theirs = PacketLock(KEY), PacketLock(KEY, epoch=1000)
    packets = [theirs.lock(b"x") for _ in range(3)]
    later = PacketLock(KEY, epoch=2000).lock(b"y")

    def take(data: bytes, sender: int = 7) -> bool:
        unlocked = ours.unlock(data)
        assert unlocked is not None
        fresh = ours.is_fresh(sender, unlocked)
        if fresh:
            ours.take(sender, unlocked)
        return fresh

    assert [take(data) for data in (packets[0], packets[2], packets[1])] == [True] * 3
    assert [take(data) for data in packets] == [False] * 3
    assert take(later)
    assert not take(theirs.lock(b"x"))  # of before the start
    assert take(packets[0], sender=8)


def test_a_short_key_is_refused() -> None:
    with pytest.raises(MeshError, match="16 octets or more, not 5"):
        PacketLock(b"short")


def test_a_listed_neighbour_can_neither_forge_nor_play_again() -> None:
    driver = UdpDriver(MeshNode(1, now=time.monotonic()), lock=PacketLock(KEY))
    with (
        contextlib.closing(driver),
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as two,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as enemy,
    ):
        for each in (two, enemy):
            each.bind(("127.0.0.1", 0))
        driver.set_peers({2: two.getsockname(), 3: enemy.getsockname()})
        theirs = PacketLock(KEY)
        beacon = theirs.lock(WIRE.encode(Beacon(2, 1, VIEW)))

        def until(name: str, count: int) -> None:
            deadline = time.monotonic() + 5
            while getattr(driver, name) < count and time.monotonic() < deadline:
                driver.turn()
            assert getattr(driver, name) == count

        # Its own words without the key, and with a code of its making.
        forged = WIRE.encode(Beacon(3, 1, VIEW))
        enemy.sendto(forged, driver.address)
        enemy.sendto(PacketLock(b"a key of the enemy's own").lock(forged), driver.address)
        until("forged", 2)
        # Another's words from its own address; what it recorded, from that of the other.
        enemy.sendto(beacon, driver.address)
        until("impostors", 1)
        two.sendto(beacon, driver.address)
        two.sendto(beacon, driver.address)
        until("replayed", 1)
        assert set(driver.node.links.entries) == {2}


def test_a_mesh_with_a_key_works_and_one_without_it_stays_apart() -> None:
    keys = [KEY, KEY, KEY, b"not the key of that mesh"]
    with contextlib.ExitStack() as stack:
        nodes = [
            stack.enter_context(mesh.open(n, config=QUICK, key=key)) for n, key in enumerate(keys)
        ]
        for node in nodes:
            node.set_peers({other.id: other.address for other in nodes if other is not node})
        heard: list[bytes] = []
        outside: list[bytes] = []
        nodes[2].declare_subscriber("t", lambda sample: heard.append(sample.payload))
        nodes[3].declare_subscriber("t", lambda sample: outside.append(sample.payload))
        wait_for_ring(nodes[:3])

        def arrived() -> bool:
            nodes[0].put("t", b"x" * 3000)  # in fragments
            nodes[3].put("t", b"forged")
            time.sleep(0.05)
            return bool(heard)

        eventually(arrived)
        assert set(heard) == {b"x" * 3000}
        assert set(outside) <= {b"forged"}  # its own
        eventually(lambda: nodes[0].status().counters["forged"] > 0)
        assert nodes[0].status().counters["replayed"] == 0
