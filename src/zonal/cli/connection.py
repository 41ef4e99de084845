"""The session that commands of the network open, and the figures that services serve."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zonal
from zonal.cli.key_files import read_zone
from zonal.cli.notation import given, parse_point
from zonal.cli.options import LOCAL_ROUTER
from zonal.cli.shared import shared
from zonal.errors import TrustError
from zonal.runtime import MetricsDoor, MetricsServer
from zonal.session import check_mode

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.session import Session
    from zonal.trust import Zone


def connected(
    connect: list[str],
    mode: str,
    encoding: str = "s2",
    position: str | None = None,
    settings: dict[str, Any] | None = None,
    secrets: list[str] | None = None,
) -> Session:
    """Open a session (with further `settings` of Zenoh's), or say clearly why not.

    Certificates and credentials are those of the shared options. With Zenoh's own configuration
    file the mode and the endpoints are its own, unless other than the default ones are given.
    """
    options = shared()
    endpoints = [endpoint for endpoint in connect if endpoint != "scout"]
    make = partial(
        zonal.config,
        listen=options.listen,
        scouting=options.scouting,
        security=options.security,
        json5=options.json5,
        settings=settings,
    )
    if options.json5 is None:
        config = make(check_mode(mode), connect=endpoints)
    else:
        config = make(connect=[] if connect == LOCAL_ROUTER else endpoints)
        if config.get_json("mode") == "null":
            config.insert_json5("mode", json.dumps(check_mode(mode)))
    zones = [_zone(text) for text in secrets or ()]
    session = zonal.open(config, encoding=encoding, position=given(position, parse_point))
    for zone in zones:
        session.keyring.add_secret(zone)
    return session


def _zone(text: str) -> Zone:
    name, equals, path = text.partition("=")
    if not equals:
        raise TrustError(f"a secret is NAME=FILE such as duomo=duomo.secret, not {text!r}")
    return read_zone(name, Path(path))


def metrics_door(
    text: str | None, token: Path | None, *, insecure: bool = False
) -> MetricsDoor | None:
    """Where figures are served; nowhere if nobody asks for it."""
    return None if text is None else MetricsDoor.read(text, token, insecure=insecure)


def metrics_served(
    text: str | None, token: Path | None, page: Callable[[], str], *, insecure: bool = False
) -> AbstractContextManager[object]:
    """Serves figures while a command runs, if it is asked to."""
    door = metrics_door(text, token, insecure=insecure)
    return nullcontext() if door is None else MetricsServer(door, page)
