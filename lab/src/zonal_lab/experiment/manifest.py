"""What must be known to repeat a result: command, commit, machine, versions."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

_PACKAGES = ("zonal", "zonal-lab", "eclipse-zenoh", "numpy", "pyarrow", "pyspark")


def manifest_of_now() -> dict[str, Any]:
    """The manifest of what starts now; the plan, the data and the seed are the experiment's."""
    commit, clean = commit_of_code()
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": ["zonal", *map(_portable, sys.argv[1:])],
        "commit": commit,
        "clean": clean,
        "kernel": platform.release(),
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in _PACKAGES},
    }


def _portable(argument: str) -> str:
    """An argument without the folders of this machine, which tell nobody else anything."""
    path = Path(argument)
    return path.name if path.is_absolute() else argument


def commit_of_code() -> tuple[str, bool | None]:
    """The commit that this code is of, and whether nothing was changed since; None: unknown."""
    commit = _git("rev-parse", "--short=12", "HEAD")
    changed = _git("status", "--porcelain", "--untracked-files=no")
    if commit is None or changed is None:
        return "unknown", None
    return commit, not changed


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(  # noqa: S603 - fixed arguments
            ["git", *arguments],  # noqa: S607 - git of the PATH
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
            cwd=Path(__file__).parent,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
