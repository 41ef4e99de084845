"""What is sent is bounded: chunks of a key, keys of a message."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from places import areas, points
from zonal.errors import LocationKeyError, TopicError
from zonal.geo import Area, Box, Circle, Grid, Point, cell_of
from zonal.keys import (
    BloomDomain,
    BloomEncoding,
    Role,
    area_keys,
    check_topic,
    encoding_named,
    message_keys,
)

MOST_PUTS, MOST_CHUNKS = 64, 1_024
LONGEST_TOPIC = "/".join(["t"] * 128)
HERE = Point(45.4642, 9.19)
FENCE = Circle(HERE, radius_m=5_000)
FINE = BloomEncoding(BloomDomain("fine", Grid(Box(45, 9, 46, 10), rows=40, columns=41), 0.37))


def test_a_topic_of_too_many_chunks_is_refused_and_told_how_many_there_may_be() -> None:
    assert check_topic(LONGEST_TOPIC) == LONGEST_TOPIC
    with pytest.raises(TopicError, match="at most 128 chunks, not 129"):
        check_topic(f"{LONGEST_TOPIC}/t")


@pytest.mark.parametrize("encoding", [*map(encoding_named, ("s2", "mgrs", "bloom")), FINE])
def test_keys_stay_far_below_what_ends_a_router(encoding: BloomEncoding) -> None:
    sent = message_keys(LONGEST_TOPIC, HERE, FENCE, encoding)
    declared = area_keys(LONGEST_TOPIC, FENCE, encoding)
    assert max(key.count("/") + 1 for key in (*sent, *declared)) <= MOST_CHUNKS


@given(
    st.one_of(points, points.map(lambda p: cell_of(p, 10))), areas, st.sampled_from(["s2", "mgrs"])
)
def test_a_message_is_put_a_bounded_number_of_times(place: Point, fence: Area, name: str) -> None:
    with suppress(LocationKeyError):  # a blurred place that alone has more
        assert 1 <= len(message_keys("t", place, fence, encoding_named(name))) <= MOST_PUTS


def test_areas_beyond_a_bound_share_one_put() -> None:
    json = encoding_named("json")

    def announced(count: int) -> list[str]:
        circles = [Circle(HERE, radius_m=500.0 + n) for n in range(count)]
        return [json.area_expressions(each, Role.SUBSCRIBER)[0] for each in circles]

    assert len(message_keys("t", HERE, None, json, announced(64))) == 64
    assert message_keys("t", HERE, None, json, announced(65)) == ("t/@json/**",)
    assert len(message_keys("t", HERE, FENCE, json, announced(30))) <= MOST_PUTS
