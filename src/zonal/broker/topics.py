"""Topic names and topic filters: which are valid, which cover which (MQTT 5, section 4.7)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

SHARE = "$share/"
GEO = "$geo/"
OWN_PREFIXES = ("$SYS/", "$zonal/", GEO)
"""What the broker's own topics begin with; clients' messages are not distributed there."""

LONGEST_REMEMBERED = 512
CONTROL = re.compile("[\0-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff]")
"""Control characters and non-characters."""


def valid_topic(topic: str, maximum_levels: int) -> bool:
    """Whether a message can be published under this name; of long ones no answer is kept."""
    if len(topic) <= LONGEST_REMEMBERED:
        return _valid_topic(topic, maximum_levels)
    return _valid_topic.__wrapped__(topic, maximum_levels)


@lru_cache(maxsize=8192)
def _valid_topic(topic: str, maximum_levels: int) -> bool:
    return (
        bool(topic)
        and "+" not in topic
        and "#" not in topic
        and not has_control(topic)
        and topic.count("/") < maximum_levels
    )


def has_control(text: str) -> bool:
    """Whether a text has characters that MQTT allows brokers to refuse, as others do (1.5.4)."""
    return CONTROL.search(text) is not None


def is_literal(topic_filter: str) -> bool:
    """Whether a filter matches one topic alone."""
    return "+" not in topic_filter and "#" not in topic_filter


def valid_filter(pattern: str, maximum_levels: int) -> bool:
    """Whether wildcards stand alone in their level, and `#` last."""
    if not pattern or has_control(pattern) or pattern.count("/") >= maximum_levels:
        return False
    if is_literal(pattern):
        return True
    levels = pattern.split("/")
    last = len(levels) - 1
    for index, level in enumerate(levels):
        if "#" in level and (level != "#" or index != last):
            return False
        if "+" in level and level != "+":
            return False
    return True


class Pattern(NamedTuple):
    """What a SUBSCRIBE names: a topic filter, and perhaps the group that shares it and a place."""

    filter: str
    group: str | None
    place: str | None = None


def parse_pattern(pattern: str, maximum_levels: int) -> Pattern | None:
    """The parts of `filter`, `$geo/place/filter` or either behind `$share/group/`.

    None where it is not valid (4.8.2).
    """
    group: str | None = None
    place: str | None = None
    if pattern.startswith(SHARE):
        group, _, pattern = pattern[len(SHARE) :].partition("/")
        if not group or "+" in group or "#" in group:
            return None
    if pattern.startswith(GEO):
        place, _, pattern = pattern[len(GEO) :].partition("/")
        if not place or "+" in place or "#" in place:
            return None
    return Pattern(pattern, group, place) if valid_filter(pattern, maximum_levels) else None


def matches(topic_filter: str, topic: str) -> bool:
    """Whether one filter matches one topic; wildcards at the start never match `$…` (4.7.2)."""
    if topic[:1] == "$" and topic_filter[:1] in {"+", "#"}:
        return False
    return covers(topic_filter, topic)


def covers(outer: str, inner: str) -> bool:
    """Whether every topic that the filter `inner` matches is one that `outer` matches."""
    wanted = outer.split("/")
    given = inner.split("/")
    for index, level in enumerate(wanted):
        if level == "#":
            return True
        if index >= len(given) or given[index] == "#":
            return False
        if level not in {"+", given[index]}:
            return False
    return len(wanted) == len(given)
