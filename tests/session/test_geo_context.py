from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from places import areas, points
from zonal.errors import AttachmentError
from zonal.geo import Area, Cell, Point, cell_of
from zonal.session import GeoContext

places = st.one_of(st.none(), points, st.builds(cell_of, points, st.integers(0, 30)))


@given(
    st.integers(0, 2**64 - 1),
    st.integers(0, 2**32 - 1),
    places,
    st.one_of(st.none(), areas),
    st.one_of(st.none(), areas),
    st.booleans(),
    st.one_of(st.none(), st.binary(max_size=40)),
)
def test_a_context_reads_back_what_it_wrote(
    origin: int,
    sequence: int,
    place: Point | Cell | None,
    fence: Area | None,
    area: Area | None,
    copies: bool,
    user: bytes | None,
) -> None:
    context = GeoContext(origin, sequence, place, fence, area, copies, user)
    assert GeoContext.from_bytes(context.to_bytes()) == context


@given(st.binary(max_size=200))
def test_any_bytes_are_a_context_or_a_clear_error(data: bytes) -> None:
    try:
        context = GeoContext.from_bytes(data)
    except AttachmentError:
        return
    assert GeoContext.from_bytes(context.to_bytes()) == context


@given(points, st.data())
def test_a_flipped_byte_never_raises_anything_else(point: Point, data: st.DataObject) -> None:
    raw = bytearray(GeoContext(1, 2, point).to_bytes())
    index = data.draw(st.integers(0, len(raw) - 1))
    raw[index] ^= data.draw(st.integers(1, 255))
    try:
        GeoContext.from_bytes(bytes(raw))
    except AttachmentError as error:
        assert str(error)  # noqa: PT017


def test_a_point_takes_thirty_bytes() -> None:
    assert len(GeoContext(1, 2, Point(45, 9)).to_bytes()) == 30


def test_an_unknown_version_is_refused() -> None:
    with pytest.raises(AttachmentError, match="version 9"):
        GeoContext.from_bytes(b"\x09" + GeoContext(1, 2).to_bytes()[1:])
