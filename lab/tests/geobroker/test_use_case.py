from __future__ import annotations

import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zonal_lab.errors import PlanError
from zonal_lab.experiment import Outcome, Results, run_trial
from zonal_lab.geobroker import EXPERIMENT
from zonal_lab.geobroker.everything_matches import measure_overhead
from zonal_lab.geobroker.journeys import Journey, from_trace, journeys_for, made_up_walks
from zonal_lab.geobroker.message import SIZE, Report, read_report
from zonal_lab.geobroker.oracle import check, local_join
from zonal_lab.geobroker.plan import GeobrokerPlan, IndexCase, UseCase
from zonal_lab.geobroker.samples import LATENCIES, figures_of, latency_table, read_figures
from zonal_lab.geobroker.travel import Travelled, run_use_case
from zonal_lab.geobroker.traveller import CONNECT, PING, PUBLISH, SUBSCRIBE
from zonal_lab.geobroker.trial import FEDERATION_GUARD_S, GeobrokerTrial

WAYS = made_up_walks(30)
PLAN = GeobrokerPlan(seconds=4, clients=(30,), ramp_s=1)


TRACE = pa.table(
    {
        "client": [1, 0, 0, 0],
        "trajectory": ["001/b", "000/a", "000/a", "000/a"],
        "step": [0, 2, 0, 1],
        "at_s": [0.0, 11.0, 0.0, 6.0],
        "latitude": [30.0, 39.902, 39.9, 39.901],
        "longitude": [116.4] * 4,
    }
)


def test_a_trace_of_the_workload_job_becomes_journeys() -> None:
    journey, other = from_trace(TRACE)
    assert (journey.name, other.name) == ("000/a", "001/b")
    assert journey.at_s.tolist() == [0, 6, 11]
    assert journey.arrival(2) == (11, 39.902, 116.4)
    assert journey.arrival(3) == (11, 39.9, 116.4), "at its end it jumps back at once"
    assert journey.arrival(4) == (17, 39.901, 116.4)
    assert journey.hurried(2).arrival(4) == (8.5, 39.901, 116.4)
    assert journey.teleporting().arrival(4) == (0, 39.901, 116.4)
    more = journeys_for(5, TRACE)
    assert [len(each.at_s) for each in more] == [3, 1, 3, 1, 3]
    assert len({each.name for each in more}) == 5


def test_a_trace_of_teleporting_clients_teleports() -> None:
    untimed = TRACE.set_column(3, "at_s", pa.nulls(4, pa.float64()))
    assert all(each.teleports for each in from_trace(untimed))


def test_a_table_that_is_no_trace_is_refused() -> None:
    with pytest.raises(PlanError, match="at_s"):
        from_trace(TRACE.drop_columns(["at_s"]))
    with pytest.raises(PlanError, match="no rows"):
        from_trace(TRACE.slice(0, 0))


def test_journeys_are_always_the_same() -> None:
    again = made_up_walks(30)
    assert all(np.array_equal(a.lats, b.lats) for a, b in zip(WAYS, again, strict=True))
    begun = WAYS[0].begun_later(100)
    assert begun.at_s[0] == 0
    assert np.all(np.diff(begun.at_s) >= 0)


@given(
    st.lists(st.floats(0.0, 50.0), min_size=1, max_size=20).map(sorted),
    st.floats(0.0, 300.0),
)
def test_arrivals_within_a_time_are_those_that_arrive_by_then(
    at: list[float], seconds: float
) -> None:
    places = np.zeros(len(at))
    way = Journey("any", np.array(at) - at[0], places, places)
    count = way.arrivals_within(seconds)
    times = [way.arrival(step)[0] for step in range(count + 1)]
    assert all(each <= seconds for each in times[:count])
    assert times[count] > seconds
    assert way.teleporting().arrivals_within(seconds) == 0
    assert way.arrivals_within(-1) == 0


def test_a_report_is_750_bytes_and_reads_back() -> None:
    report = Report(7, 3, 123456789, 39.9, 116.4)
    assert len(report.to_bytes()) == SIZE == 750
    assert read_report(b"head" + report.to_bytes(), 4) == report


@pytest.fixture(scope="module")
def travelled() -> Travelled:
    return run_use_case(UseCase("geo", 30), PLAN, WAYS)


def test_deliveries_agree_with_the_job_message_by_message(travelled: Travelled) -> None:
    found = check(travelled, WAYS, local_join)
    assert found.holds, found
    assert found.messages > 20
    assert found.due > 0.9 * found.recorded > 0


