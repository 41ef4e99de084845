from __future__ import annotations

import pytest
from typer.testing import CliRunner

import zonal_lab
from zonal_lab.command import EXPERIMENTS, app
from zonal_lab.emulation import machine
from zonal_lab.errors import EmulationError


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda each: each.name)
def test_every_experiment_is_run_and_reported_by_the_same_commands(experiment) -> None:  # noqa: ANN001 - an Experiment
    run = CliRunner().invoke(app, ["run", experiment.name, "--help"], env={"COLUMNS": "200"})
    assert run.exit_code == 0
    assert "--quick" in run.output
    assert "--into" in run.output
    report = CliRunner().invoke(app, ["report", experiment.name, "--help"], env={"COLUMNS": "200"})
    assert report.exit_code == 0
    assert "--to" in report.output
    assert "--name" in report.output
    # One name in code, command, results folder and page.
    assert getattr(zonal_lab, experiment.name).EXPERIMENT is experiment


def test_without_root_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(machine.shutil, "which", lambda name: None if name == "tc" else "/bin/x")
    done = CliRunner().invoke(app, ["check"])
    assert done.exit_code == 1
    assert "sudo" in done.output
    assert "apt-get install iproute2" in done.output
    with pytest.raises(EmulationError, match="sudo"):
        machine.examine_machine().require()


@pytest.mark.usefixtures("emulating")
def test_check_and_clean_speak() -> None:
    checked = CliRunner().invoke(app, ["check"])
    assert checked.exit_code == 0
    assert "netem" in checked.output
    assert "removed" in CliRunner().invoke(app, ["clean"]).output
