"""`zenohd` as a router: it links up, passes on what others want, and ends."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from zonal_lab.capture.plan import CapturePlan
from zonal_lab.capture.trial import CaptureTrial
from zonal_lab.discovery.plan import DiscoveryPlan
from zonal_lab.discovery.trial import DiscoveryTrial
from zonal_lab.errors import EmulationError
from zonal_lab.experiment import Results, Trial, run_trial
from zonal_lab.reliability.plan import ReliabilityPlan
from zonal_lab.reliability.trial import ReliabilityTrial
from zonal_lab.scale.router_cost import measure_router
from zonal_lab.scale.small_network import run_networks
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
def test_four_of_them_pass_on_what_is_declared() -> None:
    for found in run_networks(5, seed=2, zenohd=PROGRAM).values():
        assert found["received"] == found["expected"] > 0
        assert found["region_keys"] > 0, "as its admin space says"


@with_zenohd
def test_a_router_knows_more_keys_than_sessions_it_takes() -> None:
    found = measure_router(1200, seed=1, zenohd=PROGRAM)
    assert found["bytes_a_key"] > 0
    assert found["declare_cpu_s"] > 0


@with_zenohd
@pytest.mark.slow
@pytest.mark.usefixtures("emulating")
@pytest.mark.parametrize(
    "trial",
    [
        DiscoveryTrial(DiscoveryPlan(1, "zenohd"), Path(PROGRAM or "")),
        CaptureTrial(CapturePlan(20, routers="zenohd"), Path(PROGRAM or "")),
        ReliabilityTrial(
            ReliabilityPlan(1, 1, (1000,), ("tcp",), ("zenoh",), routers="zenohd"),
            Path(PROGRAM or ""),
        ),
    ],
    ids=["discovery", "capture", "reliability"],
)
def test_it_stands_where_an_experiment_has_a_router(tmp_path: Path, trial: Trial[Any]) -> None:
    results = Results(tmp_path)
    assert run_trial("any", trial, results) == []
    assert results.manifest()["data"]["router"].startswith("zenohd 1.")


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(EmulationError, match="does not start"):
        zenohd_version(str(tmp_path / "zenohd"))
