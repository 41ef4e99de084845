"""Topics and places as channels: what a publication is sent on, and what a subscriber wants.

A channel is a 32-bit number: the hash of a topic, or of a topic and a cell of one of a few levels.
A publication goes out once, on the topic's channel and on those of the cells that contain its
location; a subscriber with an area wants the cells that cover it. Cells are coarse and hashes can
collide, so the receiving edge checks topic and place exactly. Nothing is ever missed.
"""

from __future__ import annotations

from hashlib import blake2s
from typing import TYPE_CHECKING

from zonal.errors import TopicError
from zonal.geo import cell_of, cover

if TYPE_CHECKING:
    from zonal.geo import Area, Cell, Point

LEVELS = (8, 12, 16, 20)
"""S2 levels of cells that are channels: about 30 km, 2 km, 120 m and 8 m wide."""
MAX_CELLS = 8
MAX_TOPIC = 200


def check_topic(topic: str) -> str:
    """The topic, if it can be one: no wildcards, because channels match exactly."""
    if not topic or len(topic.encode()) > MAX_TOPIC:
        raise TopicError(f"a mesh topic has 1 to {MAX_TOPIC} octets, {topic!r} does not")
    if "*" in topic or "$" in topic:
        raise TopicError(f"{topic!r} has a wildcard: a mesh topic names one channel exactly")
    return topic


def _channel(topic: str, cell: Cell | None = None) -> int:
    name = topic.encode() + b"\0" + (cell.id.to_bytes(8, "little") if cell else b"")
    return int.from_bytes(blake2s(name, digest_size=4).digest(), "little")


def channels_of(topic: str, location: Point | None) -> tuple[int, ...]:
    """The channels of a publication: the topic's own, and one per level where it has a place."""
    channels = [_channel(topic)]
    if location is not None:
        finest = cell_of(location, LEVELS[-1])
        channels += [_channel(topic, finest.parent(level)) for level in LEVELS]
    return tuple(channels)


def channels_for(topic: str, area: Area | None) -> frozenset[int]:
    """The channels of a subscriber: few cells that contain the area, or the whole topic."""
    if area is None:
        return frozenset((_channel(topic),))
    found = set()
    for cell in cover(area, MAX_CELLS):
        fitting = [level for level in LEVELS if level <= cell.level]
        if not fitting:  # as large as a country: the whole topic is not much more
            return frozenset((_channel(topic),))
        found.add(_channel(topic, cell.parent(fitting[-1])))
    return frozenset(found)
