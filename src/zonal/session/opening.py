"""Opening a session: where we are, how places are written, and what Zenoh must do for us."""

from __future__ import annotations

import json
import math
import re
import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING

import zenoh

from zonal.errors import NetworkError
from zonal.keys import encoding_named, register_encoding
from zonal.session.position import Position, PositionHandler
from zonal.session.publisher import Stamps
from zonal.session.reaching import why_unreachable
from zonal.session.refusal import reason_of
from zonal.session.security import LISTEN, local_listener, refuse_open_listeners
from zonal.session.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zonal.geo import GivenPoint


def open(  # noqa: A001  (Zenoh's own name)
    config: zenoh.Config | None = None,
    *,
    position: PositionHandler | GivenPoint | None = None,
    lifetime: float = math.inf,
    encoding: str = "s2",
    insecure: bool = False,
) -> Session:
    """Open a location-aware session; use it with `with` or `async with`, so that it is closed.

    `position` is a fixed point, or a handler that is asked when its last answer is older than
    `lifetime` seconds. `encoding` is the default way of writing places into keys.

    A peer that was not told where to listen listens on this machine alone, and to listen beyond it
    without asking who comes is refused with `ConfigurationError`; `insecure` allows both.
    """
    default = register_encoding(encoding_named(encoding))
    place = Position(position, lifetime)
    config = config or zenoh.Config()
    if not insecure:
        refuse_open_listeners(config)
    stamps, datagrams = _who_stamps(config), _uses_datagrams(config)
    with _defaults(config, stamps, insecure=insecure):
        try:
            session = zenoh.open(config)
        except zenoh.ZError as error:
            raise NetworkError(_why_not(config, error)) from error
    return Session(session, place, default, stamps=stamps, datagrams=datagrams)


def _why_not(config: zenoh.Config, error: zenoh.ZError) -> str:
    """Which endpoints could not be used, or that none was found."""
    connect, listen = _endpoints(config, "connect"), _endpoints(config, "listen")
    is_client = config.get_json("mode") == '"client"'
    if is_client and not connect:
        return "no router was found by scouting; name its endpoint with zonal.config(connect=[…])"
    if connect and (is_client or not listen):
        return f"cannot reach {', '.join(connect)}: {why_unreachable(connect[0], config)}"
    where = f" with the endpoints {', '.join((*listen, *connect))}" if listen else ""
    return f"cannot open a session{where}: {reason_of(error)}"


def _endpoints(config: zenoh.Config, side: str) -> list[str]:
    return re.findall(r'"([a-z0-9_-]+/[^"]*)"', config.get_json(f"{side}/endpoints"))


def _who_stamps(config: zenoh.Config) -> Stamps:
    """A client leaves it to its router unless told otherwise; others have a clock of their own."""
    given = config.get_json("timestamping/enabled")
    if given != "null":
        return Stamps.ZENOH if given == "true" else Stamps.NOBODY
    return Stamps.ROUTER if config.get_json("mode") == '"client"' else Stamps.ZENOH


def _uses_datagrams(config: zenoh.Config) -> bool:
    """Whether an endpoint is plain UDP, without Zenoh's own reliability (`?rel=1`)."""
    endpoints = (*_endpoints(config, "listen"), *_endpoints(config, "connect"))
    return any(each.startswith("udp/") and "rel=1" not in each for each in endpoints)


@contextmanager
def _defaults(config: zenoh.Config, stamps: Stamps, *, insecure: bool) -> Iterator[None]:
    """The clock, and an id of half of Zenoh's own length, which is what stamps carry."""
    defaults = {"id": f'"{secrets.randbits(63) | 1 << 63:x}"'}
    if stamps is Stamps.ZENOH:
        defaults["timestamping/enabled"] = "true"
    before = {path: config.get_json(path) for path in defaults}
    ours = {path: value for path, value in defaults.items() if before[path] == "null"}
    if not insecure and (local := local_listener(config)) is not None:
        before[LISTEN] = config.get_json(LISTEN)
        ours[LISTEN] = json.dumps([local])
    for path, value in ours.items():
        config.insert_json5(path, value)
    try:
        yield
    finally:  # the configuration is the user's, and may open further sessions
        for path in ours:
            config.insert_json5(path, before[path])
