from __future__ import annotations

import json
from pathlib import Path

import pytest

from toy_experiment import TOY, ToyPlan, ToyTrial
from zonal_lab.errors import PlanError
from zonal_lab.experiment import Results, differences, keep, kept, run_trial, write_pages


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """A folder with one page made from kept data."""
    results = Results(tmp_path / "results")
    run_trial("toy", ToyTrial(ToyPlan(6)), results)
    root = tmp_path / "evaluation"
    keep(results, TOY, root)
    write_pages(root, [TOY])
    return root


def test_kept_results_are_those_that_were_run(pages: Path, tmp_path: Path) -> None:
    ran = Results(tmp_path / "results")
    again = kept.unpack(pages / "toy" / "toy.data", tmp_path / "again")
    assert again.records() == ran.records()
    assert again.table("values") == ran.table("values")
    assert again.manifest()["plan"] == ran.manifest()["plan"]


def test_a_page_and_the_summary_are_verified(pages: Path) -> None:
    assert list(differences(pages, [TOY])) == []
    summary = (pages / "README.md").read_text()
    assert "| numbers double | 1 | × 2 | × 2.00 (× 2.00 to × 2.00; 10 rounds) | holds |" in summary
    assert "[toy](toy/toy.md)" in summary


@pytest.mark.parametrize("file", ["toy/toy.md", "README.md"])
def test_a_number_that_was_changed_is_found(pages: Path, file: str) -> None:
    path = pages / file
    path.write_text(path.read_text().replace("× 2.00", "× 2.01", 1))
    (found,) = differences(pages, [TOY])
    assert file in found
    assert "× 2.01" in found


def test_data_that_was_changed_is_found(pages: Path) -> None:
    path = pages / "toy" / "toy.data" / "cases.json"
    cases = json.loads(path.read_text())
    cases[-1]["figures"]["doubled"] += 1
    path.write_text(json.dumps(cases))
    assert len(list(differences(pages, [TOY]))) == 2


def test_a_page_without_data_is_found(pages: Path) -> None:
    (pages / "toy" / "old.md").write_text("# Old numbers\n\n12 %\n")
    (found,) = differences(pages, [TOY])
    assert found == f"{pages / 'toy' / 'old.md'} has no data"


def test_a_page_of_an_older_commit_says_so(pages: Path) -> None:
    kept.note(pages / "toy" / "toy.data", commit="0" * 12)
    write_pages(pages, [TOY])
    assert "**From an older commit**" in (pages / "toy" / "toy.md").read_text()
    assert "(older than the code)" in (pages / "README.md").read_text()
    assert list(differences(pages, [TOY])) == []


@pytest.mark.parametrize(
    ("other", "started", "judges"),
    [
        (ToyPlan(5), "2099", "toy"),  # with 8 rounds, not 10
        (ToyPlan(7), "1999", "another"),
        (ToyPlan(4, seconds=60), "1999", "another"),  # with 6 rounds
        (ToyPlan(9, seconds=0.5), "2099", "toy"),
        (ToyPlan(3, seconds=60), "2099", "toy"),  # with 4 rounds, from which nothing is told
        (ToyPlan(6), "1999", "toy"),
        (ToyPlan(6), "2099", "another"),
    ],
)
def test_a_claim_that_two_runs_measured_is_judged_by_the_longer_one_then_by_rounds_then_by_date(
    pages: Path, tmp_path: Path, other: ToyPlan, started: str, judges: str
) -> None:
    results = Results(tmp_path / "other")
    run_trial("toy", ToyTrial(other), results)
    results.note(started=started)
    keep(results, TOY, pages, "another")
    write_pages(pages, [TOY])
    (claim,) = (
        line
        for line in (pages / "README.md").read_text().splitlines()
        if line.startswith("| numbers double |")
    )
    assert f"| [{judges}](toy/{judges}.md)" in claim


def test_a_run_with_zenohd_as_routers_stands_behind_the_usual_ones(
    pages: Path, tmp_path: Path
) -> None:
    results = Results(tmp_path / "zenohd")
    run_trial("toy", ToyTrial(ToyPlan(9)), results)
    results.note(plan={**results.manifest()["plan"], "routers": "zenohd"})
    keep(results, TOY, pages, "toy-zenohd")
    write_pages(pages, [TOY])
    assert "16 rounds" in (pages / "toy" / "toy-zenohd.md").read_text()
    assert "10 rounds) | holds | [toy](toy/toy.md)" in (pages / "README.md").read_text()


def test_too_much_data_is_refused_and_what_was_kept_before_stays(
    pages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(pages)
    results = Results(tmp_path / "more")
    run_trial("toy", ToyTrial(ToyPlan(7)), results)
    monkeypatch.setattr(kept, "MOST_BYTES", 100)
    with pytest.raises(PlanError, match=r"MiB more than the 0.00 MiB .*`zonal lab keep --name`"):
        keep(results, TOY, pages)
    assert contents(pages) == before
    with pytest.raises(PlanError, match="MiB"):
        keep(results, TOY, pages, "another")
    assert contents(pages) == before


def test_whatever_goes_wrong_what_was_kept_before_stays(pages: Path, tmp_path: Path) -> None:
    before = contents(pages)
    results = Results(tmp_path / "broken")
    run_trial("toy", ToyTrial(ToyPlan(7)), results)
    (next((tmp_path / "broken" / "values").iterdir())).write_bytes(b"no Parquet")
    with pytest.raises(ValueError, match="Parquet"):
        keep(results, TOY, pages)
    assert contents(pages) == before


def test_what_is_kept_takes_the_place_of_what_was(pages: Path, tmp_path: Path) -> None:
    results = Results(tmp_path / "other")
    run_trial("toy", ToyTrial(ToyPlan(3)), results)
    (pages / "toy" / "toy.data" / "old.parquet").write_bytes(b"of a kind that is no more")
    keep(results, TOY, pages)
    assert kept.unpack(pages / "toy" / "toy.data", tmp_path / "again").records() == (
        results.records()
    )
    assert not [path for path in contents(pages) if "old" in path or "new" in path]


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a folder, hidden ones too."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
