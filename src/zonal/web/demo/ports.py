"""Ports of the demo: the usual one of each part, or any where that is taken."""

from __future__ import annotations

import socket

LOCALHOST = "127.0.0.1"


def port_or_any(port: int, host: str = LOCALHOST) -> int:
    """`port` if one can listen on it now, else 0, which stands for any free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return 0
    return port
