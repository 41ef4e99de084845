from __future__ import annotations

from pathlib import Path

from toy_experiment import ToyPlan, ToyTrial
from zonal_lab.experiment import Results, in_turn, run_trial


def run(trial: ToyTrial, folder: Path) -> tuple[list[str], list[str]]:
    """The failures, and the cases with their numbers as they were told."""
    told: list[str] = []
    failures = run_trial(
        "toy", trial, Results(folder), on_case=lambda name, number: told.append(f"{number} {name}")
    )
    return failures, told


def test_cases_of_a_group_share_a_stage_and_are_kept(tmp_path: Path) -> None:
    trial = ToyTrial(ToyPlan())
    assert run(trial, tmp_path) == ([], ["0 a-0", "1 a-1", "2 b-0", "3 b-1"])
    assert trial.stages == ["a", "b"]
    results = Results(tmp_path)
    assert [record.figures for record in results.records()] == [{"doubled": 0}, {"doubled": 2}] * 2
    assert results.table("values")["value"].to_pylist() == [0, 0, 1, 2] * 2


def test_what_is_there_is_not_run_again(tmp_path: Path) -> None:
    run(ToyTrial(ToyPlan()), tmp_path)
    (tmp_path / "cases" / "b-0.json").unlink()
    again = ToyTrial(ToyPlan())
    assert run(again, tmp_path) == ([], ["2 b-0"])
    assert again.stages == ["b"]


def test_a_failed_case_is_tried_once_more_on_a_new_stage_after_the_others(tmp_path: Path) -> None:
    trial = ToyTrial(ToyPlan(), broken=["a-0"])
    failures, told = run(trial, tmp_path)
    assert told == ["0 a-0", "1 a-1", "0 a-0", "2 b-0", "3 b-1"]
    assert trial.stages == ["a", "a", "a", "b"]
    assert failures == ["a-0: it broke"]
    assert Results(tmp_path).manifest()["failures"] == failures
    assert len(Results(tmp_path).records()) == 4


def test_a_case_that_fails_twice_is_left_out(tmp_path: Path) -> None:
    failures, _ = run(ToyTrial(ToyPlan(), broken=["b-1", "b-1"]), tmp_path)
    assert failures == ["b-1: it broke"] * 2
    assert [record.name for record in Results(tmp_path).records()] == ["a-0", "a-1", "b-0"]


def test_the_data_is_told_and_noted(tmp_path: Path) -> None:
    told: list[str] = []
    run_trial("toy", ToyTrial(ToyPlan()), Results(tmp_path), on_data=told.append)
    assert told == ["numbers: made up"]
    manifest = Results(tmp_path).manifest()
    assert manifest["data"] == {"numbers": "made up"}
    assert manifest["minutes"] >= 0


def test_every_round_begins_with_another() -> None:
    assert [in_turn("abc", number) for number in range(4)] == [
        ["a", "b", "c"],
        ["b", "c", "a"],
        ["c", "a", "b"],
        ["a", "b", "c"],
    ]
    assert in_turn([], 3) == []
