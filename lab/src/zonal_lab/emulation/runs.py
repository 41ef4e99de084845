"""A register of running emulations, so that what a killed one left behind is found and removed.

Namespaces, bridges, cards and TAP devices vanish with the process that holds them, and the kernel
kills the processes in them (`setpriv --pdeathsig`). Control groups stay, and a process could: both
are written down here before they are made.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from zonal_lab.emulation.cpu import GROUP_PREFIX, find_cpu_controller, remove_groups

REGISTER = Path("/run/zonal-lab")


@dataclass(frozen=True)
class ProcessMark:
    """A process that is still the same process, not another one with its number."""

    pid: int
    started_ticks: int

    @classmethod
    def of(cls, pid: int) -> Self:
        """The mark of a running process (0 ticks when it is already gone)."""
        return cls(pid, _started_ticks(pid))

    @property
    def alive(self) -> bool:
        """Whether that very process still runs."""
        return self.started_ticks != 0 and _started_ticks(self.pid) == self.started_ticks


def _started_ticks(pid: int) -> int:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return 0
    state_and_after = stat.rpartition(")")[2].split()
    return 0 if state_and_after[0] in {"Z", "X"} else int(state_and_after[19])


class RunRecord:
    """What one run holds, on disk while it runs."""

    def __init__(self, register: Path = REGISTER) -> None:
        register.mkdir(parents=True, exist_ok=True)
        self.run = f"{os.getpid()}-{time.monotonic_ns() // 1_000_000}"
        self._path = register / f"{self.run}.json"
        self._owner = ProcessMark.of(os.getpid())
        self._processes: list[ProcessMark] = []
        self._lock = threading.Lock()  # processes may be started from several threads
        self._write()

    def add_process(self, pid: int) -> None:
        """Remember a process that belongs to the run."""
        with self._lock:
            self._processes.append(ProcessMark.of(pid))
            self._write()

    def _write(self) -> None:
        entry = {
            "owner": vars(self._owner),
            "processes": [vars(each) for each in self._processes],
        }
        new = self._path.with_suffix(".new")
        new.write_text(json.dumps(entry), encoding="utf-8")
        new.replace(self._path)

    def close(self) -> None:
        """The run is over and has removed what it made."""
        self._path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Removed:
    """What was left over and is gone now."""

    runs: int
    processes: int
    groups: int


def remove_leftovers(register: Path = REGISTER) -> Removed:
    """Remove what runs left behind whose owner is dead; running ones are not touched."""
    runs = processes = groups = 0
    alive: set[str] = set()
    # Groups first: one that is there now was registered before, and its run is found below.
    controller = find_cpu_controller()
    found = sorted(controller.root.glob(f"{GROUP_PREFIX}*")) if controller else []
    for path in sorted(register.glob("*.json")) if register.exists() else []:
        try:
            entry = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue  # it ended, or is being written, at this very moment
        if ProcessMark(**entry["owner"]).alive:
            alive.add(path.stem)
            continue
        processes += sum(_end(ProcessMark(**each)) for each in entry["processes"])
        path.unlink(missing_ok=True)
        runs += 1
    for group in found:
        if group.name.removeprefix(GROUP_PREFIX) not in alive:
            remove_groups(group)
            groups += 1
    return Removed(runs, processes, groups)


def _end(process: ProcessMark) -> int:
    if not process.alive:
        return 0
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)
    return 1
