from __future__ import annotations

from pathlib import Path

import pytest

from zonal_lab.emulation import made_up_lte, read_trace
from zonal_lab.errors import EmulationError, TraceError
from zonal_lab.experiment import Results, run_trial
from zonal_lab.location.plan import LocationCase, LocationPlan
from zonal_lab.location.scene import Scene, SceneRun
from zonal_lab.location.summary import Condition, summarize
from zonal_lab.location.trial import LocationTrial, scenario_topology

TINY = LocationPlan(
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
    assert run_trial("location", LocationTrial(TINY), results, on_case=told_by(told)) == []
    assert told == ["0 pair-tcp-100-PAYLOAD-0", "1 pair-tcp-100-s2-0"]
    totals = summarize(results).totals(Condition("pair", "tcp", 100), "s2")
    assert totals is not None
    assert totals.loss == 0
    assert totals.unwanted == 0
    again: list[str] = []
    run_trial("location", LocationTrial(TINY), results, on_case=told_by(again))
    assert again == []


def told_by(told: list[str]):  # noqa: ANN201 - a callback
    return lambda name, number: told.append(f"{number} {name}")


@pytest.mark.usefixtures("emulating")
def test_a_failed_case_is_tried_again_on_a_fresh_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, broken = Scene.run, ["pair-tcp-100-PAYLOAD-0"]

    def sometimes(self: Scene, case: LocationCase, seconds: float, *, skip_ms: int = 0) -> SceneRun:
        if case.name in broken:
            broken.remove(case.name)
            raise EmulationError("a role has ended")
        return real(self, case, seconds, skip_ms=skip_ms)

    monkeypatch.setattr(Scene, "run", sometimes)
    results = Results(tmp_path)
    failures = run_trial("location", LocationTrial(TINY), results)
    assert failures == ["pair-tcp-100-PAYLOAD-0: a role has ended"]
    assert results.manifest()["failures"] == failures
    assert all(results.has(case) for case in TINY.cases())


def test_clients_can_do_without_the_trace() -> None:
    traced = scenario_topology(LocationPlan(), "zoning")
    plain = scenario_topology(LocationPlan(client_links="plain"), "zoning")
    assert traced[13].card.trace_out == "TMobile-LTE-driving.down"
    assert traced[6].card.trace_in == "TMobile-LTE-driving.down"
    assert not any(node.card.has_trace for node in plain.nodes)
    assert plain[1].card.rate_mbit == 5


def test_without_a_folder_of_traces_a_made_up_one_is_used_and_said_to_be(tmp_path: Path) -> None:
    plan = LocationPlan(rounds=1, seconds=1.0)
    results = Results(tmp_path)
    results.begin("location", plan)
    data = LocationTrial(plan).prepare(results)
    assert "made up in place of TMobile-LTE-driving.down" in data["packet trace of the clients"]
    kept = read_trace(tmp_path / "made-up-lte.trace")
    assert kept.period_ms == made_up_lte().period_ms
    assert set(results.manifest()["trace_floor_ms"]) == set(plan.scenarios)


def test_a_folder_that_lacks_the_trace_is_an_error(tmp_path: Path) -> None:
    plan = LocationPlan(rounds=1, seconds=1.0)
    results = Results(tmp_path / "results")
    results.begin("location", plan)
    with pytest.raises(TraceError, match="has no trace TMobile-LTE-driving"):
        LocationTrial(plan, tmp_path).prepare(results)
