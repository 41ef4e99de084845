"""Topics: refused in words that say what is right, and exactly where Zenoh refuses them."""

from __future__ import annotations

import pytest
import zenoh
from hypothesis import given
from hypothesis import strategies as st

from zonal.errors import TopicError
from zonal.keys import check_topic


@pytest.mark.parametrize(
    ("topic", "says"),
    [
        ("a//b", "empty chunk"),
        ("/a", "neither begins nor ends with '/'"),
        ("a/", "neither begins nor ends with '/'"),
        ("a/#", r"MQTT's; write '\*\*'"),
        ("city/+/a", r"MQTT's; write '\*' for one chunk"),
        ("a?b", "cannot be part"),
        ("a#b", "cannot be part"),
        ("a*b", r"a\$\*b"),
        ("a/$*/b", r"written '\*'"),
        ("a$b", "only used before"),
        ("a$*$*b", "not repeated"),
        ("a/**/**", r"written"),
        ("**/*", r"\*/\*\*"),
        ("@/**", "session.zenoh"),
        ("a/@s2/b", "kept for location keys"),
        ("", "non-empty"),
        (None, "non-empty"),
    ],
)
def test_a_wrong_topic_is_told_what_is_right(topic: str, says: str) -> None:
    with pytest.raises(TopicError, match=says):
        check_topic(topic)


@pytest.mark.parametrize("topic", ["a", "C++/x", "a/**", "*/**", "$*b$*/é", "a$*b", "a@b", "a b"])
def test_a_right_topic_stays_as_it_is(topic: str) -> None:
    assert check_topic(topic) == topic


@given(st.text("ab/*$#?+", max_size=12))
def test_refused_where_zenoh_refuses(topic: str) -> None:
    """And besides `+` as a chunk, which Zenoh takes for an ordinary letter."""
    try:
        zenoh.KeyExpr(topic)
    except zenoh.ZError:
        valid = False
    else:
        valid = "+" not in topic.split("/")
    if valid:
        assert check_topic(topic) == topic
    else:
        with pytest.raises(TopicError):
            check_topic(topic)
