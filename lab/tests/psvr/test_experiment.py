"""The evaluation at small size, through the runner and the page that all experiments share."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from zonal_lab.command import app
from zonal_lab.experiment import Results
from zonal_lab.psvr.channels import write_k7
from zonal_lab.psvr.parts import PARTS
from zonal_lab.psvr.parts.messages import message_gain
from zonal_lab.psvr.sweep import sweep


def run(folder: Path, *arguments: str) -> str:
    command = ["run", "psvr", "--quick", "--into", str(folder), *arguments]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    return (folder / "psvr.md").read_text()


@pytest.mark.parametrize(
    ("part", "says"),
    [
        ("messages", "below 8 % more messages"),
        ("delivery", "close to identical"),
        ("routes", "a shorter mean route"),
        ("density", "where the network is densest"),
        ("recovery", "no corrupted state from which"),
        ("channels", "beacons know nothing of channels"),
        ("rest", "| every 4 s | 90"),  # 900 beacons an hour
    ],
)
def test_each_part_gives_rows_a_section_and_verdicts(tmp_path: Path, part: str, says: str) -> None:
    page = run(tmp_path, "--parts", part)
    assert says in page
    assert f"## {PARTS[part].title}" in page
    results = Results(tmp_path)
    assert results.manifest()["experiment"] == "psvr"
    assert "processor" in results.manifest()
    (record,) = results.records()
    assert record.case["part"] == part
    assert len(pq.read_table(results.samples("rows")[0])) > 1
    assert (tmp_path / f"psvr-{part}.png").exists() is PARTS[part].draws


@pytest.mark.slow
def test_processes_and_recorded_links_on_a_given_trace(tmp_path: Path) -> None:
    made = tmp_path / "made.k7"
    write_k7(made, {(a, b): 0.97 for a in range(10) for b in range(10) if 0 < abs(a - b) <= 2})
    page = run(tmp_path / "out", "--parts", "recorded,processes", "--trace", str(made))
    assert "the recorded ones of made.k7" in page
    assert "10 processes, links cut" in page
    for row in pq.read_table(tmp_path / "out/rows/processes-10.parquet").to_pylist():
        assert 0 < row["got"] <= row["reachable"] <= row["wanted"]


def test_without_a_trace_the_page_says_that_links_are_made_up(tmp_path: Path) -> None:
    page = run(tmp_path, "--parts", "recorded")
    assert "- Links: made up by chance" in page
    assert str(tmp_path) not in page


def test_a_part_that_is_none_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["run", "psvr", "--parts", "fig7", "--into", str(tmp_path)])
    assert done.exit_code != 0
    assert "unknown parts" in str(done.exception)


@pytest.mark.slow
def test_sweep_on_spark_gives_the_rows_of_the_plain_one() -> None:
    tasks = [{"n": 12, "p": 0.4, "s": 3, "publishers": 4, "seed": seed} for seed in range(3)]
    assert sweep(message_gain, tasks, master="local[1]") == sweep(message_gain, tasks)
