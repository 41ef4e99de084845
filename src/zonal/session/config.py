"""Zenoh configurations for the common cases."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import zenoh

from zonal.errors import ConfigurationError
from zonal.runtime import SettingsFile, check_port
from zonal.session.refusal import reason_of
from zonal.session.security import Security

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_ENDPOINT = re.compile(r"([a-z][a-z0-9_-]*)/([^#?]+)([?#].*)?")
_WITH_PORT = ("tcp", "udp", "tls", "quic", "ws")
_PROTOCOLS = (*_WITH_PORT, "quic_datagram", "serial", "unixsock-stream", "unixpipe", "vsock")


Mode = Literal["client", "peer", "router"]
"""How to take part."""
_KEYS = ("mode", "connect", "listen", "scouting", "json5", *Security.__slots__)
ZENOH_PATHS = ("json5", "ca", "certificate", "key", "client_ca", "password_file", "users")
"""Keys of `[zenoh]` that are files."""


def config(
    mode: Mode | None = None,
    *,
    connect: Iterable[str] = (),
    listen: Iterable[str] = (),
    scouting: bool | None = None,
    security: Security | None = None,
    json5: Path | str | None = None,
    file: Path | str | None = None,
    settings: dict[str, Any] | None = None,
) -> zenoh.Config:
    """A configuration with endpoints such as `tcp/127.0.0.1:7447`.

    `file` is a `zonal.toml`, whose section `[zenoh]` has the same words as this function and as
    `Security`; what is given beside it wins. `json5` is a configuration file of Zenoh's own, to
    which the rest is added. Without a mode it is a peer. With endpoints to connect to, scouting for
    others is off unless asked for. `settings` are further entries of Zenoh's own configuration by
    path (`{"transport/shared_memory/enabled": False}`).
    """
    told = zenoh_section(SettingsFile(file)) if file is not None else {}
    connect = [check_endpoint(each) for each in _several(connect or told.get("connect", ()))]
    listen = [check_endpoint(each) for each in _several(listen or told.get("listen", ()))]
    scouting = told.get("scouting") if scouting is None else scouting
    json5 = json5 or told.get("json5")
    if security is None:
        security = Security(**{key: told[key] for key in Security.__slots__ if key in told})
    entries: dict[str, Any] = {}
    mode = mode or told.get("mode") or (None if json5 else "peer")
    if mode is not None:
        entries["mode"] = check_mode(mode)
    if connect:
        entries["connect/endpoints"] = connect
    if listen:
        entries["listen/endpoints"] = listen
    if scouting is not None:
        entries["scouting/multicast/enabled"] = scouting
    elif connect or mode == "router":
        entries["scouting/multicast/enabled"] = False
    entries |= security.entries(listens=bool(listen)) | (settings or {})
    return _written(_beginning(json5), entries)


def zenoh_section(file: SettingsFile) -> dict[str, Any]:
    """What `[zenoh]` says, with its paths made absolute; `ConfigurationError` for unknown keys."""
    return {key: zenoh_value(file, key) for key in file.section("zenoh")}


def zenoh_value(file: SettingsFile, key: str) -> Any:
    """The value of one key of `[zenoh]`; `ConfigurationError` where there is no such key."""
    value = file.section("zenoh")[key]
    if key not in _KEYS:
        raise file.unknown(("zenoh", key), "key", _KEYS)
    if key not in ZENOH_PATHS:
        return value
    if not isinstance(value, str):
        raise file.mistake(("zenoh", key), f"a path is a text, not {value!r}")
    return file.resolved(value)


def _beginning(json5: Path | str | None) -> zenoh.Config:
    if json5 is None:
        return zenoh.Config()
    try:
        return zenoh.Config.from_file(str(json5))
    except zenoh.ZError as error:
        raise ConfigurationError(
            f"{json5} is no configuration of Zenoh: {reason_of(error)}"
        ) from error


def _written(result: zenoh.Config, entries: dict[str, Any]) -> zenoh.Config:
    for path, value in entries.items():
        try:
            result.insert_json5(path, json.dumps(value))
        except (zenoh.ZError, TypeError) as error:
            shown = "what is given" if "password" in path else repr(value)
            raise ConfigurationError(
                f"Zenoh's configuration does not take {shown} for {path!r}: {reason_of(error)}"
            ) from error
    return result


def check_mode(text: str) -> Mode:
    """How to take part in Zenoh, if it is one of the ways that there are."""
    if text not in get_args(Mode):
        raise ConfigurationError(f"mode {text!r} is none of {', '.join(get_args(Mode))}")
    return cast("Mode", text)


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
        if not (host and colon and port):
            raise ConfigurationError(f"{right}; {endpoint!r} lacks a host or a port")
        try:
            check_port(port)
        except ConfigurationError as error:
            raise ConfigurationError(f"{right}; in {endpoint!r} {error}") from error
    return endpoint


def _several(endpoints: Iterable[str]) -> list[str]:
    """One endpoint is taken for a list of one."""
    return [endpoints] if isinstance(endpoints, str) else list(endpoints)
