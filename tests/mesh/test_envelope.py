"""The data of a publication: what goes in comes out, and other bytes are refused."""

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from places import points
from property_examples import examples
from zonal.errors import PacketError
from zonal.geo import Area, Box, Point
from zonal.mesh.envelope import MeshEnvelope


@examples(200)
@given(
    st.text("abc/é", min_size=1, max_size=20), st.binary(max_size=100), st.none() | points,
    st.none() | st.just(Box(45, 9, 46, 10)), st.booleans(),
)  # fmt: skip
def test_envelope_round_trip(
    topic: str, payload: bytes, place: Point | None, fence: Area | None, gate: bool
) -> None:
    message = MeshEnvelope(topic, payload, place, fence, gate)
    assert MeshEnvelope.from_bytes(message.to_bytes()) == message


@examples(300)
@given(st.binary(max_size=60))
def test_envelope_of_any_bytes_is_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(PacketError):
        assert MeshEnvelope.from_bytes(data).to_bytes()[:2] == data[:2]
