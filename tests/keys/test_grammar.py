"""Keys are read as they were written, and what is declared meets what is put."""

from __future__ import annotations

import pytest
import zenoh
from hypothesis import given
from hypothesis import strategies as st

from own_encodings import OWN_ENCODINGS, registered
from places import areas, areas_with_points, points
from property_examples import examples
from zonal.errors import EncodingError, LocationKeyError
from zonal.geo import Area, Box, Cell, Circle, Everywhere, Point, cell_of, cover
from zonal.keys import (
    EVERY_FENCE,
    Encoding,
    KeyParts,
    announced_expression,
    announcement_key,
    announcements_key,
    area_keys,
    cell_keys,
    encoding_key,
    encoding_named,
    exact_key,
    fences_at,
    is_exact,
    is_plain,
    join,
    keys_to_announce,
    location_of,
    message_keys,
    presence_keys,
    queryable_keys,
    read_announced,
    read_key,
    register_encoding,
    topic_of,
)

NAMES = ["s2", "mgrs", "bloom", "json"]
ROUTED = NAMES[:3]
TOPICS = st.lists(
    st.text("ab=*-é", min_size=1, max_size=3).filter(lambda chunk: "*" not in chunk),
    min_size=1,
    max_size=4,
).map("/".join)
DUOMO = Point(45.4642, 9.19)


def meet(some: tuple[str, ...], others: tuple[str, ...]) -> bool:
    return any(zenoh.KeyExpr(a).intersects(zenoh.KeyExpr(b)) for a in some for b in others)


@given(TOPICS, st.none() | points, st.none() | areas, st.sampled_from(ROUTED))
def test_a_messages_key_says_its_topic_place_and_fence(
    topic: str, place: Point | None, fence: Area | None, name: str
) -> None:
    encoding = encoding_named(name)
    for key in message_keys(topic, place, fence, encoding):
        parts = read_key(key)
        assert parts.topic == topic_of(key) == topic
        assert parts.is_plain == (place is None and fence is None)
        assert bool(parts.fence) == (fence is not None)
        assert not parts.exact
        assert not is_exact(key)
        expressions = () if place is None else encoding.place_expressions(place)
        assert parts.location in (expressions or ("",))


@given(TOPICS, points, st.integers(0, 2**64 - 1), st.sampled_from(["s2", "mgrs"]))
def test_an_exact_key_says_place_and_source(
    topic: str, point: Point, origin: int, name: str
) -> None:
    key = exact_key(topic, point, origin, encoding_named(name))
    if key is None:  # polar squares of MGRS have other paths
        assert name == "mgrs"
        return
    parts = read_key(key)
    assert is_exact(key)
    assert (parts.topic, parts.fence) == (topic, "")
    assert parts.location == encoding_named(name).place_expressions(point)[0]
    assert parts.read_exact() == (point, origin)


@pytest.mark.parametrize("name", ["bloom", "json"])
def test_where_keys_are_coarse_or_announced_there_is_no_exact_one(name: str) -> None:
    assert exact_key("t", DUOMO, 1, encoding_named(name)) is None


@pytest.mark.parametrize(
    ("key", "parts"),
    [
        ("a/b", KeyParts("a/b", "", "", "")),
        ("a/=b", KeyParts("a/=b", "", "", "")),
        ("a/@s2/1/2", KeyParts("a", "@s2/1/2", "", "")),
        ("a/@s2/1/2/=x", KeyParts("a", "@s2/1/2", "=x", "")),
        ("a/@s2/1/@to/2/**", KeyParts("a", "@s2/1", "", "2/**")),
        ("a/@s2/1/=x/@to/2/**", KeyParts("a", "@s2/1", "=x", "2/**")),
        ("a/@to/**", KeyParts("a", "", "", "**")),
        ("a/@s2/**/@to/**", KeyParts("a", "@s2/**", "", "**")),
        ("a/@nobody", KeyParts("a", "@nobody", "", "")),
        ("@/x/router", KeyParts("@/x/router", "", "", "")),
    ],
)
def test_reading_a_key(key: str, parts: KeyParts) -> None:
    assert read_key(key) == parts
    assert topic_of(key) == parts.topic
    assert is_plain(key) == parts.is_plain
    assert is_exact(key) == (bool(parts.exact) and not parts.fence)
    assert location_of(key) == "/".join(filter(None, (parts.location, parts.exact)))


