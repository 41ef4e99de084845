"""Loads in C: compiled where they are used, and run for what they print."""

from __future__ import annotations

import subprocess
from importlib import resources
from pathlib import Path

from zonal_lab.errors import EmulationError

_PATIENCE_S = 120


def load_source(name: str, folder: Path) -> Path:
    """A source that lies here, as a file in a folder, with what all loads share beside it."""
    for each in (name, "load.h"):
        text = (resources.files("zonal_lab.peers") / each).read_text(encoding="utf-8")
        (folder / each).write_text(text, encoding="utf-8")
    return folder / name


def compiled(source: Path, folder: Path) -> str:
    """The program of a source, in a folder."""
    program = folder / source.stem
    output_of(["cc", "-O2", "-o", str(program), str(source)])
    return str(program)


def output_of(command: list[str]) -> str:
    """What a program prints; an `EmulationError` where it fails or takes too long."""
    try:
        done = subprocess.run(  # noqa: S603 - programs of our own
            command, capture_output=True, text=True, timeout=_PATIENCE_S, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise EmulationError(f"{Path(command[0]).name}: {error}") from error
    return done.stdout
