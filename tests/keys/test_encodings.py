"""Every encoding against exact geometry and against Zenoh's own matching."""

from __future__ import annotations

import pytest
import zenoh
from hypothesis import given
from hypothesis import strategies as st

from places import areas, areas_with_points, points
from zonal.errors import EncodingError, LocationKeyError
from zonal.geo import Area, Box, Cell, Grid, Point, cell_intersects, cell_of
from zonal.keys import (
    DEFAULT_MAX_EXPRESSIONS,
    BloomDomain,
    BloomEncoding,
    LocationKey,
    Role,
    encode_area,
    encode_place,
    encoding_named,
    encodings,
    match,
    refine,
    register_encoding,
)

FINE = register_encoding(
    BloomEncoding(BloomDomain("fine", Grid(Box(-90, -180, 90, 180), 18, 36), probability=0.1))
)
NAMES = ["s2", "mgrs", "bloom", "bloom:fine", "json"]
ROUTED = [name for name in NAMES if name != "json"]


def intersect(a: LocationKey, b: LocationKey) -> bool:
    """What a router would say."""
    return zenoh.KeyExpr(f"t/{a}").intersects(zenoh.KeyExpr(f"t/{b}"))


@pytest.mark.parametrize("name", NAMES)
@given(case=areas_with_points())
def test_a_point_in_an_area_always_matches(name: str, case: tuple[Area, Point]) -> None:
    area, point = case
    if not area.contains(point):
        return
    (sent,) = encode_place(point, name)
    declared = encode_area(area, name)
    assert len(declared) <= DEFAULT_MAX_EXPRESSIONS
    assert any(match(sent, key) for key in declared)
    if name in ROUTED:
        assert any(intersect(sent, key) for key in declared)


@pytest.mark.parametrize("name", NAMES)
@given(case=areas_with_points())
def test_after_refinement_the_answer_is_exact(name: str, case: tuple[Area, Point]) -> None:
    area, point = case
    (sent,) = encode_place(point, name)
    passed = any(match(sent, key) for key in encode_area(area, name)) and refine(area, point)
    assert passed == area.contains(point)


@pytest.mark.parametrize("name", ["s2", "mgrs"])
@given(case=areas_with_points())
def test_our_match_and_the_routers_agree(name: str, case: tuple[Area, Point]) -> None:
    area, point = case
    (sent,) = encode_place(point, name)
    for key in encode_area(area, name):
        assert match(sent, key) == intersect(sent, key)


@given(case=areas_with_points())
def test_routers_let_at_least_the_matching_bloom_filters_pass(case: tuple[Area, Point]) -> None:
    area, point = case
    (sent,) = encode_place(point, "bloom:fine")
    for key in encode_area(area, "bloom:fine"):
        assert intersect(sent, key) or not match(sent, key)


@pytest.mark.parametrize("name", NAMES)
@given(a=areas_with_points(), b=areas)
def test_a_get_meets_every_queryable_that_shares_a_point(
    name: str, a: tuple[Area, Point], b: Area
) -> None:
    area, point = a
    if not (area.contains(point) and b.contains(point)):
        return
    asked = encode_area(area, name, role=Role.GET)
    offered = encode_area(b, name, role=Role.QUERYABLE)
    assert any(match(get, queryable) for get in asked for queryable in offered)
    if name in ROUTED:
        assert any(intersect(get, queryable) for get in asked for queryable in offered)


@pytest.mark.parametrize("name", NAMES)
@given(case=areas_with_points(), level=st.integers(3, 20))
def test_a_blurred_place_reaches_every_area_that_holds_the_true_point(
    name: str, case: tuple[Area, Point], level: int
) -> None:
    area, point = case
    cell = cell_of(point, level)
    if not area.contains(point):
        return
    assert refine(area, cell)
    assert any(
        match(sent, key) for sent in encode_place(cell, name) for key in encode_area(area, name)
    )


@given(points, st.integers(2, 20))
def test_a_blurred_key_tells_nothing_finer_than_the_cell(point: Point, level: int) -> None:
    cell = cell_of(point, level)
    (key,) = encode_place(cell, "s2")
    decoded = key.decode()
    assert isinstance(decoded, Cell)
    assert decoded.contains(cell)
    for name in ("s2", "mgrs", "bloom", "json"):
        assert encode_place(cell, name) == encode_place(cell_of(cell.center, level), name)


