from __future__ import annotations

from pathlib import Path

import pytest

from zonal_lab.errors import PlanError
from zonal_lab.experiment import Outcome, Results, run_trial
from zonal_lab.reliability import EXPERIMENT
from zonal_lab.reliability.hosts import Sample
from zonal_lab.reliability.pictures import draw_bursts
from zonal_lab.reliability.plan import ReliabilityCase, ReliabilityPlan
from zonal_lab.reliability.samples import (
    ROUND_TRIPS,
    ReliabilityFigures,
    Spread,
    kept_trips,
    read_figures,
    round_trip_table,
)
from zonal_lab.reliability.trial import ReliabilityTrial


def test_long_bursts_are_thinned_evenly() -> None:
    table = round_trip_table([Sample(5000, 0, 1.0, [float(each) for each in range(5000)])])
    kept = table["rtt_us"].to_pylist()
    assert len(kept) == kept_trips(1) == 2000
    assert (kept[0], kept[-1]) == (0, 4_999_000)
    assert [kept_trips(samples) for samples in (5, 10, 100)] == [2000, 2000, 200]


def test_a_plan_covers_the_published_cases_and_recovery() -> None:
    plan = ReliabilityPlan()
    plain = [case for case in plan.bursts() if case.stack == "zenoh"]
    assert len(plain) == 3 * 2 * 4
    assert {case.count * case.size for case in plain} == {5_000_000}
    everything = list(plan.cases())
    assert len({case.name for case in everything}) == len(everything) == 54 + 12
    with pytest.raises(PlanError):
        ReliabilityPlan(sizes=(42,))


def test_the_page_shows_losses_and_the_spread_of_all_round_trips(tmp_path: Path) -> None:
    results = Results(tmp_path)
    results.begin("reliability", ReliabilityPlan(samples=6))
    sent = [Sample(5000, 0, 1.0, [1.0, 2.0, 3.0]), Sample(2500, 3, 1.0, [4.0, 5.0])] * 3
    for block in (True, False):
        case = ReliabilityCase("zenoh", "tcp", True, block, 1000)
        lost = [1 - each.received / case.count for each in sent]
        figures = {"lost": [0.0] * 6 if block else lost, "copies": 3, "seconds": [1.0] * 6}
        results.add(case, Outcome(figures, {ROUND_TRIPS: round_trip_table(sent)}))
    page = EXPERIMENT.report(results, tmp_path).read_text()
    row = "| reliable, drop | 1000 | 25.00% | 0.00% – 50.00% | 3 | 3.0 | 1.0 – 5.0 | 5.0 |"
    assert row in page
    held = "0.00 % (0.00 % to 0.00 %; 6 rounds) | holds |"
    assert f"block, reliable: nothing lost in any case | reliability, bursts | – | {held}" in page
    # Half of every second sample is lost with drop: so much is certain, how much is not.
    assert "drop loses messages even over TCP, in every case | 5.3, figure 5.9 | > 0 %" in page
    assert (tmp_path / "reliability.png").stat().st_size > 5000


def test_the_picture_has_panels_for_what_was_run_and_is_the_same_each_time(tmp_path: Path) -> None:
    spread = Spread(median=3.0, p25=2.0, p75=4.0, p0_5=1.0, p99_5=5.0, longest=5.0)
    figures = ReliabilityFigures([0.1], 0, [1.0], spread, [3.0])
    tcp, udp = (
        {ReliabilityCase("zenoh", transport, True, True, 1000): figures}
        for transport in ("tcp", "udp")
    )
    drawn = {}
    for name, bursts in {"one": tcp, "again": tcp, "both": tcp | udp}.items():
        draw_bursts(bursts, tmp_path / f"{name}.png")
        drawn[name] = (tmp_path / f"{name}.png").read_bytes()
    width = {name: int.from_bytes(image[16:20]) for name, image in drawn.items()}
    assert drawn["one"] == drawn["again"]
    assert width["both"] == 2 * width["one"]


@pytest.mark.slow
@pytest.mark.usefixtures("emulating")
def test_reliable_and_block_lose_nothing_over_tcp(tmp_path: Path) -> None:
    plan = ReliabilityPlan(
        samples=1, sizes=(1000,), transports=("tcp",), stacks=("zenoh", "session")
    )
    results = Results(tmp_path)
    assert run_trial("reliability", ReliabilityTrial(plan), results) == []
    for case, found in read_figures(results).items():
        if case.reliable and case.block:
            assert found.lost == [0.0], case.name
            assert found.copies == 0


@pytest.mark.slow
@pytest.mark.usefixtures("emulating")
def test_recovery_loses_nothing_at_a_rate_that_the_link_carries(tmp_path: Path) -> None:
    plan = ReliabilityPlan(samples=3, sizes=(), transports=("udp",), stacks=("recovery",))
    results = Results(tmp_path)
    run_trial("reliability", ReliabilityTrial(plan), results)
    found = read_figures(results)
    assert {case.link_loss for case in found} == {0.0, 0.01}
    for case, each in found.items():
        assert each.lost == [0.0, 0.0, 0.0], case.name
        # A question that is lost holds nothing back until it is given up.
        assert each.round_trips is not None
        assert each.round_trips.longest < 5000, case.name
