from __future__ import annotations

import inspect
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from toy_experiment import TOY, ToyPlan, ToyTrial
from zonal_lab import everything
from zonal_lab.command import EXPERIMENTS
from zonal_lab.errors import PlanError
from zonal_lab.everything import TAKEN_BY, run_all_command, trials_of
from zonal_lab.experiment import Experiment
from zonal_lab.location.plan import SCENARIOS
from zonal_lab.plans import plan_options
from zonal_lab.psvr.plan import PsvrPlan
from zonal_lab.psvr.trial import PsvrTrial

NO_DATA: dict[str, Path | None] = dict.fromkeys(TAKEN_BY)


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


@pytest.mark.parametrize(("name", "hours"), [("short", (2, 4.5)), ("long", (24, 44))])
def test_a_plan_takes_about_as_long_as_it_says(name: str, hours: tuple[float, float]) -> None:
    least, most = hours
    for data in (NO_DATA, {each: Path(each) for each in TAKEN_BY}):
        trials = trials_of(EXPERIMENTS, name, data)
        assert least < sum(trial.expected_s() for _, trial in trials) / 3600 < most


def test_the_long_plan_of_location_has_every_layout_and_what_is_claimed() -> None:
    trials = {each.name: trial for each, trial in trials_of(EXPERIMENTS, "long", NO_DATA)}
    plan = trials["location"].plan
    assert plan.claimed_only
    assert set(plan.scenarios) == set(SCENARIOS)
    assert len(list(plan.cases())) == 9 * 6 * 5 + 5 + 1
    assert trials["location"].expected_s() < 5.5 * 3600


def test_every_experiment_is_given_what_it_takes() -> None:
    """The table names every option for a folder or a file, but that of another router program."""
    for experiment in EXPERIMENTS:
        parameters = inspect.signature(experiment.trial, eval_str=False).parameters
        paths = {name for name, each in parameters.items() if "Path" in str(each.annotation)}
        taken = {name for name, takers in TAKEN_BY.items() if experiment.name in takers}
        assert paths == taken, experiment.name
    everything_given = {name: Path(name) for name in TAKEN_BY}
    assert len(trials_of(EXPERIMENTS, "tiny", everything_given)) == len(EXPERIMENTS)


def test_all_hands_on_what_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[Path | None, Path | None]] = []

    def trial(*, geolife: Path | None = None, programs: Path | None = None) -> ToyTrial:
        given.append((geolife, programs))
        return ToyTrial(ToyPlan(1))

    peers = Experiment("peers", "Takes programs", trial, TOY.page)
    monkeypatch.setattr(everything, "plan_options", lambda _: {"peers": {}})
    app = typer.Typer()
    app.command()(run_all_command([peers]))
    options = ["--into", str(tmp_path), "--programs", str(tmp_path), "--trace", "links.k7"]
    done = CliRunner().invoke(app, options)
    assert done.exit_code == 0, done.output
    assert given == [(None, tmp_path)]


def test_hours_on_recorded_links_are_in_the_estimate() -> None:
    minutes = {
        hours: PsvrTrial(PsvrPlan((("recorded", 50),), hours=hours), Path("k7.gz")).expected_s()
        / 60
        for hours in (1.0, 10.0)
    }
    assert minutes[1.0] == pytest.approx(40, rel=0.05), "as was measured"
    assert minutes[10.0] > 8 * minutes[1.0]
    tests = {n: PsvrTrial(PsvrPlan((("processes", 10),), tests=n)).expected_s() for n in (5, 20)}
    assert tests[20] == 4 * tests[5]


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
