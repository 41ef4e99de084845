"""A place that a message claims has to be where its key says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from places import points
from zonal.errors import AttachmentError, LocationKeyError
from zonal.geo import Point, cell_of, destination
from zonal.keys import encoding_named, exact_key, location_of, message_keys, read_key
from zonal.session import GeoContext

ENCODINGS = st.sampled_from(["s2", "mgrs"])


def location(place: object, encoding: str) -> str:
    return encoding_named(encoding).place_expressions(place)[0]  # type: ignore[arg-type]


@given(points, ENCODINGS)
def test_own_places_are_read_wherever_they_are(place: Point, encoding: str) -> None:
    for said in (place, Point(round(place.lat, 7), round(place.lon, 7))):
        try:
            expression = location(said, encoding)
        except LocationKeyError:
            continue  # MGRS knows no places there
        data = GeoContext(place=said).to_bytes(expression)
        assert GeoContext.from_bytes(data, expression).place == said


@given(points, st.integers(0, 20), ENCODINGS)
def test_own_cells_are_read_wherever_they_are(place: Point, level: int, encoding: str) -> None:
    cell = cell_of(place, level)
    try:
        keys = message_keys("t", cell, None, encoding_named(encoding))
    except LocationKeyError:
        return
    data = GeoContext(place=cell).to_bytes()
    for key in keys:
        assert GeoContext.from_bytes(data, location_of(key)).place == cell


@given(points, st.floats(0, 360), st.floats(200, 5_000_000), ENCODINGS)
def test_places_elsewhere_are_refused(
    place: Point, bearing: float, metres: float, encoding: str
) -> None:
    other = destination(place, bearing, metres)
    try:
        expression = location(place, encoding)
    except LocationKeyError:
        return
    if encoding == "mgrs" and encoding_named(encoding).middle(expression) is None:
        return
    for said in (other, cell_of(other, 20)):
        with pytest.raises(AttachmentError, match="not where its key says"):
            GeoContext.from_bytes(GeoContext(place=said).to_bytes(), expression)


def test_a_cell_around_its_key_is_refused() -> None:
    milano = Point(45.4642, 9.19)
    for level in (0, 6, 12):
        wide = GeoContext(place=cell_of(milano, level)).to_bytes()
        with pytest.raises(AttachmentError, match="not where its key says"):
            GeoContext.from_bytes(wide, location(cell_of(milano, 16), "s2"))


def test_an_exact_key_is_where_its_cell_is() -> None:
    milano, berlin = Point(45.4642, 9.19), Point(52.52, 13.405)
    key, lie = (exact_key("t", place, 7, encoding_named("s2")) for place in (milano, berlin))
    assert key is not None
    assert lie is not None
    assert read_key(key).read_exact()[0] == milano
    lie = lie.rpartition("/")[2]
    place = read_key(f"{key.rpartition('/')[0]}/{lie}").read_exact()[0]
    assert milano.distance_m(place) < 100
