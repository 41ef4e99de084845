"""Who would have got which message: our join on Spark beside Apache Sedona's on a Spark of its own.

Either runs in a process of its own and joins a quarter of the messages first, so that what is
measured is a join, not the start of Spark, of its workers and of its compiler.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from zonal.runtime import ChildProcess
from zonal_lab.errors import EmulationError
from zonal_lab.peers.joins_data import write_tables
from zonal_lab.peers.programs import family_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zonal_lab.peers.programs import Programs

SEDONA = "sedona/bin/python"
"""Of a virtual environment with the PySpark that Sedona's package fits."""


def run_joins(
    system: str,
    programs: Programs,
    geolife: Path | None,
    *,
    messages: int,
    subscriptions: int,
    seed: int,
) -> dict[str, Any]:
    """Seconds and processor time of one join, and how many deliveries it found."""
    ours = [sys.executable, "-m", "zonal_lab.peers.joins_ours"]
    command = ours if system == "zonal" else _sedona(programs)
    with tempfile.TemporaryDirectory(prefix="zonal-peer-") as folder:
        write_tables(
            Path(folder), messages=messages, subscriptions=subscriptions, geolife=geolife, seed=seed
        )
        with (Path(folder) / "said").open("wb") as said:
            return _joined([*command, folder], said)


def _sedona(programs: Programs) -> list[str]:
    # A path to our packages, with our PySpark among them, is none of its Python's.
    script = str(Path(__file__).with_name("joins_sedona.py"))
    return ["env", "-u", "PYTHONPATH", programs.find(SEDONA), script]


def _joined(command: Sequence[str], said: IO[bytes]) -> dict[str, Any]:
    with ChildProcess(command, stdin=True, stderr=said) as spark:
        if spark.stdout.readline() != b"warm\n":
            raise EmulationError(f"{command[-2]}: Spark did not get warm")
        before = whole_cpu_s(spark.pid)
        spark.stdin.write(b"go\n")
        spark.stdin.flush()
        line = spark.stdout.readline()
        spent = whole_cpu_s(spark.pid) - before
    if not line:
        raise EmulationError(f"{command[-2]}: Spark ended")
    found: dict[str, Any] = json.loads(line)
    return found | {"cpu_s": spent}


def whole_cpu_s(pid: int) -> float:
    """Processor time of a process and all below it, those that ended too, in the kernel's ticks."""
    ticks = 0
    for each in family_of(pid):
        with contextlib.suppress(OSError):  # it ended meanwhile: its parent has its time
            told = Path(f"/proc/{each}/stat").read_text(encoding="ascii")
            ticks += sum(map(int, told.rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")
