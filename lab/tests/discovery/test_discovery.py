from __future__ import annotations

from pathlib import Path

import pytest

from zonal_lab.discovery import EXPERIMENT
from zonal_lab.discovery.plan import CASES, DiscoveryPlan
from zonal_lab.discovery.trial import DiscoveryTrial
from zonal_lab.experiment import Outcome, Results, run_trial


def test_nodes_are_told_only_of_nodes_that_are_there() -> None:
    for case in CASES:
        assert len(case.modes) == len(case.told)
        addresses = [f"10.0.0.{number}" for number in range(len(case.modes))]
        for number in range(len(case.modes)):
            config = case.config(number, addresses)
            own = f"tcp/{addresses[number]}:7447"
            assert own not in config["connect"]["endpoints"]
            assert ("listen" in config) == (case.modes[number] != "client")
        # Who scouts by nothing must be told, or it would never meet anybody.
        if case.scouting == "told":
            assert case.told[-1]


def test_the_page_shows_what_was_measured(tmp_path: Path) -> None:
    results = Results(tmp_path)
    results.begin("discovery", DiscoveryPlan(rounds=2))
    results.add(CASES[0], Outcome({"open_ms": [10.0, 20.0], "first_ms": [30.0, None]}))
    page = EXPERIMENT.report(results, tmp_path).read_text()
    assert "| clique | multicast | 15 | 30 | 30 | 1 |" in page


@pytest.mark.slow
@pytest.mark.usefixtures("emulating")
def test_every_topology_delivers_but_peers_that_are_not_linked(tmp_path: Path) -> None:
    results = Results(tmp_path)
    assert run_trial("discovery", DiscoveryTrial(DiscoveryPlan(rounds=1)), results) == []
    found = {record.name: record.figures for record in results.records()}
    for case in CASES:
        assert (found[case.name]["first_ms"] == [None]) == case.silent, case
