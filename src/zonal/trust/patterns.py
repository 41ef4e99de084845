"""Topics in rules, in MQTT's or in Zenoh's words: which patterns cover or meet which.

`+` and `*` stand for one level, `#` and `**` for any number of levels (none, too), and `a$*b` for a
level that begins and ends so. A wildcard in the first level never stands for a level that begins
with `$`: these are a broker's own (MQTT 5, 4.7.2).
"""

from __future__ import annotations

import re
from functools import lru_cache

from zonal.errors import TopicError
from zonal.index import sequences_meet

ONE, MANY = "*", "**"
FREE = "$*"
_SAME = {"+": ONE, "#": MANY}
_WIDENING = re.compile(r"[+#/*$?@]")


def check_pattern(pattern: str) -> str:
    """The pattern itself, if it can be one; a `TopicError` says why not."""
    levels = pattern.split("/")
    if not pattern:
        raise TopicError("a topic is not empty")
    for number, level in enumerate(levels):
        if "#" in level and (level != "#" or number + 1 < len(levels)):
            raise TopicError(f"{pattern!r}: '#' stands alone, as the last level")
        if "+" in level and level != "+":
            raise TopicError(f"{pattern!r}: '+' stands alone in its level")
        if "*" in level.replace(FREE, "") and level not in {ONE, MANY}:
            raise TopicError(f"{pattern!r}: '*' stands alone in its level, or is written '$*'")
    return pattern


def fill(pattern: str, user: str | None, client: str, *, widens: bool = False) -> str | None:
    """A pattern with `%u` (user) and `%c` (client identifier) replaced by their names.

    None, which means that it stands for nothing, where a name is missing or, unless `widens`,
    would make the pattern stand for more: one with a wildcard or a level separator.
    """
    if "%" not in pattern:
        return pattern
    for mark, value in (("%u", user or ""), ("%c", client)):
        if mark in pattern:
            if not value or (_WIDENING.search(value) and not widens):
                return None
            pattern = pattern.replace(mark, value)
    return pattern


_KEPT, _LONGEST_KEPT = 1 << 14, 512


def covers(pattern: str, asked: str) -> bool:
    """Whether a pattern certainly stands for every topic that another, or a topic, stands for."""
    return (_covering if len(asked) <= _LONGEST_KEPT else _covering.__wrapped__)(pattern, asked)


def meets(pattern: str, asked: str) -> bool:
    """Whether there may be a topic that both stand for."""
    return (_meeting if len(asked) <= _LONGEST_KEPT else _meeting.__wrapped__)(pattern, asked)


@lru_cache(_KEPT)
def _covering(pattern: str, asked: str) -> bool:
    outer, inner = _levels(pattern), _levels(asked)
    if _is_wild_before_own(outer, inner) or (inner[0] in {ONE, MANY} and _is_own(outer)):
        return False
    return _covers(outer, inner)


@lru_cache(_KEPT)
def _meeting(pattern: str, asked: str) -> bool:
    a, b = _levels(pattern), _levels(asked)
    return (
        not _is_wild_before_own(a, b)
        and not _is_wild_before_own(b, a)
        and sequences_meet(a, b, MANY, _levels_meet)
    )


def _levels(pattern: str) -> tuple[str, ...]:
    return tuple(_SAME.get(level, level) for level in pattern.split("/"))


def _is_own(levels: tuple[str, ...]) -> bool:
    return levels[0].startswith("$") and not levels[0].startswith(FREE)


def _is_wild_before_own(wild: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return _is_own(other) and ("*" in wild[0])


def _covers(outer: tuple[str, ...], inner: tuple[str, ...]) -> bool:
    """Reachability: the set of positions in `outer` that all levels so far lead to."""
    reached = _passing(outer, {0})
    for level in inner:
        following = set()
        for at in reached:
            if at < len(outer) and outer[at] == MANY:
                following.add(at)
            elif at < len(outer) and level != MANY and _level_covers(outer[at], level):
                following.add(at + 1)
        reached = _passing(outer, following)
        if not reached:
            return False
    return len(outer) in reached


def _passing(levels: tuple[str, ...], reached: set[int]) -> set[int]:
    """With the positions behind every `**`, which may stand for no level."""
    for at in sorted(reached):
        end = at
        while end < len(levels) and levels[end] == MANY:
            end += 1
            reached.add(end)
    return reached


def _level_covers(outer: str, inner: str) -> bool:
    if outer in {ONE, inner}:
        return True
    return FREE in outer and "*" not in inner and _fits(outer, inner)


def _levels_meet(a: str, b: str) -> bool:
    """Two levels with free parts are taken to meet: rules that deny are on the safe side."""
    if "*" in a and "*" in b:
        return True
    return _level_covers(a, b) or _level_covers(b, a)


@lru_cache(maxsize=4096)
def _expression(level: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, level.split(FREE))), re.DOTALL)


def _fits(level: str, text: str) -> bool:
    return _expression(level).fullmatch(text) is not None
