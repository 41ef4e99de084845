"""The evaluation at small size: each command writes data, a manifest, a picture and a sentence."""

import json
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from zonal.cli.mesh import app as mesh_app
from zonal_lab.psvr.command import app
from zonal_lab.psvr.sweep import read_rows, sweep, write_rows
from zonal_lab.psvr.tasks import connected_nodes, message_gain
from zonal_lab.psvr.traces import read_k7, write_k7


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


def test_nodes_of_a_trace_that_hang_together(tmp_path: Path) -> None:
    made = tmp_path / "made.k7"
    write_k7(made, dict.fromkeys(((0, 1), (1, 0), (1, 2), (2, 1), (5, 6), (6, 5)), 0.9))
    assert connected_nodes(read_k7(made), 3, 1000.0) == {0, 1, 2}


def test_draw_command_writes_a_picture(tmp_path: Path) -> None:
    path = tmp_path / "mesh.png"
    arguments = ["draw", str(path), "--nodes", "10", "--reach", "0.5", "--subscribers", "3"]
    result = CliRunner().invoke(mesh_app, arguments)
    assert result.exit_code == 0, result.output
    assert path.read_bytes().startswith(b"\x89PNG")


def test_node_command_talks_to_its_neighbour() -> None:
    def free_port() -> int:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            return int(probe.getsockname()[1])

    one, two = free_port(), free_port()

    def start(me: int, port: int, other: int, there: int, *more: str) -> subprocess.Popen[str]:
        arguments = ["node", "--id", str(me), "--port", str(port), "--seconds", "60"]
        arguments += ["--peer", f"{other}=127.0.0.1:{there}", *more]
        code = f"from zonal.cli.mesh import app; app({arguments!r})"
        return subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    listener = start(1, one, 2, two, "--subscribe", "5")
    speaker = start(2, two, 1, one, "--publish", "5")
    try:
        assert "listens on" in listener.stdout.readline()
        assert "listens on" in speaker.stdout.readline()
        done = threading.Event()

        def keep_saying() -> None:  # until the two have found each other
            while not done.wait(0.5):
                speaker.stdin.write("hello\n")
                speaker.stdin.flush()

        thread = threading.Thread(target=keep_saying)
        thread.start()
        try:
            assert listener.stdout.readline() == "5 from 2: hello\n"
        finally:
            done.set()
            thread.join()
    finally:
        for process in (listener, speaker):
            process.kill()
            process.communicate()