@pytest.mark.parametrize("name", NAMES)
@given(case=areas_with_points())
def test_a_decoded_key_contains_what_was_encoded(name: str, case: tuple[Area, Point]) -> None:
    area, point = case
    (sent,) = encode_place(point, name)
    place = _decoded(sent)
    if place is not None:
        assert refine(place, point) if isinstance(place, Area) else _within(point, place)
    if name in {"s2", "json"} and area.contains(point):
        decoded = [key.decode() for key in encode_area(area, name)]
        assert any(_within(point, part) for part in decoded)


def _decoded(key: LocationKey) -> object:
    try:
        return key.decode()
    except LocationKeyError as error:
        assert "polar" in str(error)  # noqa: PT017  (drawing polar squares is refused, clearly)
        return None


def _within(point: Point, place: object) -> bool:
    match place:
        case Area():
            return place.contains(point)
        case Cell():
            return place.contains(cell_of(point))
    return place == point


@pytest.mark.parametrize("name", NAMES)
@given(area=areas, point=points)
def test_expressions_are_valid_and_canonical_for_zenoh(name: str, area: Area, point: Point) -> None:
    for key in (*encode_place(point, name), *encode_area(area, name)):
        assert str(zenoh.KeyExpr(f"a/b/{key}")) == f"a/b/{key}"


def test_verbatim_chunks_keep_location_keys_apart_from_plain_wildcards() -> None:
    (key,) = encode_place(Point(45, 9))
    assert not zenoh.KeyExpr("t/**").intersects(zenoh.KeyExpr(f"t/{key}"))
    assert zenoh.KeyExpr("t/@s2/**").intersects(zenoh.KeyExpr(f"t/{key}"))


def test_keys_of_different_encodings_never_match() -> None:
    (sent,) = encode_place(Point(45, 9), "s2")
    assert not any(match(sent, key) for key in encode_area(Box(44, 8, 46, 10), "mgrs"))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (Role.PUBLISHER, Role.QUERYABLE),
        (Role.GET, Role.SUBSCRIBER),
        (Role.SUBSCRIBER, Role.SUBSCRIBER),
    ],
)
def test_roles_that_exchange_nothing_are_refused(a: Role, b: Role) -> None:
    with pytest.raises(LocationKeyError, match="exchange nothing"):
        match(LocationKey("@s2/**", a), LocationKey("@s2/**", b))


def test_pull_subscribers_match_like_subscribers() -> None:
    (sent,) = encode_place(Point(45, 9), "json")
    (key,) = encode_area(Box(44, 8, 46, 10), "json", role=Role.PULL_SUBSCRIBER)
    assert match(sent, key)
    assert "/ps_1_" in str(key)


@pytest.mark.parametrize(
    "expression",
    [
        "@s2/9/1",
        "@s2/1/zz",
        "@s2/x",
        "@mgrs/32T/NR/1",
        "@mgrs/99",
        "@bloom/world/0/1",
        "@json/p_%%%",
        "@json/p_eyJsYXQiOjk1fQ",
        "@json/p",
        "@nobody/1",
        "s2/1",
    ],
)
def test_a_broken_location_key_is_refused_with_a_reason(expression: str) -> None:
    with pytest.raises(LocationKeyError, match=r".{10,}"):
        LocationKey(expression, Role.PUBLISHER).decode()


def test_an_unknown_encoding_names_the_known_ones() -> None:
    with pytest.raises(EncodingError, match="known here: bloom"):
        encoding_named("geohash")
    assert {"s2", "mgrs", "bloom", "json"} <= {encoding.name for encoding in encodings()}


def test_registering_another_encoding_under_a_taken_name_is_refused() -> None:
    other = BloomEncoding(BloomDomain("fine", Grid(Box(0, 0, 1, 1), 2, 2)))
    with pytest.raises(EncodingError, match="already registered"):
        register_encoding(other)
    with pytest.raises(EncodingError, match="protocol"):
        register_encoding("s3")  # type: ignore[arg-type]


def test_a_cell_that_only_holds_the_blurred_place_counts_as_inside() -> None:
    cell = cell_of(Point(45.4642, 9.19), 12)
    corner = Box(*cell.vertices[0], *cell.vertices[0])
    assert cell_intersects(cell, corner)
