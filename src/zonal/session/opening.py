"""Opening a session: where we are, how places are written, and what Zenoh must do for us."""

from __future__ import annotations

import math
import re
import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING

import zenoh

from zonal.keys import encoding_named
from zonal.session.position import Position, PositionHandler
from zonal.session.publisher import Stamps
from zonal.session.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zonal.geo import Point


def open(  # noqa: A001  (Zenoh's own name)
    config: zenoh.Config | None = None,
    *,
    position: PositionHandler | Point | None = None,
    lifetime: float = math.inf,
    encoding: str = "s2",
) -> Session:
    """Open a location-aware session; use it as a context manager, so that it is always closed.

    `position` is a fixed `Point`, or a handler that is asked when its last answer is older than
    `lifetime` seconds. `encoding` is the default way of writing places into keys.
    """
    default = encoding_named(encoding)
    place = Position(position, lifetime)
    config = config or zenoh.Config()
    stamps, datagrams = _who_stamps(config), _uses_datagrams(config)
    with _defaults(config, stamps):
        session = zenoh.open(config)
    return Session(session, place, default, stamps=stamps, datagrams=datagrams)


def _who_stamps(config: zenoh.Config) -> Stamps:
    """A client leaves it to its router unless told otherwise; others have a clock of their own."""
    given = config.get_json("timestamping/enabled")
    if given != "null":
        return Stamps.ZENOH if given == "true" else Stamps.NOBODY
    return Stamps.ROUTER if config.get_json("mode") == '"client"' else Stamps.ZENOH


def _uses_datagrams(config: zenoh.Config) -> bool:
    """Whether an endpoint is plain UDP, without Zenoh's own reliability (`?rel=1`)."""
    endpoints = (config.get_json(path) for path in ("listen/endpoints", "connect/endpoints"))
    return any(
        "rel=1" not in endpoint
        for text in endpoints
        for endpoint in re.findall(r'"(udp/[^"]*)"', text)
    )


@contextmanager
def _defaults(config: zenoh.Config, stamps: Stamps) -> Iterator[None]:
    """The clock, and an id of half of Zenoh's own length, which is what stamps carry."""
    defaults = {"id": f'"{secrets.randbits(63) | 1 << 63:x}"'}
    if stamps is Stamps.ZENOH:
        defaults["timestamping/enabled"] = "true"
    ours = {path: value for path, value in defaults.items() if config.get_json(path) == "null"}
    for path, value in ours.items():
        config.insert_json5(path, value)
    try:
        yield
    finally:  # the configuration is the user's, and may open further sessions
        for path in ours:
            config.insert_json5(path, "null")
