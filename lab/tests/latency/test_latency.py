from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from zonal_lab.emulation.lane import TraceGate
from zonal_lab.emulation.wireless import made_up_wifi
from zonal_lab.errors import PlanError
from zonal_lab.latency.evaluation import EchoEvaluation
from zonal_lab.latency.hosts import Echoes
from zonal_lab.latency.plan import EchoCase, EchoPlan
from zonal_lab.latency.report import write_echo_report
from zonal_lab.latency.results import EchoResults, round_trips_ms
from zonal_lab.latency.scenarios import SCENARIOS, scenario
from zonal_lab.latency.stacks import STACKS
from zonal_lab.latency.summary import THEIRS, EchoSummary


def stored(folder: Path, medians: dict[tuple[str, str], float]) -> EchoResults:
    """Results with echoes of known length, as a run would leave them."""
    results = EchoResults(folder)
    results.start(EchoPlan(echoes=4, delayed_echoes=4, rounds=1))
    for (name, stack), median in medians.items():
        spread = [round(median * 1e6 * part) for part in (0.9, 1.0, 1.0, 1.1)]
        results.keep(Echoes(EchoCase(name, stack, 0), [*spread, None], 900, 0.1))
    return results


def test_every_stack_takes_turns_and_mqtt_needs_a_middle() -> None:
    plan = EchoPlan(
        echoes=10, acknowledged_echoes=6, delayed_echoes=4, rounds=2, scenarios=("beta", "delta")
    )
    first, second = (
        [case.stack for case in plan.cases("beta") if case.round == number] for number in (0, 1)
    )
    assert set(first) == set(second) == set(STACKS)
    assert first[0] != second[0]
    assert {case.stack.partition("-")[0] for case in plan.cases("delta")} == {"zenoh", "session"}
    assert plan.echoes_of(EchoCase("beta", "mqtt-0", 0)) == 5
    assert plan.echoes_of(EchoCase("beta", "mqtt-2", 0)) == 3
    assert plan.echoes_of(EchoCase("beta-delay", "mqtt-2", 0)) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"echoes": 2, "rounds": 3},
        {"scenarios": ("epsilon",)},
        {"stacks": ("coap",)},
        {"links": "laser"},
    ],
)
def test_a_plan_that_cannot_be_carried_out_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(PlanError):
        EchoPlan(**wrong)  # type: ignore[arg-type]


def test_hosts_stand_in_a_row_and_only_the_far_card_is_delayed() -> None:
    nodes = scenario("beta-delay").topology("wifi").nodes
    assert [node.card.delay_ms for node in nodes] == [0, 0, 200]
    assert [node.card.has_trace for node in nodes] == [True, False, False]
    assert len(scenario("gamma").topology("wired").nodes) == 4
    assert not any(node.card.has_trace for node in scenario("alpha").topology("wired").nodes)
    used = [
        name
        for node in scenario("alpha").topology("wifi").nodes
        for name in (node.card.trace_out, node.card.trace_in)
    ]
    assert len(set(used)) == 6, "every direction of every card has its own channel"


def test_the_made_up_wifi_is_what_the_report_says() -> None:
    trace = made_up_wifi(3)
    assert 26 < trace.mean_mbit < 31
    waits = np.diff(np.unique(trace.opportunities_ms))
    assert 1.1 < waits.mean() < 1.4
    assert 10 < waits.max() <= 60
    # At no grain: turns come at any part of a millisecond.
    parts = np.histogram(trace.opportunities_ms % 1, bins=10)[0]
    assert parts.min() > 0.8 * parts.mean()
    gate = TraceGate(trace)
    sent = range(0, 5_000_000_000, 7_123_457)
    lone = np.mean([gate.departure_ns(100, each) - each for each in sent]) / 1e6
    assert 1.0 < lone < 1.7
    assert np.array_equal(made_up_wifi(3).opportunities_ms, trace.opportunities_ms)


def test_lost_echoes_are_counted_and_left_out_of_the_medians(tmp_path: Path) -> None:
    results = stored(tmp_path, {("alpha", "mqtt-0"): 7.0})
    times, lost = round_trips_ms(results.echoes(), "alpha", "mqtt-0")
    assert lost == 1
    assert np.allclose(times, [6.3, 7.0, 7.0, 7.7])
    assert EchoSummary(results.echoes()).median("alpha", "mqtt-0") == pytest.approx(7.0)
    with pytest.raises(LookupError):
        EchoSummary(results.echoes()).median("beta", "mqtt-0")


def test_the_report_judges_the_thesis_own_medians_as_the_thesis_does(tmp_path: Path) -> None:
    sessions = {
        (name, f"session-{kind}"): THEIRS[name, f"zenoh-{kind}"] * 1.1
        for name in SCENARIOS
        for kind in ("best-effort", "reliable")
    }
    page = write_echo_report(stored(tmp_path, {**THEIRS, **sessions}), tmp_path).read_text()
    assert "**does not hold**" not in page
    assert "| Mosquitto, QoS 1 | 8.469 (8.469) |" in page
    for name in SCENARIOS:
        assert (tmp_path / f"latency-{name}.png").stat().st_size > 5000


def test_the_report_says_when_the_session_is_too_slow(tmp_path: Path) -> None:
    medians = {("delta", "zenoh-reliable"): 2.0, ("delta", "session-reliable"): 2.4}
    page = write_echo_report(stored(tmp_path, medians), tmp_path).read_text()
    assert "**does not hold** | 2.400 against 2.000 ms: 1.200" in page


@pytest.mark.slow
@pytest.mark.usefixtures("emulating")
def test_all_stacks_echo_through_two_routers_or_brokers(tmp_path: Path) -> None:
    plan = EchoPlan(
        echoes=5,
        acknowledged_echoes=5,
        delayed_echoes=1,
        rounds=1,
        links="wired",
        scenarios=("gamma", "delta"),
    )
    results = EchoResults(tmp_path)
    evaluation = EchoEvaluation(plan, results)
    evaluation.run()
    assert evaluation.failures == []
    for name in plan.scenarios:
        for case in plan.cases(name):
            times, lost = round_trips_ms(results.echoes(), case.scenario, case.stack)
            assert (len(times), lost) == (5, 0), case.name
    told: list[EchoCase] = []
    EchoEvaluation(plan, results, on_case=told.append).run()
    assert told == [], "what is there is not run again"
