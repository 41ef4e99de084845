from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from zonal.errors import ZonalError
from zonal.pipeline.jobs import check_java
from zonal_lab.emulation import Topology, layout
from zonal_lab.experiment import Outcome, Results, Ruling, judge
from zonal_lab.location import EXPERIMENT
from zonal_lab.location.claims import claims
from zonal_lab.location.false_positives import EXPECTED, FalsePositives
from zonal_lab.location.page import grade
from zonal_lab.location.plan import FalsePositivesCase, LocationCase, LocationPlan
from zonal_lab.location.samples import NODES, SAMPLES, node_table, sample_table
from zonal_lab.location.scene import SceneRun
from zonal_lab.location.spark_summary import summarize_by_spark
from zonal_lab.location.summary import (
    Condition,
    SubscriberFigures,
    Totals,
    greatest_difference_ms,
    summarize,
)
from zonal_lab.location.techniques import BASELINES, TECHNIQUES

PLAN = LocationPlan(rounds=5, seconds=1.0, transports=("tcp",), cpu_percents=(100,))
# Latencies in milliseconds, so that what the report should say is known.
LATENCY = {"TOPIC": 100.0, "PAYLOAD": 60.0, "json": 5.0, "mgrs": 4.0, "bloom": 4.5, "s2": 3.0}


def outcome(case: LocationCase, topology: Topology, lost: int = 0, doubled: int = 0) -> Outcome:
    """What a run would give in which every message takes as long as LATENCY says."""
    latency_ns = round(LATENCY.get(case.technique, 4.5) * 1e6)
    sent = {node.id: int(node.rate_hz) for node in topology.with_role("publisher")}
    messages = {}
    for subscriber in topology.with_role("subscriber"):
        rows = [
            (publisher.id, number, number * 1_000_000, number * 1_000_000 + latency_ns)
            for publisher in topology.with_role("publisher")
            for wanted in [topology.wanted(subscriber, publisher)]
            for number in range(sent[publisher.id] - lost)
            if wanted[number % len(wanted)]
        ]
        rows += rows[:doubled]
        messages[subscriber.id] = np.array(rows, dtype=np.int64).reshape(-1, 4)
    everything = sum(sent.values())
    received = {
        each: everything if case.technique in BASELINES else len(rows)
        for each, rows in messages.items()
    }
    counters = {
        "received_bytes": 10_000.0,
        "received_packets": 10.0,
        "sent_bytes": 625_000.0,
        "sent_packets": 10.0,
        "cpu_seconds": 0.1,
    }
    run = SceneRun(
        case=case,
        seconds=1.0,
        sent=sent,
        messages=messages,
        received=received,
        unwanted={each: received[each] - len(rows) for each, rows in messages.items()},
        pace={each: {"late_mean_us": 50.0, "late_p99_us": 90.0} for each in sent},
        nodes={node.id: dict(counters) for node in topology.nodes},
        load=0.5,
    )
    tables = {SAMPLES: sample_table(run, topology, 1), NODES: node_table(run, topology, 1)}
    return Outcome({}, tables)


@pytest.fixture(scope="module")
def all_results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    made = Results(tmp_path_factory.mktemp("all") / "results")
    made.begin("location", PLAN)
    for scenario in PLAN.scenarios:
        topology = layout(scenario)
        for case in PLAN.cases_of(scenario):
            made.add(case, outcome(case, topology))
    return made


@pytest.fixture
def results(all_results: Results, tmp_path: Path) -> Results:
    """For each test a copy of its own."""
    return Results(shutil.copytree(all_results.folder, tmp_path / "results"))


def test_the_summary_gives_back_known_latencies(results: Results) -> None:
    summary = summarize(results)
    for condition in summary.conditions():
        for name in TECHNIQUES:
            totals = summary.totals(condition, name)
            assert totals is not None
            assert totals.mean_ms == pytest.approx(LATENCY[name])
            assert totals.std_ms == pytest.approx(0, abs=1e-6)
            assert totals.loss == 0
            assert totals.busiest_mbit == pytest.approx(5.0)
    near = summary.totals(Condition("near-field", "tcp", 100), "PAYLOAD")
    assert near is not None
    # Three sessions that want nothing receive all 3,200 messages, in all rounds.
    assert near.unwanted == 3 * 3200 * 5
    # Equation 7.2 divides the number of messages by the time from the first to the last.
    assert near.throughput_hz == pytest.approx(3200 / 3.199)


