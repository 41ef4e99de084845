"""Processes on this machine: a free port, a router, and what a process has used so far."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from zonal_lab.emulation import Worker
from zonal_lab.systems.nodes import ROUTER

if TYPE_CHECKING:
    from collections.abc import Iterator

_PATIENCE_S = 60.0


def free_port(host: str = "127.0.0.1") -> int:
    """A port that nobody listens on at the moment."""
    with socket.socket() as found:
        found.bind((host, 0))
        return int(found.getsockname()[1])


def cpu_seconds_of(pid: int) -> float:
    """Processor time that a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid: int) -> int:
    """Memory that a process holds."""
    pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


@contextlib.contextmanager
def started_router(
    connect: list[str] | None = None, zenohd: str | None = None, *, admin: bool = False
) -> Iterator[tuple[int, str]]:
    """A stock router on loopback: the number of its process, and where it listens.

    It is that of Zenoh's Python library, or the program `zenohd` that is named; with `admin` its
    admin space can be read (that of `zenohd` always).
    """
    worker = Worker("router", [sys.executable, "-m", ROUTER])
    endpoint = f"tcp/127.0.0.1:{free_port()}"
    try:
        order = {"do": "open", "listen": endpoint, "connect": connect or [], "program": zenohd}
        yield int(worker.ask({**order, "admin": admin}, _PATIENCE_S)["pid"]), endpoint
    finally:
        worker.end()
