"""Every benchmark says what it measures, and can be started: none rots unseen."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BENCHMARKS = sorted(path.stem for path in (ROOT / "benchmarks").glob("bench_*.py"))


def run(name: str, *arguments: str, folder: Path) -> str:
    """What a benchmark says; it writes where the test may."""
    sources = os.pathsep.join([str(ROOT / "src"), str(ROOT / "lab" / "src")])
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / f"{name}.py"), *arguments],
        env={**os.environ, "PYTHONPATH": sources},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_asked_for_help_does_not_run(name: str, tmp_path: Path) -> None:
    shown = run(name, "--help", folder=tmp_path)
    assert shown.startswith("usage:")
    assert "--quick" in shown


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_runs_at_its_smallest(name: str, tmp_path: Path) -> None:
    if name == "bench_broker" and shutil.which("mosquitto") is None:
        pytest.skip("Mosquitto is not here")
    last = run(name, "--quick", folder=tmp_path).strip().splitlines()[-1]
    assert json.loads(last)
