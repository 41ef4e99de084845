"""Commands that other distributions add by the entry-point group `zonal.commands`."""

from __future__ import annotations

import subprocess
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import typer

from command_line import run_zonal
from zonal.cli import commands
from zonal.errors import CommandError

FUNCTION = '''
def hello(name: str, loud: bool = False) -> None:
    """Greet someone.

    With a second paragraph.
    """
    print(name.upper() if loud else name)
'''
GROUP = '''
import typer

app = typer.Typer(help="Greet in two ways.")

@app.command()
def morning() -> None:
    """Early."""
    print("good morning")

@app.command()
def night() -> None:
    """Late."""
    from zonal.errors import GeometryError
    raise GeometryError("it is not night")
'''


class Added:
    """A distribution that is seen by processes through their path, as if it were installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        metadata = folder / "zonal_hello-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: zonal-hello\nVersion: 1.0\n"
        )
        self._entry_points = metadata / "entry_points.txt"

    def add(self, module: str, *entries: str) -> None:
        (self.folder / "zonal_hello.py").write_text(module)
        self._entry_points.write_text("\n".join(["[zonal.commands]", *entries, ""]))

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_zonal(*arguments, paths=[self.folder])


@pytest.fixture
def added(tmp_path: Path) -> Added:
    return Added(tmp_path)


def lines_of(help_text: str) -> dict[str, str]:
    """What the help says of each command."""
    rows = help_text.partition("Commands:\n")[2].splitlines()
    return {row.split()[0]: " ".join(row.split()[1:]) for row in rows if row.startswith("  ")}


def test_a_function_of_another_distribution_becomes_a_command(added: Added) -> None:
    added.add(FUNCTION, "hello = zonal_hello:hello")
    assert lines_of(added.run("--help").stdout)["hello"] == "Greet someone."
    assert added.run("hello", "ann", "--loud").stdout == "ANN\n"
    assert "second paragraph" in added.run("hello", "-h").stdout


def test_a_typer_of_another_distribution_becomes_a_group(added: Added) -> None:
    added.add(GROUP, "greet = zonal_hello:app")
    assert lines_of(added.run("-h").stdout)["greet"] == "Greet in two ways."
    assert lines_of(added.run("greet", "-h").stdout) == {"morning": "Early.", "night": "Late."}
    assert added.run("greet", "morning").stdout == "good morning\n"
    failed = added.run("greet", "night")
    assert (failed.returncode, failed.stderr) == (1, "zonal: it is not night\n")


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("import no_such_package\n", "cannot be loaded: No module named 'no_such_package'"),
        ("", "cannot be loaded: module 'zonal_hello' has no attribute 'hello'"),
        ("1 / 0\n", "cannot be loaded: division by zero"),
        ("hello = 3\n", "is 3, which is neither a function nor a typer.Typer"),
    ],
)
def test_a_broken_one_gives_one_clear_line_and_leaves_the_help_whole(
    added: Added, module: str, reason: str
) -> None:
    added.add(module, "hello = zonal_hello:hello")
    failed = added.run("hello", "ann")
    assert failed.returncode == 1
    assert failed.stderr == f"zonal: 'zonal hello' of zonal-hello {reason}\n"
    shown = added.run("--help")
    assert shown.returncode == 0
    assert lines_of(shown.stdout).keys() >= {"hello", *commands.COMMANDS}
    assert "zonal-hello" in shown.stdout
    assert added.run("--version").returncode == 0


def test_our_own_commands_cannot_be_replaced(added: Added) -> None:
    added.add(FUNCTION, "encode = zonal_hello:hello")
    assert "Greet" not in added.run("--help").stdout
    assert "@s2/" in added.run("encode", "45.46,9.19").stdout


def with_entry_points(monkeypatch: pytest.MonkeyPatch, *entries: EntryPoint) -> None:
    def found(*, group: str) -> tuple[EntryPoint, ...]:
        assert group == "zonal.commands"
        return entries

    monkeypatch.setattr(commands, "entry_points", found)


def test_without_the_lab_its_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    with_entry_points(monkeypatch)
    assert "lab" not in commands.command_names()
    with pytest.raises(CommandError, match="pip install zonal-lab"):
        commands.load_command("lab")
    assert commands.load_command("laboratory") is None


def test_an_added_command_is_not_imported_before_it_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken = EntryPoint("broken", "no_such_package:app", commands.GROUP)
    with_entry_points(monkeypatch, broken)
    assert commands.command_names() == [*commands.COMMANDS, "broken"]
    assert isinstance(commands.load_command("mesh"), typer.Typer)