@pytest.mark.parametrize("name", ROUTED)
@given(case=areas_with_points(), fence=st.none() | areas, most=st.sampled_from([8, 1]))
@examples(50)
def test_what_is_declared_meets_what_is_put(
    name: str, case: tuple[Area, Point], fence: Area | None, most: int
) -> None:
    area, point = case
    encoding = encoding_named(name)
    if not area.contains(point):
        return
    put = message_keys("t/x", point, None, encoding)
    assert meet(put, area_keys("t/*", area, encoding))
    assert meet(put, cell_keys("t/*", cover(area), encoding))
    assert meet(put, (encoding_key("t/*", encoding),))
    assert meet(put, presence_keys("t/*", area, [encoding]))
    assert meet(put, presence_keys("t/*", None, [encoding]))
    if fence is None or not fence.contains(point):
        return
    fenced = message_keys("t/x", point, fence, encoding, fence_cells=most)
    assert len(fenced) <= most
    assert not meet(fenced, put)
    for fences in ((EVERY_FENCE,), fences_at([cell_of(point)])):
        assert meet(fenced, cell_keys("t/*", cover(area), encoding, fences))
        assert meet(fenced, (encoding_key("t/*", encoding, fences[0]),))
        unplaced = message_keys("t/x", None, fence, encoding, fence_cells=most)
        assert meet(unplaced, (join("t/*", fences[0]),))


@pytest.mark.parametrize("name", ROUTED)
def test_the_whole_globe_and_no_cell_at_all(name: str) -> None:
    encoding = encoding_named(name)
    assert cell_keys("t", (), encoding) == ()
    assert cell_keys("t", cover(Everywhere()), encoding) == (f"t/@{name}/**",) or name == "bloom"


def test_cells_that_keys_cannot_name_are_widened() -> None:
    s2 = encoding_named("s2")
    leaf = cell_of(DUOMO)
    assert cell_keys("t", [leaf, cell_of(DUOMO, 26)], s2) == cell_keys("t", [leaf.parent(20)], s2)
    assert fences_at([leaf]) == fences_at([leaf.parent(20)])


def test_only_announcing_encodings_have_something_to_announce() -> None:
    area = Circle(DUOMO, radius_m=500)
    kinds = [encoding_named(name) for name in NAMES]
    keys = queryable_keys("t", area, kinds)
    (announced,) = keys_to_announce([*keys, *(join(key, EVERY_FENCE) for key in keys)])
    assert read_key(announced).location.startswith("@json/q_2_")
    token = announcement_key(announced, "abc-1")
    watched = announcements_key("t", encoding_named("json"))
    assert zenoh.KeyExpr(watched).intersects(zenoh.KeyExpr(token))
    expression = announced_expression(token)
    assert expression == read_key(announced).location
    read = read_announced(expression, encoding_named("json"))
    assert (read.area, read.hears, read.answers) == (area, False, True)


@pytest.mark.parametrize("expression", ["@json/x_1_e30", "@json/p_e30", "@json/", "@json/s_2_%"])
def test_other_announcements_are_refused(expression: str) -> None:
    with pytest.raises(LocationKeyError, match="announces no area"):
        read_announced(expression, encoding_named("json"))


def _is_on_the_rim(point: Point) -> bool:
    """Places that have several names: such simple encodings know only one of them."""
    return abs(point.lon) == 180.0 or abs(point.lat) == 90.0


@pytest.mark.parametrize("encoding", OWN_ENCODINGS, ids=lambda encoding: encoding.name)
@given(case=areas_with_points())
@examples(50)
def test_own_encodings_keep_the_promise(encoding: Encoding, case: tuple[Area, Point]) -> None:
    area, point = case
    if encoding.announces_areas or not area.contains(point) or _is_on_the_rim(point):
        return
    with registered(encoding):
        put = message_keys("t", point, None, encoding)
        assert meet(put, area_keys("t", area, encoding))
        assert meet(put, cell_keys("t", cover(area), encoding))


def test_an_encoding_without_cells_says_so() -> None:
    with pytest.raises(EncodingError, match="no expression for the S2 cell"):
        encoding_named("mgrs").cell_expression(Cell.from_face(2))


def test_a_half_written_encoding_is_refused() -> None:
    class Half(Encoding):
        name = "half"
        prefix = "@half"

    with pytest.raises(TypeError, match="abstract"):
        Half()  # type: ignore[abstract]


@pytest.mark.parametrize("prefix", ["@to", "@by/x", "@adv", "half", "@"])
def test_the_grammars_own_chunks_are_no_prefix(prefix: str) -> None:
    class Taking(type(encoding_named("mgrs"))):  # type: ignore[misc]
        pass

    with pytest.raises(EncodingError, match="must start with a verbatim chunk"):
        register_encoding(Taking(name="taking", prefix=prefix))


def test_box_and_everywhere_need_no_announcement() -> None:
    assert keys_to_announce(area_keys("t", Box(45, 9, 46, 10), encoding_named("mgrs"))) == set()
