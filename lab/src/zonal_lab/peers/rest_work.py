"""REST beside Zenoh's own plug-in: puts and gets a second, their latency and processor time.

Either server is one process with a router in it; a client of that router hears what is put, and
answers what is asked. `http_load.c` lies here.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zonal_lab.emulation import Worker
from zonal_lab.errors import EmulationError
from zonal_lab.peers.compiled import compiled, load_source, output_of
from zonal_lab.peers.programs import RunningServer, zenohd_with
from zonal_lab.systems import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zonal_lab.peers.programs import Programs

_BODY = '{"pm10": 21.5, "id": "air-01"}'
_AT = (45.4642, 9.19)
_PLACE = f"lat={_AT[0]}&long={_AT[1]}"
REQUESTS = {
    "put, 1 connection": (1, "PUT", "/peers/put"),
    "put, 16 connections": (16, "PUT", "/peers/put"),
    "put with a place, 16 connections": (16, "PUT", f"/peers/put?{_PLACE}"),
    "get, 1 connection": (1, "GET", "/peers/get/#"),
    "get, 16 connections": (16, "GET", "/peers/get/#"),
}
"""Connections, method and path."""
_PATIENCE_S = 60.0


def run_rest(system: str, programs: Programs, *, seconds: float) -> dict[str, Any]:
    """All requests at one server; what it does not offer is left out."""
    figures: dict[str, Any] = {}
    server_of = _zonal if system == "zonal" else partial(_plug_in, programs)
    with tempfile.TemporaryDirectory(prefix="zonal-peer-") as folder:
        load = compiled(load_source("http_load.c", Path(folder)), Path(folder))
        with server_of() as (server, attendant):
            for name, request in REQUESTS.items():
                # The plug-in knows no places: it would hand the parameters on, or drop them.
                offered = system == "zonal" or _PLACE not in request[2]
                figures[name] = (
                    _loaded(load, server, attendant, request, seconds) if offered else None
                )
    return figures


def _loaded(
    load: str,
    server: RunningServer,
    attendant: Worker,
    request: tuple[int, str, str],
    seconds: float,
) -> dict[str, float]:
    connections, method, path = request
    before, attended = server.cpu_s(), _attended(attendant)
    told = [str(server.port), str(connections), f"{seconds:g}", method, path]
    found = json.loads(output_of([load, *told, *([_BODY] if method == "PUT" else [])]))
    if _attended(attendant) - attended < found["answers"]:
        raise EmulationError(f"{method} {path}: answered without anybody behind the router")
    # Half a second of warm-up is in the processor time, and not in what was counted.
    counted = found["answers"] * (found["seconds"] + 0.5) / found["seconds"]
    return {
        "per_s": found["per_s"],
        "p50_us": found["p50_us"],
        "p99_us": found["p99_us"],
        "cpu_us": (server.cpu_s() - before) / max(counted, 1) * 1e6,
    }


def _attended(attendant: Worker) -> int:
    return int(attendant.ask({"do": "attended"}, _PATIENCE_S)["attended"])


@contextlib.contextmanager
def _attending(endpoint: str) -> Iterator[Worker]:
    """Whoever hears and answers behind a server's router."""
    worker = Worker("attendant", [sys.executable, "-m", "zonal_lab.peers.service"])
    try:
        worker.ask({"do": "attend", "endpoint": endpoint, "body": _BODY, "at": _AT}, _PATIENCE_S)
        yield worker
    finally:
        worker.end()


@contextlib.contextmanager
def _zonal() -> Iterator[tuple[RunningServer, Worker]]:
    """Our web server with a stock router in its process, without limits on an address' requests."""
    worker = Worker("web", [sys.executable, "-m", "zonal_lab.peers.service"])
    try:
        told = worker.ask({"do": "serve"}, _PATIENCE_S)
        with _attending(told["endpoint"]) as attendant:
            yield RunningServer(told["port"], worker.pid), attendant
    finally:
        worker.end()


@contextlib.contextmanager
def _plug_in(programs: Programs) -> Iterator[tuple[RunningServer, Worker]]:
    """A `zenohd` with the REST plug-in, with as many threads as there are cores, its default."""
    endpoint = f"tcp/127.0.0.1:{free_port()}"

    def command(found: Programs, port: int, folder: Path) -> list[str]:
        return zenohd_with(found, "rest", {"http_port": f"127.0.0.1:{port}"}, endpoint, folder)

    with programs.started(command) as server, _attending(endpoint) as attendant:
        yield server, attendant
