"""Zenoh configurations for the common cases."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

import zenoh

if TYPE_CHECKING:
    from collections.abc import Iterable


def config(
    mode: Literal["client", "peer", "router"] = "peer",
    *,
    connect: Iterable[str] = (),
    listen: Iterable[str] = (),
    scouting: bool | None = None,
    settings: dict[str, Any] | None = None,
) -> zenoh.Config:
    """A configuration with endpoints such as `tcp/127.0.0.1:7447`.

    With endpoints to connect to, scouting for others is off unless asked for. `settings` are
    further entries of Zenoh's own configuration by path (`{"transport/shared_memory/enabled":
    False}`).
    """
    connect, listen = list(connect), list(listen)
    entries: dict[str, Any] = {"mode": mode}
    if connect:
        entries["connect/endpoints"] = connect
    if listen:
        entries["listen/endpoints"] = listen
    if scouting is False or (scouting is None and (connect or mode == "router")):
        entries["scouting/multicast/enabled"] = False
    result = zenoh.Config()
    for path, value in {**entries, **(settings or {})}.items():
        result.insert_json5(path, json.dumps(value))
    return result
