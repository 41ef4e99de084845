from __future__ import annotations

import pytest
import zenoh
from hypothesis import given
from hypothesis import strategies as st

from zonal.errors import TopicError
from zonal.trust.patterns import check_pattern, covers, meets

_LEVELS = st.sampled_from(["a", "b", "ab", "*", "**", "a$*", "$*b"])


def _canonical(levels: list[str]) -> str:
    return str(zenoh.KeyExpr.autocanonize("/".join(levels)))


_EXPRESSIONS = st.lists(_LEVELS, min_size=1, max_size=5).map(_canonical)


@given(_EXPRESSIONS, _EXPRESSIONS)
def test_patterns_meet_and_cover_at_least_as_zenoh_says(a: str, b: str) -> None:
    ours, zenohs = zenoh.KeyExpr(a), zenoh.KeyExpr(b)
    if ours.intersects(zenohs):
        assert meets(a, b)
    if covers(a, b):
        assert ours.includes(zenohs)
    if "$" not in a + b and not b.startswith("**") and "**" not in b:
        assert covers(a, b) == ours.includes(zenohs)
        assert meets(a, b) == ours.intersects(zenohs)


@pytest.mark.parametrize(
    ("pattern", "topic", "is_covered"),
    [
        ("city/#", "city", True), ("city/#", "city/a/b", True), ("city/+", "city", False),
        ("+/air", "milano/air", True), ("#", "$SYS/a", False), ("$SYS/#", "$SYS/a", True),
        ("city/#", "city/**", True), ("city/**", "city/#", True), ("city/*", "city/+", True),
        ("+", "$SYS", False), ("a/+/#", "a", False), ("**", "a/**/b", True),
    ],
)  # fmt: skip
def test_both_languages_mean_the_same(pattern: str, topic: str, *, is_covered: bool) -> None:
    assert covers(pattern, topic) is is_covered


@pytest.mark.parametrize("wrong", ["", "a/#/b", "a+/b", "a/b*", "#a"])
def test_what_is_no_pattern_is_refused(wrong: str) -> None:
    with pytest.raises(TopicError):
        check_pattern(wrong)
