from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from toy_experiment import TOY, ToyPlan, ToyTrial
from zonal_lab import everything
from zonal_lab.command import EXPERIMENTS
from zonal_lab.errors import PlanError
from zonal_lab.everything import run_all_command, trials_of
from zonal_lab.experiment import Experiment
from zonal_lab.plans import plan_options

NO_DATA = {"traces": None, "geolife": None}


@pytest.mark.parametrize("name", ["short", "long"])
def test_a_committed_plan_has_every_experiment_and_five_rounds(name: str) -> None:
    trials = {each.name: trial for each, trial in trials_of(EXPERIMENTS, name, NO_DATA)}
    assert set(trials) == {each.name for each in EXPERIMENTS} == set(plan_options(name))
    for each in ("location", "latency", "geobroker", "scale"):
        assert trials[each].plan.rounds >= 5
    assert trials["reliability"].plan.samples >= 5
    assert all(trial.expected_s() > 0 for trial in trials.values())


def test_the_long_plan_is_as_long_as_was_promised() -> None:
    trials = {each.name: trial.plan for each, trial in trials_of(EXPERIMENTS, "long", NO_DATA)}
    assert trials["location"].seconds >= 60
    assert trials["geobroker"].seconds >= 300
    assert trials["reliability"].samples == 100


def test_an_unknown_plan_lists_the_known() -> None:
    with pytest.raises(PlanError, match="there are long, short, tiny"):
        plan_options("eternal")


def test_all_goes_on_after_a_failure_and_continues_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Experiment("broken", "Fails", lambda *, count=1: ToyTrial(ToyPlan(count), ["a-0"] * 2),
                        TOY.page)  # fmt: skip
    monkeypatch.setattr(everything, "plan_options", lambda _: {"broken": {}, "toy": {"count": 3}})
    app = typer.Typer()
    app.command()(run_all_command([broken, TOY]))
    first = CliRunner().invoke(app, ["--into", str(tmp_path)])
    assert first.exit_code == 1, first.output
    assert "plan short: 2 experiments, about 1 min" in first.output
    assert "2/2 toy, about 1 min left" in first.output
    assert "failed: a-0: it broke" in first.output
    assert (tmp_path / "toy" / "toy.md").exists()
    again = CliRunner().invoke(app, ["--into", str(tmp_path)])
    assert "6/6 b-2" not in again.output, "what is there is not run again"
