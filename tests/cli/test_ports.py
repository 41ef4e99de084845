"""Every command that listens refuses a port that is none."""

from __future__ import annotations

import pytest

from command_line import run_zonal


@pytest.mark.parametrize(
    "line",
    [
        "broker --port 99999",
        "broker --port -1 --listener mqtt://127.0.0.1:99999",
        "serve --port 99999",
        "demo --port 99999",
        "router --listen tcp/127.0.0.1:99999",
        "router --listen tcp/127.0.0.1:0 --metrics 99999",
    ],
)
def test_every_command_refuses_what_is_none(line: str) -> None:
    done = run_zonal(*line.split())
    assert done.returncode == 1
    assert "a port is a number from 0 to 65,535, not '99999'" in done.stderr
    assert len(done.stderr.splitlines()) == 1
