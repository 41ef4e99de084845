"""What `make test` promises of tests that share the machine, on a few small ones."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from parallel import GROUPS

ROOT = Path(__file__).parents[1]

SETTINGS = f"""
[pytest]
addopts = -q -p parallel -p no:cacheprovider --import-mode=importlib
pythonpath = {ROOT / "tests" / "support"}
"""
SHARED = """
import pytest

@pytest.fixture
def spark_holder():
    pass

@pytest.fixture(autouse=True)
def told(request, worker_id):
    with open("told", "a") as told:
        print(request.node.nodeid, worker_id, file=told)
"""
FILES = {
    "test_a.py": """
import os
import pytest

def test_first(): pass
def test_crashes(): os._exit(3)
def test_fails(): assert False
@pytest.mark.group("spark")
def test_marked(): pass
""",
    "test_b.py": """
def test_before(): pass
def test_with_spark(spark_holder): pass
def test_after(): pass
""",
    "test_c.py": """
def test_with_spark(spark_holder): pass
def test_last(): pass
""",
    "test_d.py": """
import pytest

def test_never(): assert False

pytest.skip("of no use here", allow_module_level=True)
""",
}


@pytest.fixture
def run(tmp_path: Path) -> tuple[str, list[tuple[str, str]]]:
    """What a run of those tests in two processes printed, and which process ran which, in order."""
    (tmp_path / "pytest.ini").write_text(SETTINGS)
    (tmp_path / "conftest.py").write_text(SHARED)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-m", "pytest", "-n", "2"]
    done = subprocess.run(
        [*command, "--dist", "loadscope", "--no-loadscope-reorder"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    told = [line.split() for line in (tmp_path / "told").read_text().splitlines()]
    return done.stdout, [(test, process) for test, process in told]


def test_groups_and_files_stay_together_and_a_crash_hides_nothing(
    run: tuple[str, list[tuple[str, str]]],
) -> None:
    printed, told = run
    processes = dict(told)
    assert len(told) == len(processes) == 9, "each ran, and ran once"
    grouped = ["test_a.py::test_marked", "test_b.py::test_with_spark", "test_c.py::test_with_spark"]
    assert len({processes[test] for test in grouped}) == 1
    assert processes["test_b.py::test_before"] == processes["test_b.py::test_after"]
    assert processes["test_a.py::test_crashes"] != processes["test_a.py::test_fails"]
    failed = re.findall(r"^FAILED (\S+)", printed, re.MULTILINE)
    assert sorted(failed) == ["test_a.py::test_crashes", "test_a.py::test_fails"]
    assert "2 failed, 7 passed, 1 skipped" in printed, "one skips itself when it is imported"


def test_every_fixture_that_makes_a_group_is_there() -> None:
    files = [ROOT / "conftest.py", *ROOT.glob("tests/**/*.py"), *ROOT.glob("lab/tests/**/*.py")]
    text = "".join(path.read_text(encoding="utf-8") for path in files)
    assert [each for each in GROUPS if f"\ndef {each}(" not in text] == []
