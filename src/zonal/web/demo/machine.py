"""What the demo finds on this machine: installed packages, and ports that are free."""

from __future__ import annotations

import socket
from importlib.util import find_spec

from zonal.runtime import check_port

LOCALHOST = "127.0.0.1"


def missing(*packages: str) -> str | None:
    """What to install for a part that needs these packages; None if they are all there."""
    missed = [name for name in packages if find_spec(name) is None]
    if not missed:
        return None
    return f"{' and '.join(missed)} must be installed: pip install 'zonal[demo]'"


def port_or_any(port: int, host: str = LOCALHOST) -> int:
    """`port` if one can listen on it now, else 0, which stands for any free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, check_port(port)))
        except OSError:
            return 0
    return port
