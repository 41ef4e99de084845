"""The whole programs on the page of the session run as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "session.md"
PROGRAMS = [
    code
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    if code.startswith("import ")
]


def test_there_are_programs() -> None:
    assert PROGRAMS


@pytest.mark.parametrize("code", PROGRAMS)
def test_a_program_of_the_page_runs(code: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("Sample(PUT 'city/airquality' from Point(")
