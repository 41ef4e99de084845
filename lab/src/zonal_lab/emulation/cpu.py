"""CPU limits by control groups, version 1 and version 2."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path

from zonal_lab.errors import EmulationError

# A short period keeps a limited router slow and steady instead of fast, then asleep for 80 ms.
PERIOD_US = 10_000
GROUP_PREFIX = "zonal-lab-"


@dataclass(frozen=True)
class CpuController:
    """Where this machine's CPU controller is mounted, and in which version."""

    root: Path
    version: int


def find_cpu_controller(mounts: str | None = None) -> CpuController | None:
    """The CPU controller among the mounted ones; version 1 wins where both are mounted."""
    text = mounts if mounts is not None else Path("/proc/self/mounts").read_text(encoding="utf-8")
    version2 = None
    for line in text.splitlines():
        _device, where, kind, options, *_ = line.split()
        if kind == "cgroup" and "cpu" in options.split(","):
            return CpuController(Path(where), 1)
        if kind == "cgroup2":
            version2 = CpuController(Path(where), 2)
    return version2 if version2 is not None and _has_cpu(version2.root) else None


def _has_cpu(root: Path) -> bool:
    controllers = root / "cgroup.controllers"
    return controllers.exists() and "cpu" in controllers.read_text(encoding="ascii").split()


class CpuGroups:
    """The control groups of one run, one per limited node."""

    def __init__(self, run: str, controller: CpuController | None = None) -> None:
        found = controller or find_cpu_controller()
        if found is None:
            raise EmulationError("no cpu controller is mounted (control groups v1 or v2)")
        self.controller = found
        self.root = found.root / f"{GROUP_PREFIX}{run}"
        self.root.mkdir(exist_ok=True)
        if found.version == 2:
            for group in (found.root, self.root):
                _allow_cpu_in_children(group)

    def limit(self, node: str, share: float) -> None:
        """Let the node's processes use `share` of one core together; 1 or more lifts the limit."""
        group = self.root / node
        group.mkdir(exist_ok=True)
        quota = -1 if share >= 1 else max(round(share * PERIOD_US), 1000)
        period = PERIOD_US if share >= 1 else round(quota / share)
        if self.controller.version == 1:
            (group / "cpu.cfs_quota_us").write_text("-1")
            (group / "cpu.cfs_period_us").write_text(str(period))
            (group / "cpu.cfs_quota_us").write_text(str(quota))
        else:
            (group / "cpu.max").write_text(f"{'max' if quota < 0 else quota} {period}")

    def add(self, node: str, pid: int) -> None:
        """Put a process, with all its threads, under the node's limit."""
        (self.root / node / "cgroup.procs").write_text(str(pid))

    def close(self) -> None:
        """Remove the groups; their processes must have ended."""
        remove_groups(self.root)


def _allow_cpu_in_children(group: Path) -> None:
    control = group / "cgroup.subtree_control"
    if "cpu" not in control.read_text(encoding="ascii").split():
        control.write_text("+cpu")


def remove_groups(root: Path, patience_s: float = 5.0) -> None:
    """Remove a run's groups, waiting for processes that are just ending."""
    deadline = time.monotonic() + patience_s
    while root.exists():
        for group in [*root.glob("*/"), root]:
            with contextlib.suppress(OSError):
                group.rmdir()
        if root.exists() and time.monotonic() > deadline:
            raise EmulationError(f"control group {root} still holds processes")
        if root.exists():
            time.sleep(0.01)