def test_the_check_notices_a_missing_a_doubled_and_a_wrong_delivery(travelled: Travelled) -> None:
    rows = travelled.deliveries
    own = np.flatnonzero(rows[:, 0] == rows[:, 1])
    without = replace(travelled, deliveries=np.delete(rows, own[len(own) // 2], axis=0))
    assert check(without, WAYS, local_join).missing == 1
    doubled = replace(travelled, deliveries=np.vstack([rows, rows[:1]]))
    assert check(doubled, WAYS, local_join).doubled == 1
    places = {int(each): WAYS[each].arrival(0)[1:] for each in range(30)}
    far = max(places, key=lambda each: abs(places[each][0] - places[0][0]))
    wrong = rows[own[0]].copy()
    wrong[:3] = (far, 0, 0)
    assert (
        check(replace(travelled, deliveries=np.vstack([rows, wrong])), WAYS, local_join).impossible
        == 1
    )


def test_a_late_delivery_is_explained_by_places_until_its_arrival_only() -> None:
    """Client 1 comes near client 0 after its message was acknowledged."""
    near, far = (45.0, 9.0), (45.5, 9.0)
    at_s = np.array([0.0, 2.0])
    ways = [
        Journey("stays", at_s, np.array([near[0]] * 2), np.array([near[1]] * 2)),
        Journey("comes", at_s, np.array([far[0], near[0]]), np.array([9.0, 9.0])),
    ]
    ms = 1_000_000
    operations = [
        (0, -1, CONNECT, 0, ms),
        (0, -1, SUBSCRIBE, ms, 2 * ms),
        (1, -1, CONNECT, 0, ms),
        (1, -1, SUBSCRIBE, ms, 2 * ms),
        (0, 0, PUBLISH, 10 * ms, 11 * ms),
        (1, 1, PING, 20 * ms, 21 * ms),
        (1, 1, SUBSCRIBE, 21 * ms, 22 * ms),
    ]
    for arrived_ms, impossible in ((25, 0), (15, 1)):
        # Its broker had acknowledged neither its new place nor its new subscription by then.
        mine, late = (10 * ms, 12 * ms, -1, -1), (10 * ms, arrived_ms * ms, -1, -1)
        deliveries = [(0, 0, 0, *mine), (1, 0, 0, *late)]
        found = Travelled(
            case=UseCase("federated", 2),
            start_ns=0,
            seconds=1.0,
            operations=np.array(operations, np.int64),
            deliveries=np.array(deliveries, np.int64),
            received=2,
            relevant=2,
            late=0,
            unfinished=0,
            clients_cpu_s=0.0,
            broker_cpu_s=0.0,
            load=0.0,
        )
        agreement = check(found, ways, local_join)
        assert (agreement.due, agreement.missing) == (1, 0)
        assert (agreement.undecided, agreement.impossible) == (1 - impossible, impossible)


def test_without_places_everybody_hears_everything() -> None:
    found = run_use_case(UseCase("no-geo", 30), PLAN, WAYS)
    published = int((found.operations[:, 2] == 3).sum())
    assert found.received == 30 * published
    assert 0 < found.relevant < found.received
    assert found.unfinished == 0
    figures = figures_of(found, None, "")
    assert figures.arrivals_due == found.reached == published
    assert figures.deliveries_due == found.received


def test_with_places_what_is_due_is_what_came_where_everybody_came_in_time(
    travelled: Travelled,
) -> None:
    agreement = check(travelled, WAYS, local_join)
    figures = figures_of(travelled, agreement, "")
    assert figures.arrivals_due == figures.published > 20
    assert figures.deliveries_due == figures.deliveries
    assert 0 < figures.deliveries_by_end <= figures.deliveries
    half = figures_of(replace(travelled, due=2 * travelled.due), agreement, "")
    assert half.arrivals_missed >= 0.5
    assert half.deliveries_due == 2 * figures.deliveries


def test_overload_loses_nothing_and_is_shown_by_what_was_due(tmp_path: Path) -> None:
    """Clients are to be far faster than any system can carry them."""
    plan = GeobrokerPlan(rounds=1, seconds=0.5, clients=(30,), ramp_s=0.1, speed=5000, teleport=())
    found = run_use_case(UseCase("no-geo", 30), plan, WAYS)
    figures = figures_of(found, None, "")
    assert figures.lost == 0, "by the acknowledged messages nothing is missing"
    assert figures.deliveries_missed > 0.1
    results = Results(tmp_path)
    results.begin("geobroker", plan)
    for number in range(5):
        case = UseCase("no-geo", 750, round=number)
        row = replace(
            figures,
            clients=750,
            round=number,
            arrivals_due=100,
            arrivals_in_time=60,
            deliveries_due=1000,
            deliveries_by_end=800,
        )
        results.add(case, Outcome(asdict(row), {LATENCIES: latency_table(found)}))
    page = EXPERIMENT.report(results, tmp_path).read_text()
    assert "| geo broker, places off | 750 | 500 | 40.0% | 5,000 | 20.0% |" in page
    rows = [line for line in page.splitlines() if "overload: at least 22.5 %" in line]
    verdicts = [line.split("|")[-2].strip() for line in rows]
    assert verdicts == ["holds", "**does not hold**"]
    assert "not measured" in next(line for line in page.splitlines() if "1 % at most" in line)
    results.note(plan=asdict(replace(plan, speed=1.0)))
    claims = [each.text for each in EXPERIMENT.claims(results)]
    assert not [each for each in claims if "overload:" in each], "only of clients made faster"


def test_two_brokers_deliver_as_one(tmp_path: Path) -> None:
    found = run_use_case(UseCase("federated", 30), PLAN, WAYS)
    agreement = check(found, WAYS, local_join, guard_s=FEDERATION_GUARD_S["travel"])
    assert agreement.holds, agreement
    results = Results(tmp_path)
    results.begin("geobroker", PLAN)
    figures = asdict(figures_of(found, agreement, "the job's predicate"))
    results.add(UseCase("federated", 30), Outcome(figures, {LATENCIES: latency_table(found)}))
    page = EXPERIMENT.report(results, tmp_path).read_text()
    assert "oracle (in all rounds) | two federated geo brokers, 30 travelling" in page
    assert "| – | 0 | holds |" in page
    assert (tmp_path / "geobroker-30.png").stat().st_size > 5000


ROUTER = """#!{python}
import sys, zenoh
if "--version" in sys.argv:
    print("zenohd v1.2.3")
else:
    session = zenoh.open(zenoh.Config.from_file(sys.argv[2]))
    while True:
        __import__("time").sleep(60)
"""


def test_two_brokers_meet_over_a_router_of_its_own(tmp_path: Path) -> None:
    """The library's router in a process that is started as `zenohd` is."""
    program = tmp_path / "zenohd"
    program.write_text(ROUTER.format(python=sys.executable))
    program.chmod(0o755)
    plan = replace(PLAN, systems=("federated",), routers="zenohd", rounds=1, teleport=())
    results = Results(tmp_path / "results")
    trial = GeobrokerTrial(plan, spark=False, zenohd=program)
    assert run_trial("geobroker", trial, results) == []
    assert results.manifest()["data"]["router"].startswith("zenohd 1.2.3")
    (row,) = read_figures(results)
    assert row.agreement is not None
    assert row.agreement["missing"] == row.agreement["impossible"] == 0
    assert row.deliveries > 20


def test_teleporting_clients_go_as_fast_as_they_can_and_are_checked_too() -> None:
    plan = GeobrokerPlan(seconds=1, clients=(20,), ramp_s=0.2, teleport_seconds=1.5)
    found = run_use_case(UseCase("geo", 20, "teleport"), plan, WAYS)
    arrivals = int((found.operations[:, 2] == 3).sum())
    assert arrivals > 20 * 10, "a travelling client would reach a place or two"
    assert found.late == found.unfinished == 0
    agreement = check(found, WAYS, local_join)
    assert agreement.holds, agreement
    assert agreement.decided >= 0.95, agreement


def test_everything_matches_is_measured_at_both_brokers() -> None:
    found = measure_overhead(0.5, 1, moving=True)
    assert found.deliveries == pytest.approx(2 * 100 * 30 * 0.8, abs=2)
    assert found.geo_ms[0] > 0 < found.no_geo_ms[0]
    assert len(found.latency_percents) == len(found.cpu_percents) == 1


def test_the_whole_evaluation_runs_and_writes_its_page(tmp_path: Path) -> None:
    plan = GeobrokerPlan(
        rounds=1, seconds=2, clients=(12,), systems=("geo",), ramp_s=0.5, teleport=(8,),
        teleport_seconds=1, index_seconds=0.002, workload_scale=0.01, matching_seconds=0.3,
    )  # fmt: skip
    told: list[str] = []
    results = Results(tmp_path)

    def run() -> list[str]:
        trial = GeobrokerTrial(plan, spark=False)
        return run_trial("geobroker", trial, results, on_case=lambda name, _: told.append(name))

    assert run() == []
    assert told == [case.name for case in plan.cases()]
    page = EXPERIMENT.report(results, tmp_path).read_text()
    for part in ("Everything matches", "figures 7 and 8", "8 teleporting", "12 travelling clients"):
        assert part in page
    assert "the raster at least 45 times as fast as an R-tree" in page
    assert "- Journeys: made-up walks around Beijing; --geolife names a folder" in page
    for picture in ("granularity", "geo-or-not", "growth", "12"):
        assert (tmp_path / f"geobroker-{picture}.png").stat().st_size > 5000
    told.clear()
    run()
    assert told == [], "nothing is left to do"


def test_a_run_of_the_index_alone_has_neither_a_picture_nor_tables_of_clients(
    tmp_path: Path,
) -> None:
    plan = GeobrokerPlan(rounds=1, index_seconds=0.002, workload_scale=0, matching_seconds=0)
    trial, results = GeobrokerTrial(plan, spark=False), Results(tmp_path)
    results.begin("geobroker", plan)
    trial.prepare(results)
    (case,) = (each for each in plan.cases() if isinstance(each, IndexCase))
    with trial.stage(case) as run:
        results.add(case, run(case))
    page = EXPERIMENT.report(results, tmp_path).read_text()
    assert "the mean of 1 rounds" in page
    assert "growth" not in page
    assert "Deliveries, loss, processor" not in page
    assert not (tmp_path / "geobroker-growth.png").exists()


def test_a_plan_without_clients_or_with_an_unknown_system_is_refused() -> None:
    with pytest.raises(PlanError):
        GeobrokerPlan(clients=())
    with pytest.raises(PlanError, match="rabbit"):
        GeobrokerPlan(systems=("rabbit",))  # type: ignore[arg-type]
