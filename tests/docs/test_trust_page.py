"""The whole program on the page of trust runs as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "trust.md").read_text(encoding="utf-8")


def test_the_program_of_the_page_runs() -> None:
    (code,) = [
        code
        for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
        if code.startswith("import ")
    ]
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "the plan\n"
