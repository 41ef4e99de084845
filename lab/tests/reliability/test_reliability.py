from __future__ import annotations

from pathlib import Path

import pytest

from zonal_lab.errors import PlanError
from zonal_lab.reliability.evaluation import BurstEvaluation, BurstResults
from zonal_lab.reliability.plan import BurstPlan
from zonal_lab.reliability.report import write_burst_report


def test_a_plan_covers_the_thesis_cases_and_recovery() -> None:
    plan = BurstPlan()
    plain = [case for case in plan.bursts() if case.stack == "zenoh"]
    assert len(plain) == 3 * 2 * 4
    assert {case.count * case.size for case in plain} == {5_000_000}
    everything = [*plan.bursts(), *plan.paced()]
    assert len({case.name for case in everything}) == len(everything) == 54 + 12
    with pytest.raises(PlanError):
        BurstPlan(sizes=(42,))


@pytest.mark.slow
@pytest.mark.usefixtures("emulating")
def test_reliable_and_block_lose_nothing_over_tcp(tmp_path: Path) -> None:
    plan = BurstPlan(samples=1, sizes=(1000,), transports=("tcp",), stacks=("zenoh", "session"))
    results = BurstResults(tmp_path)
    evaluation = BurstEvaluation(plan, results, on_case=lambda _: None)
    evaluation.run()
    assert evaluation.failures == []
    for case, found in results.figures().items():
        if case.reliable and case.block:
            assert found.lost == [0.0], case.name
            assert found.copies == 0
    page = write_burst_report(results, tmp_path).read_text()
    assert "| plain Zenoh, TCP with block, reliable: nothing lost | TARGETS D | holds |" in page
    assert "| our session, TCP with block, best effort: nothing lost | TARGETS D | holds |" in page


@pytest.mark.slow
@pytest.mark.usefixtures("emulating")
def test_recovery_loses_nothing_at_a_rate_that_the_link_carries(tmp_path: Path) -> None:
    plan = BurstPlan(samples=3, sizes=(), transports=("udp",), stacks=("recovery",))
    results = BurstResults(tmp_path)
    BurstEvaluation(plan, results, on_case=lambda _: None).run()
    found = results.figures()
    assert {case.link_loss for case in found} == {0.0, 0.01}
    for case, each in found.items():
        assert each.lost == [0.0, 0.0, 0.0], case.name
        # A question that is lost holds nothing back until it is given up.
        assert each.round_trips[-1] < 5000, case.name
