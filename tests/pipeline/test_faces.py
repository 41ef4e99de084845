"""What the two faces promise: all their names are there, and the first needs no Spark."""

from __future__ import annotations

import subprocess
import sys

import pytest

import zonal.pipeline
import zonal.pipeline.jobs


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("face", [zonal.pipeline, zonal.pipeline.jobs])
def test_a_face_has_what_it_lists(face: object) -> None:
    assert all(hasattr(face, name) for name in face.__all__)  # type: ignore[attr-defined]


def test_recording_and_history_start_without_spark() -> None:
    assert run("import sys, zonal.pipeline; print('pyspark' in sys.modules)") == "False"


def test_without_pyspark_the_jobs_say_how_to_get_it() -> None:
    told = run(
        "import sys; sys.modules['pyspark'] = None\n"
        "from zonal.errors import SparkError\n"
        "try: import zonal.pipeline.jobs\n"
        "except SparkError as error: print(error)"
    )
    assert told == "PySpark is not installed: pip install 'zonal[pipeline]'"
