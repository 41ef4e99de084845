"""What is kept of a case with very many messages, and the figures that come of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from zonal_lab.emulation import layout
from zonal_lab.experiment import Outcome, Results
from zonal_lab.location.plan import LocationCase, LocationPlan
from zonal_lab.location.rounds import Rounds
from zonal_lab.location.samples import (
    KEPT_MESSAGES,
    NODES,
    SAMPLES,
    count_distinct,
    node_table,
    sample_table,
)
from zonal_lab.location.scene import SceneRun
from zonal_lab.location.summary import Condition, Summary, summarize

SECONDS, LATENCY_NS = 10.0, 5_000_000


def run_of(scenario: str, *, lost: float) -> SceneRun:
    """What a run gives that loses the last share of its messages and takes 5 ms for the others."""
    topology = layout(scenario)
    sent = {node.id: int(node.rate_hz * SECONDS) for node in topology.with_role("publisher")}
    messages = {}
    for subscriber in topology.with_role("subscriber"):
        of_all = []
        for publisher in topology.with_role("publisher"):
            numbers = np.arange(int(sent[publisher.id] * (1 - lost)))
            wanted = np.array(topology.wanted(subscriber, publisher))
            numbers = numbers[wanted[numbers % len(wanted)]]
            sent_ns = (numbers * 1e9 / publisher.rate_hz).astype(np.int64)
            rows = (np.full(len(numbers), publisher.id), numbers, sent_ns, sent_ns + LATENCY_NS)
            of_all.append(np.column_stack(rows))
        messages[subscriber.id] = np.concatenate(of_all)
    return SceneRun(
        case=LocationCase(scenario, "tcp", 100, "s2", 0),
        seconds=SECONDS,
        sent=sent,
        messages=messages,
        received={each: len(rows) for each, rows in messages.items()},
        unwanted={},
        pace={},
        nodes={node.id: {"sent_bytes": 1.0, "cpu_seconds": 0.1} for node in topology.nodes},
        load=0.5,
    )


def kept(folder: Path, run: SceneRun) -> Results:
    topology = layout(run.case.scenario)
    results = Results(folder)
    results.begin("location", LocationPlan(rounds=1, seconds=SECONDS))
    tables = {SAMPLES: sample_table(run, topology), NODES: node_table(run, topology)}
    results.add(run.case, Outcome({}, tables))
    return results


@pytest.mark.parametrize("lost", [0.0, 0.25])
def test_the_figures_of_some_messages_are_those_of_all(tmp_path: Path, lost: float) -> None:
    run = run_of("near-field", lost=lost)  # a subscriber expects 32,000 messages
    results = kept(tmp_path, run)
    summary: Summary = summarize(results)
    assert summary.interval == 3
    (one, *_) = summary.rows
    assert one.messages == pytest.approx(32_000 * (1 - lost) / 3, abs=1)
    assert one.loss == pytest.approx(lost, abs=1e-4)
    assert (one.doubles, one.mean_ms) == (0, 5.0)
    assert one.throughput_hz == pytest.approx(3200, rel=1e-3)
    condition, rounds = Condition("near-field", "tcp", 100), Rounds(results)
    assert rounds.of(condition, "s2", "loss") == pytest.approx([lost], abs=1e-4)
    assert rounds.of(condition, "s2", "throughput_hz") == pytest.approx([3200], rel=1e-3)


def test_nothing_lost_is_no_loss_at_all(tmp_path: Path) -> None:
    (row, *_) = summarize(kept(tmp_path, run_of("near-field", lost=0.0))).rows
    assert row.loss == 0


def test_of_few_messages_all_are_kept(tmp_path: Path) -> None:
    run = run_of("zoning", lost=0.0)
    results = kept(tmp_path, run)
    assert summarize(results).interval == 1
    table, topology = results.table(SAMPLES), layout("zoning")
    measured = [node.id for node in topology.with_role("subscriber") if node.measured]
    assert table.num_rows == sum(len(run.messages[each]) for each in measured) < KEPT_MESSAGES


def test_of_a_publisher_that_roams_no_place_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zonal_lab.location.samples.KEPT_MESSAGES", 500)
    run, topology = run_of("spread", lost=0.0), layout("spread")
    table = kept(tmp_path, run).table(SAMPLES)
    for publisher in topology.with_role("publisher"):
        for subscriber in topology.with_role("subscriber"):
            wanted = {n for n, each in enumerate(topology.wanted(subscriber, publisher)) if each}
            mine = (table["subscriber"].to_numpy() == subscriber.id) & (
                table["publisher"].to_numpy() == publisher.id
            )
            numbers = table["number"].to_numpy()[mine]
            assert len(numbers) <= 500
            if subscriber.measured:
                assert set(numbers % len(publisher.places)) == wanted


def test_distinct_messages_are_counted() -> None:
    assert count_distinct(np.array([], dtype=np.int64)) == 0
    assert count_distinct(np.array([7])) == 1
    assert count_distinct(np.array([3, 1, 3, 2, 1])) == 3
