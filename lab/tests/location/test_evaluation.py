from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from zonal_lab.command import app
from zonal_lab.emulation import machine
from zonal_lab.emulation.trace import made_up_lte, read_trace
from zonal_lab.errors import EmulationError
from zonal_lab.experiment.results import Results
from zonal_lab.location.evaluation import Evaluation, scenario_topology, trace_files
from zonal_lab.location.plan import Case, Plan
from zonal_lab.location.scene import Outcome, Scene
from zonal_lab.location.summary import Condition, summarize

TINY = Plan(
    rounds=1,
    seconds=0.5,
    scenarios=("pair",),
    transports=("tcp",),
    cpu_percents=(100,),
    techniques=("PAYLOAD", "s2"),
)


@pytest.mark.usefixtures("emulating")
def test_a_plan_is_run_kept_and_not_run_again(tmp_path: Path) -> None:
    results = Results(tmp_path)
    told: list[str] = []
    Evaluation(
        TINY, results, on_case=lambda case, number: told.append(f"{number} {case.name}")
    ).run()
    assert told == ["0 pair-tcp-100-PAYLOAD-0", "1 pair-tcp-100-s2-0"]
    totals = summarize(results).totals(Condition("pair", "tcp", 100), "s2")
    assert totals is not None
    assert totals.loss == 0
    assert totals.unwanted == 0
    again: list[Case] = []
    Evaluation(TINY, results, on_case=lambda case, _: again.append(case)).run()
    assert again == []


@pytest.mark.usefixtures("emulating")
def test_a_failed_case_is_tried_again_on_a_fresh_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, broken = Scene.run, ["pair-tcp-100-PAYLOAD-0"]

    def sometimes(self: Scene, case: Case, seconds: float, *, skip_ms: int = 0) -> Outcome:
        if case.name in broken:
            broken.remove(case.name)
            raise EmulationError("a role has ended")
        return real(self, case, seconds, skip_ms=skip_ms)

    monkeypatch.setattr(Scene, "run", sometimes)
    results = Results(tmp_path)
    evaluation = Evaluation(TINY, results)
    evaluation.run()
    assert evaluation.failures == ["pair-tcp-100-PAYLOAD-0: a role has ended"]
    assert results.manifest()["failures"] == evaluation.failures
    assert all(results.has(case) for case in TINY.cases("pair"))


def test_clients_can_do_without_the_trace() -> None:
    traced = scenario_topology(Plan(), "zoning")
    plain = scenario_topology(Plan(client_links="plain"), "zoning")
    assert traced[13].card.trace_out == "TMobile-LTE-driving.down"
    assert traced[6].card.trace_in == "TMobile-LTE-driving.down"
    assert not any(node.card.has_trace for node in plain.nodes)
    assert plain[1].card.rate_mbit == 5


def test_a_made_up_trace_stands_in_for_a_missing_one(tmp_path: Path) -> None:
    topology = scenario_topology(Plan(), "zoning")
    files = trace_files(topology, (tmp_path / "nowhere",), tmp_path / "made-up")
    assert files == {"TMobile-LTE-driving.down": tmp_path / "made-up"}
    assert read_trace(tmp_path / "made-up").period_ms == made_up_lte().period_ms


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
def test_check_and_clean_speak(tmp_path: Path) -> None:
    del tmp_path
    checked = CliRunner().invoke(app, ["check"])
    assert checked.exit_code == 0
    assert "netem" in checked.output
    assert "removed" in CliRunner().invoke(app, ["clean"]).output
