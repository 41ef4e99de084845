"""The command line as a user runs it: real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ready_zonal import ReadyZonal

ZONAL = [sys.executable, "-m", "zonal"]
SOURCE = Path(__file__).parents[2] / "src"


def environment(paths: Iterable[Path] = ()) -> dict[str, str]:
    """For a process that sees this tree's sources and these paths; its lines are not wrapped."""
    path = os.pathsep.join(map(str, (SOURCE, *paths)))
    return {**os.environ, "PYTHONPATH": path, "COLUMNS": "200"}


def run_zonal(
    *arguments: str,
    stdin: str | None = None,
    paths: Iterable[Path] = (),
    cwd: Path | None = None,
    environ: dict[str, str] | None = None,
    fresh: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, in a process forked from one that has imported what commands use.

    Where what happens before or while they are imported matters (`fresh`, `environ`), it is in a
    new interpreter.
    """
    if not fresh and environ is None:
        with _ready() as ready:
            return ready.run(
                [*arguments], stdin or "", environment(paths), str(cwd or Path.cwd()), timeout_s=120
            )
    return subprocess.run(
        [*ZONAL, *arguments], input=stdin, env=environment(paths) | (environ or {}), cwd=cwd,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


_idle: list[ReadyZonal] = []
"""Those that no thread uses now; they end with this process, whose end closes their sockets."""


@contextmanager
def _ready() -> Iterator[ReadyZonal]:
    ready = _idle.pop() if _idle else ReadyZonal(environment())
    try:
        yield ready
    except BaseException:
        ready.close()  # what it will answer is not for the next one
        raise
    _idle.append(ready)


@contextmanager
def running_zonal(*arguments: str, cwd: Path | None = None) -> Iterator[subprocess.Popen[str]]:
    """Run a command for as long as the block lasts, unless it ends by itself."""
    process = subprocess.Popen(
        [*ZONAL, *arguments], env=environment(), cwd=cwd,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def line_with(text: str, process: subprocess.Popen[str], output: IO[str] | None) -> str:
    """The next line of an output of the process that has this text in it."""
    assert output is not None
    for line in output:
        if text in line:
            return line
    raise AssertionError(f"no {text!r} from {process.args}: {process.communicate()}")
