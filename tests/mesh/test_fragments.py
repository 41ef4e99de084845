"""Messages larger than a packet: cut, put together, and given up when a part is missing."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshes import wait_for_ring
from property_examples import examples
from zonal import mesh
from zonal.errors import MeshError, PacketError
from zonal.mesh.fragments import MAX_MESSAGE, Reassembly, fragments_of, is_fragment
from zonal.mesh.wire import MAX_DATA


@examples(60)
@given(st.integers(MAX_DATA + 1, MAX_MESSAGE), st.randoms(use_true_random=False))
def test_fragments_in_any_order_and_doubled_make_the_message_once(
    size: int, rng: random.Random
) -> None:
    message = rng.randbytes(size)
    parts = list(fragments_of(message, 7))
    assert all(is_fragment(part) and len(part) <= MAX_DATA for part in parts)
    shuffled = rng.sample(parts * 2, 2 * len(parts))
    box = Reassembly()
    assert [m for m in (box.take(1, part, 0.0) for part in shuffled) if m is not None] == [message]
    assert box.octets == 0


def test_a_small_message_is_no_fragment_and_too_large_a_one_is_refused() -> None:
    whole = b"\x01" + bytes(MAX_DATA - 1)
    assert list(fragments_of(whole, 1)) == [whole]
    assert not is_fragment(whole)
    with pytest.raises(MeshError, match=r"of 65537 octets .* exceeds the 65536"):
        next(fragments_of(bytes(MAX_MESSAGE + 1), 1))


def test_a_message_with_a_lost_fragment_is_given_up_in_time() -> None:
    box = Reassembly(patience_s=30)
    first, *rest = fragments_of(bytes(5000), 1)
    for part in rest:
        assert box.take(1, part, 0.0) is None
    assert box.octets > 0
    assert box.take(2, first, 31.0) is None  # another origin's: nothing to do with it
    assert box.given_up == 1
    assert box.take(1, first, 32.0) is None


def test_memory_is_bounded_and_the_oldest_gives_way() -> None:
    box = Reassembly(most_octets=20_000)
    for origin in range(100):
        for part in list(fragments_of(bytes(5000), 1))[1:]:
            box.take(origin, part, float(origin) / 100)
    assert box.octets <= 20_000
    assert box.given_up >= 95


@pytest.mark.parametrize(
    "data", [b"\x02", b"\x02" + bytes(6), b"\x02\0\0\0\0\5\2x", b"\x02\0\0\0\0\0\xffx"]
)
def test_what_is_no_fragment_is_refused(data: bytes) -> None:
    with pytest.raises(PacketError):
        Reassembly().take(1, data, 0.0)


def test_a_message_of_sixty_kilobytes_crosses_the_mesh(line: list[mesh.MeshSession]) -> None:
    heard = line[3].declare_subscriber("picture")
    wait_for_ring(line)
    picture = random.Random(1).randbytes(60_000)
    line[0].put("picture", picture)
    line[0].put("picture", b"small")
    assert {heard.recv(20).payload for _ in range(2)} == {picture, b"small"}


def test_more_fragments_than_may_wait_are_refused() -> None:
    def flood(node: mesh.MeshSession) -> None:
        for _ in range(100):
            node.put("picture", bytes(60_000))

    with (
        mesh.open(5) as node,
        pytest.raises(MeshError, match="fragments would wait, more than 1024"),
    ):
        flood(node)
