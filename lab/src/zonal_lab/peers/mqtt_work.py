"""MQTT brokers under a load in C: deliveries a second, latency at a steady rate, idle memory.

`steady.c` lies here; the load of the broker's benchmarks, `mqtt_load.c`, is used as it is where
this code runs from a repository.
"""

from __future__ import annotations

import json
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zonal.runtime import ChildProcess
from zonal_lab.errors import EmulationError
from zonal_lab.peers.compiled import compiled, load_source, output_of
from zonal_lab.peers.programs import BROKERS, MissingProgramError

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal_lab.peers.programs import Programs, RunningServer

SHAPES = {
    "1 → 1, QoS 0": "window=1000",
    "1 → 1, QoS 1": "qos=1 window=200",
    "1 → 100, QoS 0": "subscribers=100 window=100",
    "1 → 100, QoS 1": "subscribers=100 qos=1 window=100",
    "100 → 1, QoS 0": "publishers=100 window=1000",
    "100 → 1, QoS 1": "publishers=100 qos=1 window=500",
}
"""What `mqtt_load.c` is told, all in MQTT 3.1.1, which every broker speaks."""
_LOAD = Path(__file__).parents[4] / "benchmarks" / "mqtt_load.c"


def run_mqtt(
    system: str, programs: Programs, *, seconds: float, rate: int, idle: int
) -> dict[str, Any]:
    """All shapes at one broker, started anew for each; what a shape breaks is left out."""
    program, command = BROKERS[system]
    if not programs.has(program):
        raise MissingProgramError(f"there is no {program} here")
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="zonal-peer-") as folder:
        steady = compiled(load_source("steady.c", Path(folder)), Path(folder))
        with programs.started(command) as server:
            figures["steady"] = _tried(partial(_steady, steady, server, rate, seconds))
        if not _LOAD.exists():
            return figures
        load = compiled(_LOAD, Path(folder))
        for name, options in SHAPES.items():
            with programs.started(command) as server:
                figures[name] = _tried(partial(_loaded, load, server, options, seconds))
        with programs.started(command) as server:
            figures["idle"] = _tried(partial(_idle, load, server, idle))
    return figures


def _tried(work: Callable[[], dict[str, float]]) -> dict[str, float] | None:
    """What a work finds; None where the broker does not do it."""
    try:
        return work()
    except EmulationError:
        return None


def _loaded(load: str, server: RunningServer, options: str, seconds: float) -> dict[str, float]:
    before = server.cpu_s()
    told = [*options.split(), f"port={server.port}", "version=4", f"seconds={seconds:g}"]
    found = json.loads(output_of([load, *told]))
    # Half a second of warm-up is in the processor time, and not in what was counted.
    counted = found["deliveries"] * (found["seconds"] + 0.5) / found["seconds"]
    return {
        "per_s": found["per_s"],
        "cpu_us": (server.cpu_s() - before) / max(counted, 1) * 1e6,
    }


def _steady(program: str, server: RunningServer, rate: int, seconds: float) -> dict[str, float]:
    before = server.cpu_s()
    found: dict[str, float] = json.loads(
        output_of([program, str(server.port), str(rate), f"{seconds:g}"])
    )
    return found | {"cpu_us": (server.cpu_s() - before) / max(found["received"], 1) * 1e6}


def _idle(load: str, server: RunningServer, count: int) -> dict[str, float]:
    """Memory that each of so many silent connections takes."""
    time.sleep(0.5)
    before = server.resident()
    command = [load, f"port={server.port}", "version=4", f"subscribers={count}", "hold=1"]
    with ChildProcess(command, stdin=True) as holding:
        if b"connected" not in holding.stdout.readline():
            raise EmulationError("not all connections came about")
        time.sleep(0.5)
        return {"bytes_a_connection": (server.resident() - before) / count}
