"""The program on the page about what is where now runs, and prints what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from command_line import environment

PAGE = (Path(__file__).parents[2] / "docs" / "now.md").read_text(encoding="utf-8")


def test_the_program_prints_what_the_page_says() -> None:
    found = re.search(r"```python\n(import .*?)```\n\n```\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    ran = subprocess.run(
        [sys.executable, "-c", found[1]], env=environment(), capture_output=True, text=True,
        timeout=90, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == found[2]
