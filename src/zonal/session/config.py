"""Zenoh configurations for the common cases."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Literal

import zenoh

from zonal.errors import ConfigurationError
from zonal.session.refusal import reason_of

if TYPE_CHECKING:
    from collections.abc import Iterable

_ENDPOINT = re.compile(r"([a-z][a-z0-9_-]*)/([^#?]+)([?#].*)?")
_HIGHEST_PORT = 65_535
_WITH_PORT = ("tcp", "udp", "tls", "quic", "ws")
_PROTOCOLS = (*_WITH_PORT, "quic_datagram", "serial", "unixsock-stream", "unixpipe", "vsock")


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
    connect = [check_endpoint(endpoint) for endpoint in _several(connect)]
    listen = [check_endpoint(endpoint) for endpoint in _several(listen)]
    entries: dict[str, Any] = {"mode": mode}
    if connect:
        entries["connect/endpoints"] = connect
    if listen:
        entries["listen/endpoints"] = listen
    if scouting is False or (scouting is None and (connect or mode == "router")):
        entries["scouting/multicast/enabled"] = False
    result = zenoh.Config()
    for path, value in {**entries, **(settings or {})}.items():
        try:
            result.insert_json5(path, json.dumps(value))
        except (zenoh.ZError, TypeError) as error:
            raise ConfigurationError(
                f"Zenoh's configuration does not take {value!r} for {path!r}: {reason_of(error)}"
            ) from error
    return result


def check_endpoint(endpoint: str) -> str:
    """The endpoint itself, if Zenoh can use it: `protocol/address`, mostly `tcp/host:port`."""
    match = _ENDPOINT.fullmatch(endpoint) if isinstance(endpoint, str) else None
    right = "an endpoint is protocol/address, such as tcp/127.0.0.1:7447"
    if match is None:
        raise ConfigurationError(f"{right}, not {endpoint!r}")
    protocol, address = match[1], match[2]
    if protocol not in _PROTOCOLS:
        raise ConfigurationError(
            f"{right}; in {endpoint!r} the protocol is none of {', '.join(_PROTOCOLS)}"
        )
    if protocol in _WITH_PORT:
        host, colon, port = address.rpartition(":")
        if not (host and colon and port.isdecimal() and int(port) <= _HIGHEST_PORT):
            raise ConfigurationError(f"{right}; {endpoint!r} lacks a host or a port")
    return endpoint


def _several(endpoints: Iterable[str]) -> list[str]:
    """One endpoint is taken for a list of one."""
    return [endpoints] if isinstance(endpoints, str) else list(endpoints)
