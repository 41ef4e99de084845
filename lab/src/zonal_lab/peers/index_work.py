"""GeoBroker's own code beside our index: its workload of geofences, answers as subscriptions.

`GeoBrokerIndex.java` drives the classes of its server (`TopicAndGeofenceMapper`, `ClientDirectory`)
as its matching logic does; it is run from source with the server's jar on the class path. Times
are processor times of the one thread; the Java virtual machine has done it all twice before.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from zonal_lab.errors import EmulationError
from zonal_lab.index import geobroker_workload, load_trajectories, time_workload

if TYPE_CHECKING:
    from zonal_lab.index import Workload
    from zonal_lab.peers.programs import Programs

JAR = "GeoBroker-Server.jar"
_GRANULARITIES = (25, 50, 100)
_PATIENCE_S = 900


def run_index(
    system: str, programs: Programs, geolife: Path | None, scale: float
) -> dict[str, float]:
    """Seconds for adds, updates and gets; GeoBroker's at its best granularity."""
    _, trajectories = load_trajectories(geolife)
    if system == "zonal":
        found = time_workload(trajectories, scale)
        return {"seconds": found["raster, subscriptions"], "rows_seconds": found["raster, rows"]}
    return _geobroker(programs, geobroker_workload(trajectories, scale=scale))


def _geobroker(programs: Programs, workload: Workload) -> dict[str, float]:
    jar, java = programs.find(JAR), programs.find("java")
    with tempfile.TemporaryDirectory(prefix="zonal-peer-") as folder:
        work = Path(folder) / "work"
        work.write_text("\n".join(_lines(workload)) + "\n", encoding="ascii")
        program = Path(folder) / "GeoBrokerIndex.java"
        source = resources.files("zonal_lab.peers") / "GeoBrokerIndex.java"
        program.write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
        sizes = [str(each) for each in _GRANULARITIES]
        done = subprocess.run(  # noqa: S603 - a program that was looked up
            [java, "-Xmx4g", "-cp", jar, str(program), str(work), *sizes],
            capture_output=True, text=True, timeout=_PATIENCE_S, check=False,
        )  # fmt: skip
    if done.returncode:
        raise EmulationError(f"GeoBroker's index failed: {done.stderr[-500:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    seconds = {int(size): each["seconds"] for size, each in found.items()}
    best = min(seconds, key=lambda size: seconds[size])
    return {"seconds": seconds[best], "granularity": best, "hits": found[str(best)]["hits"]}


def _lines(workload: Workload) -> list[str]:
    """`A`dd, `U`pdate, `G`et, with latitude and longitude."""
    circles = {"A": workload.adds, "U": workload.updates}
    lines = [
        f"{kind} {each.center.lat!r} {each.center.lon!r}"
        for kind, some in circles.items()
        for each in some
        if each.center is not None
    ]
    return lines + [f"G {each.lat!r} {each.lon!r}" for each in workload.gets]
