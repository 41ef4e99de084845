"""Which chunks Zenoh's wildcards match: `*`, and `$*` inside a chunk."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FREE = "$*"
_NOT_IN_A_KEY = frozenset("$*?#")


def is_open(chunk: str) -> bool:
    """Whether `*` and `**` match this chunk of a topic.

    Verbatim chunks (`@…`) match themselves alone. What no Zenoh key can contain (an empty
    chunk, `$SYS`; MQTT topics can) is nothing that a key expression speaks of.
    """
    return bool(chunk) and chunk[0] != "@" and _NOT_IN_A_KEY.isdisjoint(chunk)


def is_wild(chunk: str) -> bool:
    """Whether this chunk of a key expression matches more than itself."""
    return "*" in chunk and chunk[0] != "@"


def fits(pattern: str, chunk: str) -> bool:
    """Whether a pattern such as `a$*b` matches a chunk of a topic; `$*` may be empty."""
    if not is_open(chunk):
        return False
    head, *middle = pattern.split(FREE)
    tail = middle.pop()
    if len(chunk) < len(head) + len(tail) or not chunk.startswith(head):
        return False
    if not chunk.endswith(tail):
        return False
    at, end = len(head), len(chunk) - len(tail)
    for part in middle:
        found = chunk.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def meet(a: str, b: str) -> bool:
    """Whether two chunks of key expressions have a chunk in common (neither is `**`)."""
    if not is_wild(a):
        return covers(b, a)
    if not is_wild(b):
        return covers(a, b)
    return a == b or "*" in (a, b) or sequences_meet(_symbols(a), _symbols(b), FREE, operator.eq)


def covers(expression: str, chunk: str) -> bool:
    """Whether a chunk of a key expression matches a chunk that is only text."""
    if not is_wild(expression):
        return expression == chunk
    return is_open(chunk) if expression == "*" else fits(expression, chunk)


def _symbols(pattern: str) -> tuple[str, ...]:
    """The characters of a pattern, with `$*` as one symbol."""
    symbols: list[str] = []
    for number, part in enumerate(pattern.split(FREE)):
        if number:
            symbols.append(FREE)
        symbols.extend(part)
    return tuple(symbols)


def sequences_meet(
    a: Sequence[str], b: Sequence[str], free: str, meet: Callable[[str, str], bool]
) -> bool:
    """Whether two patterns have a sequence in common: reachability over pairs of positions.

    Args:
        a: a pattern, symbol by symbol.
        b: another.
        free: the symbol that stands for any number of others (none, too).
        meet: whether two symbols, neither of them `free`, stand for a common one.
    """
    todo = [(0, 0)]
    seen = set(todo)
    while todo:
        i, j = todo.pop()
        if i == len(a) and j == len(b):
            return True
        here = a[i] if i < len(a) else None
        there = b[j] if j < len(b) else None
        pairs: list[tuple[int, int]] = []
        if here == free:
            pairs += [(i + 1, j)] + ([(i, j + 1)] if there is not None else [])
        if there == free:
            pairs += [(i, j + 1)] + ([(i + 1, j)] if here is not None else [])
        if (
            here is not None
            and there is not None
            and free not in (here, there)
            and meet(here, there)
        ):
            pairs.append((i + 1, j + 1))
        todo += (pair for pair in pairs if pair not in seen)
        seen.update(pairs)
    return False
