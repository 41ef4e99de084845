"""The options of `format("zonal")` that source and sink share, and the session they ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import zonal
from zonal.errors import DeclarationError
from zonal.session import check_mode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from zonal.session import Session

NETWORK_OPTIONS = {
    "connect": "endpoints of routers, separated by commas, such as tcp/127.0.0.1:7447",
    "mode": "client or peer",
    "config": "a zonal.toml, whose section [zenoh] has endpoints, certificates and credentials",
}


def known_options(given: Mapping[str, str], known: Mapping[str, str], what: str) -> dict[str, str]:
    """Spark's options by their names in small letters; one that nobody knows is refused."""
    options = {name.lower(): value for name, value in given.items()}
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise DeclarationError(
            f"unknown option {unknown[0]!r} for a {what}; known: {', '.join(known)}"
        )
    return options


def open_session(options: Mapping[str, str]) -> Session:
    """A session with the network that the options name."""
    endpoints = [one.strip() for one in options.get("connect", "").split(",") if one.strip()]
    mode = options.get("mode", "client" if endpoints else None)
    file = options.get("config")
    return zonal.open(
        zonal.config(None if mode is None else check_mode(mode), connect=endpoints, file=file)
    )
