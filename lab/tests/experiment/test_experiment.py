from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from toy_experiment import TOY
from zonal_lab.experiment import report_command, run_command

app = typer.Typer()
app.command("run")(run_command(TOY))
app.command("report")(report_command(TOY))


def test_a_run_takes_its_options_and_ends_with_its_page(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["run", "--count", "3", "--into", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "numbers: made up" in done.output
    assert f"page: {tmp_path}/toy.md" in done.output.replace("\n", "")
    page = (tmp_path / "toy.md").read_text()
    assert page.startswith("# Doubled numbers\n\nRun on 20")
    assert "- Numbers: made up.\n" in page
    assert "\ndoubled\n0, 2, 4, 0, 2, 4\n## How it was run\n" in page
    assert "## The claims of Toy 1999" in page
    assert "| numbers double | 1 | × 2 | × 2.00 (4 rounds, no interval) | cannot be told |" in page
    assert (tmp_path / "toy.txt").exists()


def test_quick_and_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["run", "--quick"])
    assert done.exit_code == 0, done.output
    (page,) = tmp_path.glob("out/lab/toy-*/toy.md")
    assert "\n0, 0\n" in page.read_text()


def test_a_report_goes_where_it_is_asked_under_the_name_it_is_given(tmp_path: Path) -> None:
    results = tmp_path / "results"
    CliRunner().invoke(app, ["run", "--into", str(results)])
    to = tmp_path / "pages"
    arguments = ["report", str(results), "--to", str(to), "--name", "other", "--loud"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert "\nDOUBLED\n" in (to / "other.md").read_text()
    assert (to / "other.txt").exists()


def test_help_shows_the_options_of_the_experiment() -> None:
    shown = CliRunner().invoke(app, ["run", "--help"], env={"COLUMNS": "200"}).output
    assert "Double numbers." in shown
    for option in ("--quick", "--count", "--into"):
        assert option in shown
    assert "--options" not in shown
