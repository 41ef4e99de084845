"""The evaluation at small size: each command writes data, a manifest, a picture and a sentence."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from zonal_lab.psvr import app
from zonal_lab.psvr.channels import write_k7
from zonal_lab.psvr.sweep import read_rows, sweep, write_rows
from zonal_lab.psvr.tasks import message_gain


@pytest.mark.parametrize(
    ("figure", "says"),
    [
        ("fig7", "below 8 %"),
        ("fig8", "close to identical"),
        ("fig9", "up to 3 hops"),
        ("fig10", "the denser"),
        ("recovery", "0 without recovery"),
    ],
)
def test_each_figure_from_one_command(tmp_path: Path, figure: str, says: str) -> None:
    result = CliRunner().invoke(
        app, [figure, "--quick", "--out", str(tmp_path), "--master", "none"]
    )
    assert result.exit_code == 0, result.output
    assert (tmp_path / f"{figure}.csv").read_text().count("\n") > 1
    assert json.loads((tmp_path / f"{figure}.manifest.json").read_text())["rows"] > 0
    assert says in (tmp_path / f"{figure}.txt").read_text()
    assert len(list(tmp_path.glob("mesh-*.png"))) == 1


@pytest.mark.slow
def test_figure_11_with_real_processes_and_a_made_trace(tmp_path: Path) -> None:
    made = tmp_path / "made.k7"
    write_k7(made, {(a, b): 0.97 for a in range(10) for b in range(10) if 0 < abs(a - b) <= 2})
    arguments = ["fig11", "--quick", "--out", str(tmp_path), "--trace", str(made)]
    result = CliRunner().invoke(app, [*arguments, "--master", "none"])
    assert result.exit_code == 0, result.output
    assert "10 processes" in (tmp_path / "fig11.txt").read_text()
    for row in read_rows(tmp_path / "fig11-nodes-10.csv"):
        assert 0 < row["got"] <= row["reachable"] <= row["wanted"]


def test_figure_11_without_a_trace_says_that_its_links_are_made_up(tmp_path: Path) -> None:
    arguments = ["fig11", "--quick", "--part", "trace", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, [*arguments, "--master", "none"])
    assert result.exit_code == 0, result.output
    assert "links made up by chance: Simulated: 10 nodes" in (tmp_path / "fig11.txt").read_text()
    assert "recorded" not in result.output


@pytest.mark.slow
def test_sweep_on_spark_gives_the_rows_of_the_plain_one() -> None:
    tasks = [{"n": 12, "p": 0.4, "s": 3, "publishers": 4, "seed": seed} for seed in range(3)]
    plain = sweep(message_gain, tasks, "plain", master=None)
    spark = sweep(message_gain, tasks, "spark", master="local[1]")
    assert spark == plain


def test_rows_come_back_from_their_file_as_they_were(tmp_path: Path) -> None:
    rows = [{"n": 3, "share": 0.5, "acknowledged": True, "radio": "channel 20"}]
    write_rows(tmp_path, "some", rows, "zonal lab psvr some", 1)
    assert read_rows(tmp_path / "some.csv") == rows


def test_the_cost_of_channels_is_a_table() -> None:
    arguments = ["channels", "--number", "8", "--number", "80", "--nodes", "8"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    *_, few, many = (
        [cell.strip() for cell in line.split("|")] for line in result.output.split("\n")[:4]
    )
    assert (few[1], many[1]) == ("8", "80")
    assert few[4].partition(",")[0] == many[4].partition(",")[0]  # beacons know nothing of channels


def test_the_cost_of_rest_is_a_table() -> None:
    result = CliRunner().invoke(app, ["rest", "--periods", "4", "--nodes", "6"])
    assert result.exit_code == 0, result.output
    assert "| every 4 s | 9" in result.output.splitlines()[2]  # 900 beacons an hour


def test_draw_command_writes_a_picture(tmp_path: Path) -> None:
    path = tmp_path / "mesh.png"
    arguments = ["draw", str(path), "--nodes", "10", "--reach", "0.5", "--subscribers", "3"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert path.read_bytes().startswith(b"\x89PNG")
