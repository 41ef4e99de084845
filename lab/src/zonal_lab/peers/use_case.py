"""GeoBroker's use case at its own server and at our broker: clients that are elsewhere each time.

`geo_load.c` lies here; it speaks GeoBroker's protocol (ZeroMQ, JSON) and MQTT 5.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from zonal.runtime import ChildProcess
from zonal_lab.errors import EmulationError
from zonal_lab.peers.compiled import compiled, load_source
from zonal_lab.peers.index_work import JAR
from zonal_lab.peers.programs import BROKERS

if TYPE_CHECKING:
    from zonal_lab.peers.programs import Programs, RunningServer

GRANULARITY = 25
WARM_S = 10.0
"""The Java virtual machine compiles meanwhile."""
_PROCESSORS = 2
_SETTINGS = """\
[server]
brokerId = "broker"
port = {port}
granularity = {granularity}
messageProcessors = {processors}
[server.mode]
name = "single"
"""
_LOGGING = """\
<Configuration status="ERROR"><Appenders><Console name="c"/></Appenders>
<Loggers><Root level="error"><AppenderRef ref="c"/></Root></Loggers></Configuration>
"""
"""It would write a file beside wherever it is started, at a level that costs it time."""


def run_use_case(
    system: str, programs: Programs, *, clients: int, seconds: float
) -> dict[str, float]:
    """Arrivals a second, processor time of each, deliveries, how long a publication takes."""
    command = _geobroker if system == "geobroker" else BROKERS[system][1]
    protocol = "geobroker" if system == "geobroker" else "mqtt"
    with tempfile.TemporaryDirectory(prefix="zonal-peer-") as folder:
        load = compiled(load_source("geo_load.c", Path(folder)), Path(folder))
        with programs.started(command) as server:
            told = [protocol, str(server.port), str(clients), f"{WARM_S:g}", f"{seconds:g}"]
            return _loaded([load, *told], server)


def _loaded(command: list[str], server: RunningServer) -> dict[str, float]:
    with ChildProcess(command) as load:
        if load.stdout.readline() != b"warm\n":
            raise EmulationError(f"{command[1]}: the clients did not get through")
        before = server.cpu_s()
        line = load.stdout.readline()
        spent = server.cpu_s() - before
    if not line:
        raise EmulationError(f"{command[1]}: a client's connection ended")
    found = json.loads(line)
    return {
        "arrivals_per_s": found["arrivals"] / found["seconds"],
        "deliveries_per_s": found["deliveries"] / found["seconds"],
        "deliveries_each": found["deliveries"] / max(found["publications"], 1),
        "arrival_cpu_us": spent / max(found["arrivals"], 1) * 1e6,
        "p50_us": found["p50_us"],
        "p99_us": found["p99_us"],
    }


def _geobroker(programs: Programs, port: int, folder: Path) -> list[str]:
    """Its server on its own, with a processor of messages for each core of a small machine."""
    settings = folder / "geobroker.toml"
    text = _SETTINGS.format(port=port, granularity=GRANULARITY, processors=_PROCESSORS)
    settings.write_text(text, encoding="utf-8")
    logging = folder / "log4j2.xml"
    logging.write_text(_LOGGING, encoding="utf-8")
    java = [programs.find("java"), "-Xmx4g", f"-Dlog4j.configurationFile={logging}"]
    return [*java, "-jar", programs.find(JAR), str(settings)]
