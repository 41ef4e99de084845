"""Topics and places as channels: what a publication is sent on, and what a subscriber wants.

A channel is a 32-bit number: the hash of a topic, or of a topic and a cell of one of a few levels.
A publication goes out once, on the topic's channel and on those of the cells that contain its
location; a subscriber with an area wants the cells that cover it. Cells are coarse and hashes can
collide, so the receiving edge checks topic and place exactly. Nothing is ever missed.

Wildcards are Zenoh's. A publication also goes out on a channel for each beginning of its topic, up
to three chunks; a subscriber to `city/*/noise` wants the one of `city`, wherever its area is.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2s
from typing import TYPE_CHECKING

import zenoh

from zonal.errors import TopicError
from zonal.geo import cell_of, cover

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zonal.geo import Area, Cell, Point

LEVELS = (8, 12, 16, 20)
"""S2 levels of cells that are channels: about 30 km, 2 km, 120 m and 8 m wide."""
MAX_CELLS = 8
MAX_TOPIC = 200
"""Octets of a topic."""
PREFIX_CHUNKS = 3
"""Chunks of a topic's beginnings that are channels; longer ones are cut, and match more."""
_CHUNK = re.compile(r"\*\*?|(?:[^*$#?/]|\$\*(?!\$\*))+")


def check_topic(topic: str) -> str:
    """The topic to publish on, if it can be one: it names one thing, without wildcards."""
    if "*" in topic or "$" in topic:
        raise TopicError(
            f"{topic!r} has a wildcard: those are for subscribers, a put names one key"
        )
    return check_pattern(topic)


def check_pattern(pattern: str) -> str:
    """The topic to subscribe to, if it can be one: a key expression, with wildcards or without."""
    if not pattern or len(pattern.encode()) > MAX_TOPIC:
        raise TopicError(f"a mesh topic has 1 to {MAX_TOPIC} octets, {pattern!r} does not")
    if "*" not in pattern:
        return pattern
    for chunk in pattern.split("/"):  # before Zenoh sees it, which panics at some of them
        if not _CHUNK.fullmatch(chunk):
            raise TopicError(
                f"{pattern!r} is no key expression: {chunk!r} is neither *, nor **, nor text in "
                "which $* stands for any letters"
            )
    try:
        return str(zenoh.KeyExpr.autocanonize(pattern))
    except zenoh.ZError as error:
        raise TopicError(f"{pattern!r} is no key expression: {error}") from error


@lru_cache(maxsize=1024)
def topic_matches(pattern: str, topic: str) -> bool:
    """Whether a subscriber's topic means this one: equal, or by Zenoh's wildcards."""
    if pattern == topic or "*" not in pattern:
        return pattern == topic
    try:
        return bool(zenoh.KeyExpr(pattern).includes(zenoh.KeyExpr(topic)))
    except zenoh.ZError:
        return False  # a topic that is no key expression is nothing that a wildcard speaks of


def _hash(name: bytes) -> int:
    return int.from_bytes(blake2s(name, digest_size=4).digest(), "little")


def _channel(topic: str, cell: Cell | None = None) -> int:
    return _hash(topic.encode() + b"\0" + (cell.id.to_bytes(8, "little") if cell else b""))


def _beginning(chunks: Sequence[str]) -> int:
    return _hash("/".join(chunks).encode() + b"\1")


def channels_of(topic: str, location: Point | None) -> tuple[int, ...]:
    """The channels of a publication: the topic's own, its beginnings', and those of its place."""
    chunks = topic.split("/")[:PREFIX_CHUNKS]
    channels = [_channel(topic), *(_beginning(chunks[:n]) for n in range(len(chunks) + 1))]
    if location is not None:
        finest = cell_of(location, LEVELS[-1])
        channels += [_channel(topic, finest.parent(level)) for level in LEVELS]
    return tuple(channels)


def channels_for(topic: str, area: Area | None) -> frozenset[int]:
    """The channels of a subscriber: few cells that contain the area, or the whole topic."""
    if "*" in topic:
        chunks = topic.split("/")
        plain = next(n for n, chunk in enumerate(chunks) if "*" in chunk)
        return frozenset((_beginning(chunks[: min(plain, PREFIX_CHUNKS)]),))
    if area is None:
        return frozenset((_channel(topic),))
    found = set()
    for cell in cover(area, MAX_CELLS, step=2):
        fitting = [level for level in LEVELS if level <= cell.level]
        if not fitting:  # as large as a country: the whole topic is not much more
            return frozenset((_channel(topic),))
        found.add(_channel(topic, cell.parent(fitting[-1])))
    return frozenset(found)