def test_loss_and_doubles_are_counted(tmp_path: Path) -> None:
    results = Results(tmp_path)
    results.begin("location", LocationPlan(rounds=1, seconds=1, scenarios=("near-field",)))
    topology = layout("near-field")
    case = LocationCase("near-field", "udp", 100, "s2", 0)
    results.add(case, outcome(case, topology, lost=320, doubled=5))
    totals = summarize(results).totals(Condition("near-field", "udp", 100), "s2")
    assert totals is not None
    assert totals.loss == pytest.approx(0.1)
    assert totals.doubles == 15


@pytest.mark.slow
def test_sparks_figures_are_the_same(results: Results) -> None:
    try:
        check_java()
    except ZonalError:
        pytest.skip("no Java for Spark")
    both = summarize(results), summarize_by_spark(results)
    assert greatest_difference_ms(*both) < 1e-3
    assert_alike(both[0].rows, both[1].rows)


def assert_alike(ours: list[SubscriberFigures], theirs: list[SubscriberFigures]) -> None:
    assert len(ours) == len(theirs) > 0

    def order(row: SubscriberFigures) -> tuple[str, str, int]:
        return row.scenario, row.technique, row.subscriber

    for mine, spark in zip(sorted(ours, key=order), sorted(theirs, key=order), strict=True):
        for name, value in vars(mine).items():
            assert vars(spark)[name] == pytest.approx(value, abs=1e-3), (order(mine), name)


def test_verdicts_follow_the_numbers(results: Results) -> None:
    verdicts = {(each.claim.where, each.claim.text): each for each in judge(claims(results))}

    def found(where: str) -> str:
        (one,) = (each for (place, _), each in verdicts.items() if place == where)
        return f"{one.words}: {one.ours}"

    # The slowest encoding takes 5 ms, the better baseline 60 ms, in each of five rounds.
    assert found("7.3, figure 7.2") == "holds: −91.7 % (−91.7 % to −91.7 %; 5 rounds)"
    assert found("zoning").startswith("holds")
    assert found("7.4, figure 7.6").startswith("does not hold: −93.3 %")
    # MGRS is faster than the other two, by a tenth and not by 40 %.
    assert found("7.4, figure 7.7").startswith("does not hold (its direction does): −11.1 %")
    # Claims about UDP and slow routers are there, though nothing of the kind was run.
    assert found("7.7, figure 7.25") == "cannot be told: not measured"
    assert found("7.6, figure 7.17") == "cannot be told: not measured"
    assert sum(each.ruling is Ruling.OPEN for each in verdicts.values()) >= 12


def test_a_claim_about_three_networks_is_not_judged_by_one(results: Results) -> None:
    def stray() -> list[str]:
        found = judge(claims(results))
        return [each.ours for each in found if "receive nothing with s2" in each.claim.text]

    assert stray() == ["0"]
    for file in (results.folder / "cases").glob("far-field-*"):
        file.unlink()
    assert stray() == ["not measured"]


def test_it_is_one_page_with_its_pictures(results: Results, tmp_path: Path) -> None:
    row = FalsePositives(0.3, 256, 2, {**EXPECTED, 6: 9}, {**EXPECTED, 8: 5}, dict(EXPECTED))
    results.add(FalsePositivesCase(), Outcome({"rows": [asdict(row)]}))
    page = EXPERIMENT.report(results, tmp_path / "page", spark=False)
    text = page.read_text()
    for name in ("zoning", "near-field", "far-field"):
        assert f"location-{name}-tcp-100.png" in text
        assert (tmp_path / "page" / f"location-{name}-tcp-100.png").stat().st_size > 10_000
    assert "| 30% | 256 | 2 | 1 (S9 1) | 1 (S8 1) | 3 (S6 3) | none |" in text
    assert "figure 7.28" in text
    assert '"kernel"' in text
    assert (tmp_path / "page" / "location-summary.csv").exists()


def totals(mean_ms: float, loss: float = 0.0) -> Totals:
    return Totals(mean_ms, 0, 0, 0, loss, 0, 0, 0, 0, 0)


def test_signs_compare_with_the_best_of_the_row() -> None:
    signs = grade(
        {
            "TOPIC": totals(50),
            "PAYLOAD": totals(18),
            "json": totals(12),
            "mgrs": totals(10),
            "bloom": totals(10, loss=0.2),
        }
    )
    assert signs == {"TOPIC": "− −", "PAYLOAD": "+", "json": "+ +", "mgrs": "+ +", "bloom": "+"}
