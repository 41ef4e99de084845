"""The wire format: what goes in comes out, and nothing else gets in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from property_examples import examples
from zonal.errors import PacketError
from zonal.mesh import wire
from zonal.mesh.node import MeshNode
from zonal.mesh.packets import Ack, Beacon, LinkReport, Packet, Pub, Sub, View
from zonal.mesh.wire import WIRE

numbers = st.integers(0, wire.MAX_NUMBER)
lists = st.lists(numbers, max_size=12).map(tuple)
links = st.builds(LinkReport, numbers, st.integers(0, 127), st.booleans())
views = st.builds(
    View, numbers, numbers, numbers, numbers, numbers, numbers, lists, lists,
    st.lists(links, max_size=12).map(tuple),
)  # fmt: skip
packets = st.one_of(
    st.builds(Beacon, numbers, numbers, views, numbers),
    st.builds(Sub, numbers, st.none() | st.integers(0, 2**32 - 2), lists, lists),
    st.builds(
        Pub, numbers, numbers, numbers, numbers, numbers, lists, numbers, numbers,
        st.binary(max_size=200),
    ),
    st.builds(Ack, numbers, numbers),
)  # fmt: skip


@examples(300)
@given(packets)
def test_round_trip(packet: Packet) -> None:
    assert WIRE.decode(WIRE.encode(packet)) == packet


@examples(500)
@given(st.binary(max_size=80))
def test_arbitrary_bytes_are_refused_with_a_packet_error(data: bytes) -> None:
    with pytest.raises(PacketError):
        WIRE.decode(data)


@examples(300)
@given(packets, st.data())
def test_a_changed_octet_is_noticed(packet: Packet, data: st.DataObject) -> None:
    good = bytearray(WIRE.encode(packet))
    at = data.draw(st.integers(0, len(good) - 1))
    good[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(PacketError):
        WIRE.decode(bytes(good))


@examples(100)
@given(packets, st.integers(1, 10))
def test_a_packet_cut_short_is_noticed(packet: Packet, cut: int) -> None:
    with pytest.raises(PacketError):
        WIRE.decode(WIRE.encode(packet)[:-cut])


def test_bounds_are_enforced_when_sending() -> None:
    with pytest.raises(PacketError, match="does not fit"):
        WIRE.encode(Ack(0, 2**32))
    with pytest.raises(PacketError, match="exceed the 1024"):
        WIRE.encode(Pub(0, 0, 0, 0, 0, (1,), 0, 0, bytes(1025)))
    with pytest.raises(PacketError, match="exceeds the 255"):
        WIRE.encode(Sub(0, None, tuple(range(256)), ()))


def test_a_beacon_of_a_usual_node_fits_a_radio_frame() -> None:
    links = tuple(LinkReport(i, 15, i < 8) for i in range(24))
    view = View(0, 3, 7, 40, 12, 198, tuple(range(100, 116, 2)), tuple(range(8)), links)
    assert len(WIRE.encode(Beacon(42, 4711, view))) <= 127


def test_a_node_counts_what_it_refuses_and_lives_on() -> None:
    node = MeshNode(1)
    good = WIRE.encode(Beacon(2, 1, View(2, 0, 2, 0, 1, 1, (0,), (), ())))
    for data in (b"", b"\x10", good[:-1], b"\x20" + good[1:], good + b"x", bytes(1500)):
        assert list(node.receive_bytes(data, 0.0)) == []
    assert node.counters.refused == 6
    node.receive_bytes(good, 0.0)
    assert 2 in node.links.entries


@examples(120)
@given(st.lists(packets, min_size=1, max_size=20))
def test_well_formed_nonsense_never_breaks_a_node(nonsense: list[Packet]) -> None:
    """A hostile neighbour can say anything that parses; the node must stand it."""
    node = MeshNode(1)
    node.subscribe(7, 0.0)
    now = 0.0
    for packet in nonsense:
        now += 0.3
        for sender in (packet.sender, 2):  # 2 also, so that it becomes a known neighbour
            node.receive(packet._replace(sender=sender), now)
        node.tick(now)
    assert len(node.links.entries) <= node.config.max_candidates
    assert node.wake_at > now
