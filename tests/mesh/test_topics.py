"""Channels of topics and places: nothing that matches is ever missed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from places import areas, points
from property_examples import examples
from zonal.errors import TopicError
from zonal.geo import Area, Point
from zonal.mesh.topics import channels_for, channels_of, check_pattern, topic_matches

DUOMO = Point(45.4642, 9.1900)
TOPIC = "city/noise"

chunks = st.sampled_from(("a", "b", "ab", "c"))
wild_chunks = st.one_of(chunks, st.sampled_from(("*", "**", "a$*")))


@examples(120)
@given(areas, points)
def test_channels_never_miss_what_the_area_contains(area: Area, point: Point) -> None:
    if area.contains(point):
        assert channels_for(TOPIC, area) & set(channels_of(TOPIC, point))
    assert 1 <= len(channels_for(TOPIC, area)) <= 24


@examples(400)
@given(st.lists(wild_chunks, min_size=1, max_size=5), st.lists(chunks, min_size=1, max_size=5))
def test_channels_never_miss_what_a_wildcard_matches(pattern: list[str], topic: list[str]) -> None:
    wanted, name = check_pattern("/".join(pattern)), "/".join(topic)
    if topic_matches(wanted, name):
        assert channels_for(wanted, None) & set(channels_of(name, None))
    assert len(channels_of(name, DUOMO)) <= 9


@pytest.mark.parametrize(
    "pattern",
    ["*b$*$*", "a/$*$*", "*b", "a*", "***", "$**", "*$*", "a/**b", "city//*", "*/", "a#/*"],
)
def test_patterns_that_are_none_are_refused_before_zenoh_sees_them(pattern: str) -> None:
    with pytest.raises(TopicError, match="is no key expression"):
        check_pattern(pattern)


@examples(300)
@given(st.text("ab*$/", min_size=1, max_size=12))
def test_a_pattern_is_taken_or_refused_and_nothing_else(pattern: str) -> None:
    try:
        check_pattern(pattern)
    except TopicError:
        return
