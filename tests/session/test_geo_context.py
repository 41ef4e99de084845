from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from places import areas, points
from zonal.errors import AttachmentError
from zonal.geo import Area, Cell, Point, cell_of
from zonal.keys import encode_place
from zonal.session import GeoContext
from zonal.session.geo_context import leb128, numbers_in, source_of

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


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1), points, st.booleans())
def test_a_known_point_reads_back_with_its_source(
    origin: int, sequence: int, place: Point, stamped: bool
) -> None:
    context = GeoContext(origin, sequence, place)
    data = context.to_bytes(stamped=stamped)
    assert GeoContext(*source_of(data, origin), place) == context
    with pytest.raises(AttachmentError, match="too short"):
        source_of(data[:1], origin)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 9), points, st.booleans())
def test_numbers_of_many_are_those_of_each(
    origin: int, first: int, place: Point, stamped: bool
) -> None:
    """Numbers that are not equally long are left to `source_of`, and whatever looks different."""
    data = [GeoContext(origin, first + more, place).to_bytes(stamped=stamped) for more in range(9)]
    numbers = numbers_in(data, origin)
    if stamped and len(set(map(len, data))) == 1:
        assert numbers == [source_of(one, origin)[1] for one in data]
    else:
        assert numbers is None
    assert numbers_in(data, origin ^ 1) is None or not stamped
    other = GeoContext(origin, first, place, copies=True).to_bytes(stamped=stamped)
    assert numbers_in([*data, other], origin) is None


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


@given(points, st.sampled_from(["s2", "mgrs"]), st.integers(0, 2**32 - 1))
def test_what_the_key_says_is_not_said_again(point: Point, name: str, sequence: int) -> None:
    expression = str(encode_place(point, name)[0])
    context = GeoContext(77, sequence, point)
    data = context.to_bytes(expression, stamped=True)
    assert GeoContext.from_bytes(data, expression, 77) == context
    # Another stamp than the sender's (a router replaced it): the source is unknown, not wrong.
    assert GeoContext.from_bytes(data, expression, 78) == GeoContext(None, 0, point)


def test_a_gps_position_takes_seven_bytes_with_a_stamp_and_a_cell_in_the_key() -> None:
    point = Point(45.4642, 9.19)
    (key,) = encode_place(point)
    assert len(GeoContext(77, 5, point).to_bytes(str(key), stamped=True)) == 7
    assert len(GeoContext(77, 5, point).to_bytes()) == 18


@given(st.integers(0, 2**32 - 1))
def test_numbers_are_written_seven_bits_a_byte(number: int) -> None:
    data = leb128(number)
    assert sum((byte & 0x7F) << 7 * index for index, byte in enumerate(data)) == number
    assert [byte >= 0x80 for byte in data] == [True] * (len(data) - 1) + [False]


def test_an_unknown_version_is_refused() -> None:
    data = bytearray(GeoContext(1, 2).to_bytes())
    data[0] |= 0xC0
    with pytest.raises(AttachmentError, match="version 3"):
        GeoContext.from_bytes(bytes(data))
