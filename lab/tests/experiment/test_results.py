from __future__ import annotations

import sys
from pathlib import Path

import pytest

from toy_experiment import ToyCase, ToyPlan
from zonal_lab.errors import PlanError
from zonal_lab.experiment import Outcome, Results, manifest_of_now, numbers, require_known, words


def test_results_of_another_plan_or_experiment_are_not_mixed(tmp_path: Path) -> None:
    results = Results(tmp_path)
    results.begin("toy", ToyPlan())
    results.add(ToyCase("a", 0), Outcome({"doubled": 0}))
    for name, plan in (("toy", ToyPlan(3)), ("game", ToyPlan())):
        with pytest.raises(PlanError, match="another plan"):
            results.begin(name, plan)
    results.begin("toy", ToyPlan())
    assert results.has(ToyCase("a", 0))
    assert not results.has(ToyCase("a", 1))


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"manifest\.json is missing"):
        Results(tmp_path).manifest()
    Results(tmp_path).begin("toy", ToyPlan())
    with pytest.raises(PlanError, match="no finished case"):
        Results(tmp_path).records()
    Results(tmp_path).add(ToyCase("a", 0), Outcome())
    with pytest.raises(PlanError, match="no values"):
        Results(tmp_path).table("values")


def test_the_manifest_says_how_to_repeat(tmp_path: Path) -> None:
    results = Results(tmp_path)
    results.begin("toy", ToyPlan())
    kept = results.manifest()
    for name in ("commit", "kernel", "processor", "cores", "python", "versions", "command"):
        assert kept[name]
    assert kept["clean"] in {True, False, None}
    assert (kept["experiment"], kept["plan"], kept["seed"]) == (
        "toy",
        {"count": 2, "seconds": 1, "seed": 5},
        5,
    )


def test_a_run_continued_by_other_code_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = Results(tmp_path)
    results.begin("toy", ToyPlan())
    results.begin("toy", ToyPlan())
    assert "continued_by" not in results.manifest()
    monkeypatch.setattr("zonal_lab.experiment.results.commit_of_code", lambda: ("feed", True))
    for _ in range(2):
        results.begin("toy", ToyPlan())
    assert results.manifest()["continued_by"] == ["feed"]


def test_the_manifest_keeps_the_folders_of_this_machine_to_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["zonal", "lab", "--into", str(tmp_path / "out"), "a/b"])
    assert manifest_of_now()["command"] == ["zonal", "lab", "--into", "out", "a/b"]


def test_options_are_read_or_refused() -> None:
    assert words("a, b,,c") == ("a", "b", "c")
    assert numbers("1,20") == (1, 20)
    with pytest.raises(PlanError, match="whole numbers"):
        numbers("1,two")
    with pytest.raises(PlanError, match=r"unknown colour: \['pink'\]; there are red"):
        require_known("colour", ("red", "pink"), ("red",))
    with pytest.raises(PlanError, match="none given"):
        require_known("colour", (), ("red",))
