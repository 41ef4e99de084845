"""Whether an address stays on this machine: what decides if a door may stand without a lock."""

from __future__ import annotations

import ipaddress


def is_loopback(host: str) -> bool:
    """Whether an address can only be reached from this machine; names other than localhost: no."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
