from __future__ import annotations

import contextlib
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from zonal_lab.emulation import Worker
from zonal_lab.errors import PlanError
from zonal_lab.experiment import Outcome, Results, run_trial
from zonal_lab.reliability import EXPERIMENT
from zonal_lab.reliability.arrivals import Arrivals
from zonal_lab.reliability.hosts import ROLES, Hosts, Sample
from zonal_lab.reliability.message import END, HEAD, PROBE
from zonal_lab.reliability.pictures import draw_bursts
from zonal_lab.reliability.plan import ReliabilityCase, ReliabilityPlan
from zonal_lab.reliability.roles.receiver import ReceiverRole
from zonal_lab.reliability.samples import (
    ROUND_TRIPS,
    ReliabilityFigures,
    Spread,
    kept_trips,
    read_figures,
    round_trip_table,
)
from zonal_lab.reliability.trial import ReliabilityTrial
from zonal_lab.systems import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator


def test_long_bursts_are_thinned_evenly() -> None:
    table = round_trip_table([Sample(5000, 0, 1.0, np.arange(5000, dtype=np.int32))])
    kept = table["rtt_us"].to_pylist()
    assert len(kept) == kept_trips(1) == 2000
    assert (kept[0], kept[-1]) == (0, 4999)
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
    with pytest.raises(PlanError, match="above 0"):
        ReliabilityPlan(paced_samples=0)
    samples = {bool(case.rate_hz): plan.samples_of(case) for case in everything}
    assert samples == {False: 100, True: 20}


def test_the_long_plan_is_said_to_take_less_than_an_hour_and_a_quarter() -> None:
    plan = ReliabilityPlan(samples=100, paced_samples=20)
    expected_s = ReliabilityTrial(plan).expected_s()
    paced_s = 20 * sum(case.count / case.rate_hz for case in plan.paced())
    assert paced_s < expected_s < 75 * 60


def test_the_page_shows_losses_and_the_spread_of_all_round_trips(tmp_path: Path) -> None:
    results = Results(tmp_path)
    results.begin("reliability", ReliabilityPlan(samples=6))
    sent = [
        Sample(5000, 0, 1.0, np.array([1000, 2000, 3000], np.int32)),
        Sample(2500, 3, 1.0, np.array([4000, 5000], np.int32)),
    ] * 3
    for block in (True, False):
        case = ReliabilityCase("zenoh", "tcp", True, block, 1000)
        lost = [1 - each.received / case.count for each in sent]
        figures = {"lost": [0.0] * 6 if block else lost, "copies": 3, "seconds": [1.0] * 6}
        figures["late"] = 4
        results.add(case, Outcome(figures, {ROUND_TRIPS: round_trip_table(sent)}))
    page = EXPERIMENT.report(results, tmp_path).read_text()
    row = "| reliable, drop | 1000 | 25.00% | 0.00% – 50.00% | 3 | 3.0 | 1.0 – 5.0 | 5.0 |"
    assert row in page
    assert "6 samples of each burst and 20 at a steady rate" in page
    assert "had been counted, in all cases: 8; they are lost above" in page
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


def test_arrivals_wait_for_all_or_for_a_silence() -> None:
    arrivals = Arrivals(4)
    noted = [arrivals.note(each) for each in (2, 0, 2)]
    assert noted == [True, True, False]
    assert (arrivals.distinct, arrivals.copies) == (2, 1)
    begun = time.monotonic()
    arrivals.wait(2, quiet_s=60, longest_s=60)  # they are there
    last = threading.Timer(0.05, lambda: [arrivals.note(each) for each in (1, 3)])
    last.start()
    arrivals.wait(4, quiet_s=60, longest_s=60)
    assert arrivals.distinct == 4
    arrivals.wait(5, quiet_s=0.05, longest_s=60)
    arrivals.wait(5, quiet_s=60, longest_s=0.05)
    assert time.monotonic() - begun < 30


@pytest.fixture
def pair() -> Iterator[tuple[Worker, Worker]]:
    """A sender and a receiver on loopback."""
    with contextlib.ExitStack() as closing:
        found = []
        for name in ("sender", "receiver"):
            found.append(Worker(name, [sys.executable, "-m", f"{ROLES}.{name}"]))
            closing.callback(found[-1].end)
        yield found[0], found[1]


@pytest.mark.parametrize(
    "case",
    [
        ReliabilityCase("zenoh", "udp", False, False, 1000),
        ReliabilityCase("session", "tcp", True, False, 100),
    ],
    ids=lambda case: case.name,
)
def test_what_the_end_of_a_sample_leaves_missing_never_comes(
    pair: tuple[Worker, Worker], case: ReliabilityCase
) -> None:
    """However long one waits after the short silence, no figure would be another."""
    sender, receiver = pair

    class Patient(Hosts):
        def _sample(self, case: ReliabilityCase, number: int) -> Sample:
            found = super()._sample(case, number)
            order = {"do": "settle", "wanted": case.count, "quiet_s": 0.8, "longest_s": 10}
            receiver.ask(order, 20)
            return found

    found, late = Patient(sender, receiver, ("127.0.0.1", free_port())).run(case, 3)
    assert late == 0
    assert all(0 < each.received <= case.count for each in found)
    assert all(len(each.round_trips_us) <= each.received for each in found)


def test_what_comes_after_its_sample_was_counted_is_late_and_counted_nowhere() -> None:
    receiver, answers = ReceiverRole(), []
    receiver._answer = answers.append
    receiver.obey("expect", sample=7, count=10)
    for number, sample in ((0, 7), (3, 6), (0, 7), (1, 7), (END, 7), (PROBE, 0)):
        receiver._hear(HEAD.pack(number, sample) + b"....")
    heard = receiver.obey("settle", wanted=10, quiet_s=0, longest_s=1)
    receiver._hear(HEAD.pack(5, 7))
    assert heard == {"received": 2, "copies": 1}
    assert receiver.obey("late") == {"late": 2}
    assert answers[-3:] == [HEAD.pack(END, 7), HEAD.pack(PROBE, 0), b"\0\5"]


@pytest.mark.slow
@pytest.mark.usefixtures("emulating")
def test_reliable_and_block_lose_nothing_over_tcp(tmp_path: Path) -> None:
    plan = ReliabilityPlan(
        samples=1, paced_samples=1, sizes=(1000,), transports=("tcp",), stacks=("zenoh", "session")
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
    plan = ReliabilityPlan(paced_samples=3, sizes=(), transports=("udp",), stacks=("recovery",))
    results = Results(tmp_path)
    run_trial("reliability", ReliabilityTrial(plan), results)
    found = read_figures(results)
    assert {case.link_loss for case in found} == {0.0, 0.01}
    for case, each in found.items():
        assert each.lost == [0.0, 0.0, 0.0], case.name
        # A question that is lost holds nothing back until it is given up.
        assert each.round_trips is not None
        assert each.round_trips.longest < 5000, case.name
