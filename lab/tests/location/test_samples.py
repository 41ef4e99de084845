"""What is kept of a case with very many messages, and the figures that come of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from zonal_lab.emulation import layout
from zonal_lab.experiment import Outcome, Results
from zonal_lab.experiment import kept as kept_data
from zonal_lab.experiment.kept import MOST_BYTES
from zonal_lab.location.plan import LocationCase, LocationPlan
from zonal_lab.location.rounds import Rounds
from zonal_lab.location.samples import (
    NODES,
    ROWS_OF_A_PLAN,
    SAMPLE_SCHEMA,
    SAMPLES,
    count_distinct,
    node_table,
    rows_of_a_case,
    sample_table,
    sampling_interval,
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


def kept(folder: Path, run: SceneRun, rows: int = 40_000) -> Results:
    topology = layout(run.case.scenario)
    results = Results(folder)
    results.begin("location", LocationPlan(rounds=1, seconds=SECONDS))
    interval = sampling_interval(run, topology, rows)
    tables = {
        SAMPLES: sample_table(run, topology, interval),
        NODES: node_table(run, topology, interval),
    }
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
    assert table.num_rows == sum(len(run.messages[each]) for each in measured) < 40_000


PLANS = {
    "the published one": LocationPlan(),
    "long": LocationPlan(5, 60, claimed_only=True),
    "moving": LocationPlan(5, 60, ("moving",), ("tcp",), (100,)),
    "far-field": LocationPlan(5, 60, ("far-field",), claimed_only=True),
    "a single round": LocationPlan(1, 600, ("near-field",), ("tcp",), (100,)),
}


@pytest.mark.parametrize("name", PLANS)
def test_what_any_plan_keeps_has_room_beside_its_page(name: str) -> None:
    plan = PLANS[name]
    cases = [each for each in plan.cases() if isinstance(each, LocationCase)]
    a_case = {
        scenario: rows_kept(scenario, plan.seconds, rows_of_a_case(plan))
        for scenario in plan.scenarios
    }
    rows = sum(a_case[each.scenario] for each in cases)
    assert len(cases) < rows <= ROWS_OF_A_PLAN
    # Six bytes a row at most; nodes and figures took 700 bytes a case of twelve nodes.
    assert 6 * ROWS_OF_A_PLAN + 1000 * len(cases) < MOST_BYTES


def rows_kept(scenario: str, seconds: float, rows: int) -> int:
    """How many messages a case keeps, if every subscriber gets what it expects."""
    topology = layout(scenario)
    sent = {node.id: round(node.rate_hz * seconds) for node in topology.with_role("publisher")}
    case = LocationCase(scenario, "tcp", 100, "s2", 0)
    nothing = {node.id: {"cpu_seconds": 0.0} for node in topology.nodes}
    run = SceneRun(case, seconds, sent, {}, {}, {}, {}, nothing, 0.5)
    nodes = node_table(run, topology, sampling_interval(run, topology, rows)).to_pylist()
    return sum(node["sampled"] for node in nodes if node["measured"])


def test_a_row_of_thinned_messages_takes_six_bytes_at_most(tmp_path: Path) -> None:
    rng, count = np.random.default_rng(1), 60_000
    number = 27 * np.arange(count)
    sent = (number * 1e6 / 3200 + rng.exponential(2000, count)).astype(np.int64)
    taken = rng.exponential(300_000, count).astype(np.int64)
    columns = [np.full(count, each) for each in ("far-field", "tcp", 100, "s2", 0, 6, 13)]
    received = np.maximum.accumulate(sent + taken)
    table = pa.table(
        [pa.array(each) for each in (*columns, number, sent, received)],
        schema=SAMPLE_SCHEMA,
    )
    results = Results(tmp_path / "results")
    results.begin("location", LocationPlan(rounds=1))
    results.add(LocationCase("far-field", "tcp", 100, "s2", 0), Outcome({}, {SAMPLES: table}))
    kept_data.pack(results, tmp_path / "page.data")
    assert (tmp_path / "page.data" / f"{SAMPLES}.parquet").stat().st_size < 6 * count


def test_of_a_publisher_that_roams_no_place_is_left_out(
    tmp_path: Path,
) -> None:
    run, topology = run_of("spread", lost=0.0), layout("spread")
    table = kept(tmp_path, run, 2000).table(SAMPLES)
    assert table.num_rows <= 2000
    for publisher in topology.with_role("publisher"):
        for subscriber in topology.with_role("subscriber"):
            wanted = {n for n, each in enumerate(topology.wanted(subscriber, publisher)) if each}
            mine = (table["subscriber"].to_numpy() == subscriber.id) & (
                table["publisher"].to_numpy() == publisher.id
            )
            numbers = table["number"].to_numpy()[mine]
            if subscriber.measured:
                assert set(numbers % len(publisher.places)) == wanted


def test_distinct_messages_are_counted() -> None:
    assert count_distinct(np.array([], dtype=np.int64)) == 0
    assert count_distinct(np.array([7])) == 1
    assert count_distinct(np.array([3, 1, 3, 2, 1])) == 3
