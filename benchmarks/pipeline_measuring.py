"""How long something took and how much memory, over all processes of a benchmark."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

# The kernel looks at every page of a process to say this: ten times as often took a tenth of a run.
_LOOK_EVERY_S = 5.0


@dataclass
class Took:
    """How long something took, by the clock and in processor time."""

    wall_s: float = 0.0
    cpu_s: float = 0.0


@contextmanager
def measured() -> Iterator[Took]:
    took = Took()
    start, cpu = time.perf_counter(), processor_s()
    yield took
    took.wall_s = time.perf_counter() - start
    took.cpu_s = max(processor_s() - cpu, 0.01)


def processor_s() -> float:
    """Processor time of this process and all below it (Spark's JVM and its workers)."""
    # Also of children that ended, so that no worker's time is lost.
    ticks = sum(sum(map(int, fields[11:15])) for fields in family().values())
    return ticks / os.sysconf("SC_CLK_TCK")


def family() -> dict[int, list[str]]:
    """What the kernel says of this process and all below it, by their numbers."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                text = (entry / "stat").read_text()
            except OSError:
                continue
            found[int(entry.name)] = text.rpartition(")")[2].split()
    ours = {}
    for pid, fields in found.items():
        at = pid
        while at in found and at != os.getpid():
            at = int(found[at][1])
        if at == os.getpid():
            ours[pid] = fields
    return ours


@contextmanager
def peak_memory() -> Iterator[list[int]]:
    """The most memory that this process and all below it had together, in bytes."""
    peak, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(_LOOK_EVERY_S):
            peak[0] = max(peak[0], sum(_resident(pid) for pid in family()))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        done.set()
        watcher.join()


def _resident(pid: int) -> int:
    """Its share of the memory: pages that several processes have are divided among them."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def say(text: str) -> None:
    print(text, flush=True)


def spark(master: str = "local[2]") -> SparkSession:
    from zonal.pipeline.jobs import open_spark

    return open_spark(
        master,
        conf={
            "spark.sql.shuffle.partitions": "2",
            "spark.driver.memory": "4g",
            "spark.executor.memory": "2g",
        },
    )
