"""`zenohd` as a router: it links up, passes on what others want, and ends."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from zonal_lab.errors import EmulationError
from zonal_lab.scale.small_network import run_network
from zonal_lab.systems import Zenohd, free_port, node_settings, zenohd_version

PROGRAM = shutil.which("zenohd")
with_zenohd = pytest.mark.skipif(PROGRAM is None, reason="zenohd is not on the path")


@with_zenohd
def test_it_says_how_many_routers_it_is_linked_to() -> None:
    here, there = (f"tcp/127.0.0.1:{free_port()}" for _ in range(2))
    first = Zenohd(str(PROGRAM), node_settings("router", listen=[here]))
    second = Zenohd(str(PROGRAM), node_settings("router", listen=[there], connect=[here]))
    try:
        assert second.routers() == 1
        assert first.routers() == 1
    finally:
        second.close()
        first.close()
    assert not Path(f"/proc/{first.pid}").exists()


@with_zenohd
def test_four_of_them_pass_on_what_the_areas_union_wants() -> None:
    found = run_network(5, seed=2, zenohd=PROGRAM)
    assert found["received"] == found["expected"] > 0


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(EmulationError, match="does not start"):
        zenohd_version(str(tmp_path / "zenohd"))
