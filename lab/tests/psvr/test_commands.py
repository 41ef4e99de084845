"""A mesh to look at."""

from pathlib import Path

from typer.testing import CliRunner

from zonal_lab.psvr import app


def test_draw_command_writes_a_picture(tmp_path: Path) -> None:
    path = tmp_path / "mesh.png"
    arguments = ["draw", str(path), "--nodes", "10", "--reach", "0.5", "--subscribers", "3"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert path.read_bytes().startswith(b"\x89PNG")
