from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from zonal_lab.emulation import TraceGate, made_up_wifi
from zonal_lab.errors import PlanError
from zonal_lab.experiment import Outcome, Results, run_trial
from zonal_lab.latency import EXPERIMENT
from zonal_lab.latency.hosts import Echoes
from zonal_lab.latency.plan import LatencyCase, LatencyPlan
from zonal_lab.latency.samples import ECHOES, echo_table, round_trips_ms
from zonal_lab.latency.scenarios import SCENARIOS, scenario
from zonal_lab.latency.stacks import STACKS
from zonal_lab.latency.summary import THEIRS, LatencySummary
from zonal_lab.latency.trial import LatencyTrial


def stored(
    folder: Path,
    medians: dict[tuple[str, str], float],
    scenarios: tuple[str, ...] = tuple(SCENARIOS),
) -> Results:
    """Results with echoes of known length, as a run would leave them."""
    results = Results(folder)
    results.begin("latency", LatencyPlan(5, delayed_echoes=5, rounds=5, scenarios=scenarios))
    for (name, stack), median in medians.items():
        for number in range(5):
            spread = [round(median * 1e6 * part) for part in (0.9, 1.0, 1.0, 1.1)]
            case = LatencyCase(name, stack, number)
            echoes = Echoes(case, [*spread, None], 900, 0.1)
            results.add(case, Outcome({}, {ECHOES: echo_table(echoes)}))
    return results


def test_every_stack_takes_turns_and_mqtt_needs_a_middle() -> None:
    plan = LatencyPlan(
        echoes=10, acknowledged_echoes=6, delayed_echoes=4, rounds=2, scenarios=("beta", "delta")
    )
    first, second = (
        [case.stack for case in plan.cases() if (case.scenario, case.round) == ("beta", number)]
        for number in (0, 1)
    )
    assert set(first) == set(second) == set(STACKS)
    assert first[0] != second[0]
    assert {case.stack.partition("-")[0] for case in plan.cases() if case.scenario == "delta"} == {
        "zenoh",
        "session",
    }
    assert plan.echoes_of(LatencyCase("beta", "mqtt-0", 0)) == 5
    assert plan.echoes_of(LatencyCase("beta", "mqtt-2", 0)) == 3
    assert plan.echoes_of(LatencyCase("beta-delay", "mqtt-2", 0)) == 2


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
        LatencyPlan(**wrong)  # type: ignore[arg-type]


def test_encrypted_links_are_compared_where_one_link_is_all() -> None:
    quic = STACKS["zenoh-quic"]
    assert [name for name in SCENARIOS if quic.fits(scenario(name))] == [
        "alpha",
        "beta",
        "beta-delay",
        "delta",
    ]


@pytest.mark.usefixtures("emulating")
def test_echoes_go_over_tls_and_quic(tmp_path: Path) -> None:
    plan = LatencyPlan(
        echoes=5, acknowledged_echoes=5, delayed_echoes=5, rounds=1, links="wired",
        scenarios=("delta",), stacks=("zenoh-tls", "zenoh-quic"),
    )  # fmt: skip
    results = Results(tmp_path)
    assert run_trial("latency", LatencyTrial(plan), results) == []
    for case in plan.cases():
        times, lost = round_trips_ms(results.table(ECHOES), case.scenario, case.stack)
        assert (len(times), lost) == (5, 0), case.name


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
    times, lost = round_trips_ms(results.table(ECHOES), "alpha", "mqtt-0")
    assert lost == 5
    assert np.allclose(times, [6.3, 7.0, 7.0, 7.7] * 5)
    assert LatencySummary(results.table(ECHOES)).median("alpha", "mqtt-0") == pytest.approx(7.0)
    with pytest.raises(LookupError):
        LatencySummary(results.table(ECHOES)).median("beta", "mqtt-0")


def test_the_report_judges_the_published_medians_as_their_author_does(tmp_path: Path) -> None:
    sessions = {
        (name, f"session-{kind}"): THEIRS[name, f"zenoh-{kind}"] * 1.1
        for name in SCENARIOS
        for kind in ("best-effort", "reliable")
    }
    encrypted = {
        (name, stack): THEIRS[name, "zenoh-reliable"] * 1.1
        for name in SCENARIOS
        for stack in ("zenoh-tls", "zenoh-quic")
    }
    medians = THEIRS | sessions | encrypted
    page = EXPERIMENT.report(stored(tmp_path, medians), tmp_path).read_text()
    assert "does not hold" not in page
    assert "cannot be told" not in page
    assert "| −42.7 % (" in page, "of Zenoh's two in γ, the slower counts"
    assert "| Mosquitto, QoS 1 | 8.469 (8.469) |" in page
    for name in SCENARIOS:
        assert (tmp_path / f"latency-{name}.png").stat().st_size > 5000


def test_the_report_says_when_the_session_is_too_slow(tmp_path: Path) -> None:
    medians = {("delta", "zenoh-reliable"): 2.0, ("delta", "session-reliable"): 2.4}
    page = EXPERIMENT.report(stored(tmp_path, medians), tmp_path).read_text()
    assert "| +20.0 % (+20.0 % to +20.0 %; 5 rounds) | **does not hold** |" in page


def test_a_run_of_encrypted_stacks_judges_them_and_has_no_empty_row(tmp_path: Path) -> None:
    stacks = {"zenoh-reliable": 4.0, "zenoh-tls": 4.4, "zenoh-quic": 5.5, "session-reliable": 4.2}
    scenarios = ("alpha", "beta", "delta")
    medians = {(name, stack): ms for name in scenarios for stack, ms in stacks.items()}
    page = EXPERIMENT.report(stored(tmp_path, medians, scenarios), tmp_path).read_text()
    for sign in ("α", "β", "δ"):
        where = f"latency, {sign}, encrypted | – |"
        held = f"{where} +10.0 % (+10.0 % to +10.0 %; 5 rounds) | holds |"
        assert f"zenoh-tls: median at most 15 % above zenoh-reliable's | {held}" in page
        failed = f"{where} +25.0 % (+25.0 % to +25.0 %; 5 rounds) | **does not hold** |"
        assert f"zenoh-quic: median at most 15 % above zenoh-tls's | {failed}" in page
    assert "not measured" not in page
    assert "| – | – |" not in page
    assert "MQTT at QoS" not in page.partition("A number is the mean")[0]


@pytest.mark.slow
@pytest.mark.usefixtures("emulating")
def test_all_stacks_echo_through_two_routers_or_brokers(tmp_path: Path) -> None:
    plan = LatencyPlan(
        echoes=5,
        acknowledged_echoes=5,
        delayed_echoes=1,
        rounds=1,
        links="wired",
        scenarios=("gamma", "delta"),
    )
    results = Results(tmp_path)
    assert run_trial("latency", LatencyTrial(plan), results) == []
    for case in plan.cases():
        times, lost = round_trips_ms(results.table(ECHOES), case.scenario, case.stack)
        assert (len(times), lost) == (5, 0), case.name
    told: list[str] = []
    run_trial("latency", LatencyTrial(plan), results, on_case=lambda name, _: told.append(name))
    assert told == [], "what is there is not run again"


def test_made_up_links_are_said_to_be(tmp_path: Path) -> None:
    for links, words in (("wifi", "made up (802.11n"), ("lte", "made up in place of TMobile-LTE")):
        plan = LatencyPlan(links=links, scenarios=("delta",))  # type: ignore[arg-type]
        results = Results(tmp_path / links)
        results.begin("latency", plan)
        (data,) = LatencyTrial(plan).prepare(results).values()
        assert data.startswith(words)
