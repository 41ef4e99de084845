"""The evaluation at small size, through the runner and the page that all experiments share."""

import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from zonal.errors import MeshError
from zonal_lab.command import app
from zonal_lab.experiment import Results
from zonal_lab.psvr.channels import recorded_ways, write_k7
from zonal_lab.psvr.parts import PARTS, Row
from zonal_lab.psvr.parts.messages import message_gain
from zonal_lab.psvr.plan import PsvrPlan, Recordings
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
        ("subscribing", "within O(n) rounds"),
        ("channels", "beacons know nothing of channels"),
        ("rest", "| none | 4 s | 8"),  # 900 beacons an hour, or nearly
        ("joining", "rounds, mean"),
        ("weak-links", "lose half"),
        ("moving", "random waypoints"),
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
def test_processes_on_the_move(tmp_path: Path) -> None:
    run(tmp_path, "--parts", "moving-processes")
    for row in pq.read_table(tmp_path / "rows/moving-processes.parquet").to_pylist():
        assert 0.8 * row["possible"] < row["got"]


def test_recorded_journeys_stay_in_the_square(tmp_path: Path) -> None:
    folder = tmp_path / "000/Trajectory"
    folder.mkdir(parents=True)
    lines = [f"{39.9 + step / 2000},116.3,0,100,0,2008-10-23,02:{step // 60:02}:{step % 60:02}"
             for step in range(0, 600, 5)]  # fmt: skip
    (folder / "20081023.plt").write_text("\n".join(["header"] * 6 + lines) + "\n")
    (way,) = recorded_ways(tmp_path, 1, 400.0, 300.0, random.Random(1)).values()
    places = [way.at(time) for time in range(0, 2000, 7)]
    assert all(0 <= x <= 400 and 0 <= y <= 400 for x, y in places)
    assert way.speed_m_s > 10
    with pytest.raises(MeshError, match="has 1 journeys"):
        recorded_ways(tmp_path, 2, 400.0, 300.0, random.Random(1))


@pytest.mark.slow
def test_sweep_on_spark_gives_the_rows_of_the_plain_one() -> None:
    tasks = [{"n": 12, "p": 0.4, "s": 3, "publishers": 4, "seed": seed} for seed in range(3)]
    assert sweep(message_gain, tasks, master="local[1]") == sweep(message_gain, tasks)


def test_a_sweep_that_was_stopped_goes_on_after_the_last_task_that_ended(tmp_path: Path) -> None:
    ran: list[int] = []

    def work(task: Row) -> Row:
        if task["n"] == 2 and ran.count(2) == 0:
            ran.append(2)
            raise KeyboardInterrupt
        ran.append(task["n"])
        return task | {"got": task["n"] / 3}

    tasks: list[Row] = [{"n": number} for number in range(4)]
    with pytest.raises(KeyboardInterrupt):
        sweep(work, tasks, done=tmp_path / "tasks")
    assert sweep(work, tasks, done=tmp_path / "tasks") == [
        task | {"got": task["n"] / 3} for task in tasks
    ]
    assert ran == [0, 1, 2, 2, 3]


def test_points_and_radios_are_cases_of_their_own() -> None:
    plan, links = PsvrPlan((("density", 0),)), Recordings(Path("none.k7"))
    models = {
        n: {task["model"] for task in PARTS["density"].tasks(plan, links, n)}
        for n in PARTS["density"].sizes
    }
    assert models == {100: {"plane"}, 50: {"radio", "ideal"}}
