"""What pages show can be done: programs and notebooks run, command lines are right, the site holds
together and needs nothing from elsewhere."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from command_line import environment
from zonal.cli import app
from zonal.cli.commands import COMMANDS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
RUN = [*DOCS.glob("start.md"), *DOCS.glob("for-*.md"), *sorted((DOCS / "tutorials").glob("*.md"))]
PROGRAMS = [
    pytest.param(code, id=f"{page.stem}-{number}")
    for page in RUN
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def typed(page: Path) -> str:
    """What a page has to be typed, with lines that go on put together."""
    blocks = [text for kind, text in BLOCK.findall(page.read_text()) if kind in TERMINAL]
    return "\n".join(blocks).replace("\\\n", " ")


TERMINAL = {"", "console", "sh", "text"}
PAGES = [ROOT / "README.md", *DOCS.glob("*.md"), *(DOCS / "tutorials").glob("*.md")]
LINES = sorted(
    {
        line
        for page in PAGES
        for line in re.findall(
            r"^(?:\$ )?(zonal (?!lab )[a-z]+(?= |$).*?)(?:\s+#.*|\s+&)?$",
            typed(page),
            re.MULTILINE,
        )
    }
)
ROOT_COMMAND: Any = typer.main.get_command(app)


@pytest.mark.parametrize("code", PROGRAMS)
def test_a_program_runs_as_it_stands(code: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True,
        timeout=90, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip()


@pytest.mark.parametrize("path", sorted(DOCS.rglob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(path: Path) -> None:
    cells = json.loads(path.read_text())["cells"]
    names: dict[str, Any] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            exec("".join(cell["source"]), names)


def test_there_are_lines_and_programs() -> None:
    assert len(LINES) > 30
    assert len(PROGRAMS) >= 6


@pytest.mark.parametrize("line", LINES)
def test_a_command_line_is_one_that_the_command_takes(line: str) -> None:
    words = shlex.split(line.partition(" | ")[0].partition(" > ")[0])[1:]
    assert words[0] in COMMANDS
    command, path = ROOT_COMMAND.get_command(None, words[0]), words[:1]
    rest = words[1:]
    while rest and rest[0] in getattr(command, "commands", {}):
        command, path, rest = command.commands[rest[0]], [*path, rest[0]], rest[1:]
    command.make_context(path[-1], rest, resilient_parsing=True)


def test_every_page_has_its_place_on_the_site() -> None:
    listed = (ROOT / "mkdocs.yml").read_text()
    pages = [*DOCS.glob("*.md"), *DOCS.glob("tutorials/*.md"), *DOCS.glob("api/*.md")]
    missing = {str(page.relative_to(DOCS)) for page in pages}
    assert {
        page for page in missing if not re.search(rf"[ :]{page}$", listed, re.MULTILINE)
    } == set()


def test_the_page_of_the_command_line_has_every_command() -> None:
    page = (DOCS / "command-line.md").read_text()
    named = {word for line in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
             for word in re.findall(r"`(?:zonal )?(\w+)`", line)}  # fmt: skip
    assert named == set(COMMANDS)


def test_the_site_is_whole_and_needs_nothing_from_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path)],
        cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr + built.stdout
    loaded = re.compile(
        r'<(?:script|img|iframe)[^>]*src="(https?:[^"]+)"|<link[^>]*rel="?(?:stylesheet|preconnect)'
        r'[^>]*href="(https?:[^"]+)"'
    )
    for page in tmp_path.rglob("*.html"):
        assert loaded.findall(page.read_text(encoding="utf-8")) == [], page
    reference = (tmp_path / "api" / "session.html").read_text(encoding="utf-8")
    for name in ("Session.declare_subscriber", "Session.get", "Subscriber.recv", "Subscriber.area"):
        assert f'id="zonal.session.{name}"' in reference, name
    assert "Last night" in (tmp_path / "tutorials" / "last-nights-air.html").read_text("utf-8")
