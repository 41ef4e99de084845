"""The help of the command line: every command has one, in one style."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from command_line import environment
from zonal.cli import app
from zonal.cli.commands import COMMANDS

ROOT: Any = typer.main.get_command(app)


LATE = {"pyspark", "pyarrow", "pandas", "starlette", "uvicorn", "uvloop", "mqtt5", "websockets"}
LATE |= {f"zonal.{package}" for package in ("broker", "mesh", "pipeline", "web")}


def test_nothing_is_imported_that_only_some_commands_need() -> None:
    code = "import sys, zonal.cli; print(*sys.modules)"
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, env=environment(), capture_output=True, text=True, check=True)
    assert LATE & set(done.stdout.split()) == set()


def commands_below(path: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands_below((*path, name), inner)


@pytest.fixture(params=COMMANDS)
def command(request: pytest.FixtureRequest) -> Iterator[tuple[tuple[str, ...], Any]]:
    return commands_below((request.param,), ROOT.get_command(None, request.param))


def test_h_is_help_everywhere(command: Iterator[tuple[tuple[str, ...], Any]]) -> None:
    for path, _ in command:
        long, short = (CliRunner().invoke(app, [*path, name]) for name in ("--help", "-h"))
        assert long.exit_code == short.exit_code == 0
        assert long.output == short.output
        assert long.output.startswith(f"Usage: root {' '.join(path)} ")


def test_help_texts_are_sentences(command: Iterator[tuple[tuple[str, ...], Any]]) -> None:
    for path, each in command:
        said = {path: each.help, **{(*path, option.name): option.help for option in each.params}}
        odd = {
            what: text
            for what, text in said.items()
            if not text or not text.endswith(".") or text[0].islower()
        }
        assert odd == {}
