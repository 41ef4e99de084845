"""What is claimed of who moves beside who rests, and of links that are full."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from zonal_lab.emulation import Topology, layout
from zonal_lab.experiment import Outcome, Results, Ruling, Verdict, judge
from zonal_lab.location.claims import claims
from zonal_lab.location.plan import LocationCase, LocationPlan
from zonal_lab.location.samples import NODES, SAMPLES, node_table, sample_table
from zonal_lab.location.scene import SceneRun
from zonal_lab.location.techniques import BASELINES, LOCATION_AWARE, TECHNIQUES
from zonal_lab.location.wanted import first_wanted

SECONDS, ROUNDS = 10.0, 5


def run_of(
    case: LocationCase, topology: Topology, loss: dict[int, float], slow: dict[int, float]
) -> SceneRun:
    """A run in which each node loses so much of what passes it, and takes so many ms longer."""
    rng = np.random.default_rng(case.round)
    sent = {node.id: int(node.rate_hz * SECONDS) for node in topology.with_role("publisher")}
    messages = {}
    for subscriber in topology.with_role("subscriber"):
        of_all = []
        for publisher in topology.with_role("publisher"):
            numbers = np.flatnonzero(
                first_wanted(topology, subscriber, publisher, sent[publisher.id])
            )
            lost = loss.get(subscriber.id, 0) + loss.get(publisher.id, 0)
            numbers = numbers[rng.random(len(numbers)) >= lost]
            sent_ns = (numbers * 1e9 / publisher.rate_hz).astype(np.int64)
            took_ns = int(1e6 * (50 + slow.get(publisher.id, 0)))
            rows = (np.full(len(numbers), publisher.id), numbers, sent_ns, sent_ns + took_ns)
            of_all.append(np.column_stack(rows))
        messages[subscriber.id] = np.concatenate(of_all)
    busy = 4.8 if case.technique in BASELINES else 3.0
    counted = {"sent_bytes": busy * 1e6 / 8 * SECONDS, "cpu_seconds": 0.1}
    return SceneRun(
        case, SECONDS, sent, messages, {each: len(rows) for each, rows in messages.items()},
        {}, {}, {node.id: counted for node in topology.nodes}, 0.5,
    )  # fmt: skip


def verdicts(
    folder: Path, scenario: str, loss: dict[int, float], slow: dict[int, float], interval: int = 3
) -> list[Verdict]:
    topology, results = layout(scenario), Results(folder)
    results.begin("location", LocationPlan(rounds=ROUNDS, seconds=SECONDS, scenarios=(scenario,)))
    for number in range(ROUNDS):
        for name in TECHNIQUES:
            case = LocationCase(scenario, "tcp", 100, name, number)
            run = run_of(case, topology, loss if name != "mgrs" else {}, slow)
            if name == "json":
                run.messages[7] = np.concatenate([run.messages[7], run.messages[7][:1]])
            tables = {
                SAMPLES: sample_table(run, topology, interval),
                NODES: node_table(run, topology, interval),
            }
            results.add(case, Outcome({}, tables))
    return list(judge(claims(results)))


def about(found: list[Verdict], *words: str) -> Verdict:
    (one,) = (each for each in found if all(word in each.claim.text for word in words))
    return one


MOVERS, MOVING_PUBLISHER = (6, 7, 9, 11), 12


def test_what_all_lose_is_not_what_moving_costs(tmp_path: Path) -> None:
    found = verdicts(tmp_path, "moving", dict.fromkeys((6, 7, 8, 9, 10, 11), 0.02), {})
    for name in LOCATION_AWARE:
        for words in ("subscribers that move lose", "points more are lost", "take at most 10 %"):
            assert about(found, f"{name}:", words).ruling is Ruling.HOLDS, (name, words)
    twice = {name: about(found, f"{name}:", "nothing comes twice") for name in LOCATION_AWARE}
    assert {name: each.ruling for name, each in twice.items()} == {
        "json": Ruling.FAILS, "mgrs": Ruling.HOLDS, "bloom": Ruling.HOLDS, "s2": Ruling.HOLDS,
    }  # fmt: skip
    assert twice["json"].value == 1, "of all messages, not of those that are kept"


def test_what_moving_costs_is_told_by_end(tmp_path: Path) -> None:
    loss = dict.fromkeys(MOVERS, 0.03)
    found = verdicts(tmp_path / "subscribers", "moving", loss, {MOVING_PUBLISHER: 20})
    lost = about(found, "s2:", "subscribers that move lose")
    assert lost.ruling is Ruling.FAILS
    assert lost.value == pytest.approx(3, abs=0.5)
    assert about(found, "mgrs:", "subscribers that move lose").value == 0
    slower = about(found, "s2:", "take at most 10 %")
    assert slower.ruling is Ruling.FAILS
    assert slower.value == pytest.approx(40)
    found = verdicts(tmp_path / "publishers", "moving", {MOVING_PUBLISHER: 0.05}, {})
    assert about(found, "s2:", "points more are lost").value == pytest.approx(5, abs=1.5)


def test_without_a_run_nothing_is_told_of_who_moves(tmp_path: Path) -> None:
    found = verdicts(tmp_path, "zoning", {}, {})
    moving = [each for each in found if each.claim.where == "moving"]
    assert {each.ruling for each in moving} == {Ruling.OPEN}
    assert {each.ours for each in moving} == {"not measured"}


def test_links_that_are_full_lose_what_filtering_spares(tmp_path: Path) -> None:
    found = verdicts(tmp_path, "zoning", dict.fromkeys((6, 7, 8), 0.2), {})
    for name in BASELINES:
        full, loses = (about(found, f"{name} {word}") for word in ("fills", "loses"))
        assert (full.ruling, full.value) == (Ruling.HOLDS, pytest.approx(96))
        assert (loses.ruling, loses.value) == (Ruling.HOLDS, pytest.approx(20, abs=4))
    room = about(found, "with no encoding")
    assert (room.ruling, room.value) == (Ruling.HOLDS, pytest.approx(60))
    assert about(found, "no encoding loses").ruling is Ruling.FAILS
    assert (
        about(verdicts(tmp_path / "spared", "zoning", {}, {}), "no encoding loses").ruling
        is Ruling.HOLDS
    )
