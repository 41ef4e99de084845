"""Zenoh in an emulated network: configurations without discovery, and its guarantees by name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import zenoh

if TYPE_CHECKING:
    from collections.abc import Sequence

ZENOH_PORT = 7447
ROUTER = "zonal_lab.systems.router"
"""The module that is the process of a stock router."""


def node_settings(
    mode: str,
    *,
    listen: Sequence[str] = (),
    connect: Sequence[str] = (),
    tls: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Zenoh's defaults with a static network: nobody is discovered, links are kept trying.

    `tls` are the settings of encrypted links (`encrypted_links`).
    """
    return {
        "mode": mode,
        "listen": {"endpoints": list(listen)},
        "connect": {
            "endpoints": list(connect),
            "timeout_ms": -1 if mode == "router" else 20_000,
            "exit_on_failure": mode != "router",
            "retry": {"period_init_ms": 100, "period_max_ms": 500},
        },
        "scouting": {"multicast": {"enabled": False}, "gossip": {"enabled": False}},
        **({"transport": {"link": {"tls": tls}}} if tls else {}),
    }


def node_config(
    mode: str,
    *,
    listen: Sequence[str] = (),
    connect: Sequence[str] = (),
    tls: dict[str, Any] | None = None,
) -> zenoh.Config:
    """Those settings, as the Python library takes them."""
    settings = node_settings(mode, listen=listen, connect=connect, tls=tls)
    return zenoh.Config.from_json5(json.dumps(settings))


def guarantees(*, reliable: bool, block: bool) -> dict[str, Any]:
    """What a publisher is declared with: reliable or best effort, block or drop."""
    return {
        "reliability": zenoh.Reliability.RELIABLE if reliable else zenoh.Reliability.BEST_EFFORT,
        "congestion_control": zenoh.CongestionControl.BLOCK
        if block
        else zenoh.CongestionControl.DROP,
    }
