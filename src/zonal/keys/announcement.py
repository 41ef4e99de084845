"""Announced areas in keys: `<key of the area>/@by/<device>`, as a liveliness token.

Devices with an area announce it where routers cannot match it; whoever sends watches the tokens of
a topic and so knows which areas there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from zonal.errors import LocationKeyError
from zonal.geo import Area
from zonal.keys.encoding import Encoding, Role
from zonal.keys.grammar import encoding_key, join, read_key
from zonal.keys.marks import ANNOUNCED_CHUNK
from zonal.keys.registry import encoding_of_expression

if TYPE_CHECKING:
    from collections.abc import Iterable

_BY = f"/{ANNOUNCED_CHUNK}/"
_ROLES = (Role.SUBSCRIBER, Role.PULL_SUBSCRIBER, Role.QUERYABLE)


class AnnouncedArea(NamedTuple):
    """An area that a device announced."""

    expression: str
    """Where to send what is for it."""
    area: Area
    hears: bool
    """Whether it is, or may be, that of a subscriber."""
    answers: bool
    """Whether it is, or may be, that of a queryable; an encoding need not tell them apart."""


def keys_to_announce(keys: Iterable[str]) -> frozenset[str]:
    """Those of a device's declared keys that senders have to be told of.

    They are the keys of areas in encodings that announce areas. Whoever knows the area appends the
    fence itself, so the keys of fenced messages are not among them.
    """
    parts = ((key, read_key(key)) for key in keys)
    return frozenset(
        key
        for key, (_, location, _, fence) in parts
        if location and not fence and encoding_of_expression(location).announces_areas
    )


def announcement_key(key: str, device: str) -> str:
    """The token by which a device announces one of its keys; its name is one chunk."""
    return join(key, ANNOUNCED_CHUNK, device)


def announcements_key(topic: str, encoding: Encoding) -> str:
    """What is watched to know all announced areas of a topic in an encoding."""
    return join(encoding_key(topic, encoding), ANNOUNCED_CHUNK, "*")


def announced_expression(token: str) -> str:
    """The location expression that a token announces."""
    return read_key(token.partition(_BY)[0]).location


def read_announced(expression: str, encoding: Encoding) -> AnnouncedArea:
    """The area behind an announced expression; a `LocationKeyError` where it has none."""
    areas: dict[Role, Area] = {}
    failure = None
    for role in _ROLES:
        try:
            decoded = encoding.decode(expression, role)
        except LocationKeyError as error:
            failure = failure or error
            continue
        if isinstance(decoded, Area):
            areas[role] = decoded
    if not areas:
        reason = f": {failure}" if failure else ""
        raise LocationKeyError(f"{expression!r} announces no area{reason}") from failure
    return AnnouncedArea(
        expression,
        next(iter(areas.values())),
        hears=Role.SUBSCRIBER in areas or Role.PULL_SUBSCRIBER in areas,
        answers=Role.QUERYABLE in areas,
    )
