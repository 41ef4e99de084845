from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from zonal.errors import PlanError
from zonal.lab.geobroker.journeys import journeys, made_up_walks, read_plt
from zonal.lab.geobroker.message import SIZE, Report, read_report
from zonal.lab.geobroker.oracle import check, local_join
from zonal.lab.geobroker.plan import UseCase, UseCasePlan
from zonal.lab.geobroker.report import write_use_case_report
from zonal.lab.geobroker.results import UseCaseResults
from zonal.lab.geobroker.travel import Travelled, travel

PLT = """Geolife trajectory
WGS 84
Altitude is in Feet
Reserved 3
0,2,255,My Track,0,0,2,8421376
0
39.9,116.4,0,492,39744.1,2008-10-23,02:53:04
39.901,116.4,0,492,39744.1,2008-10-23,02:53:10
400.0,116.4,0,492,39744.1,2008-10-23,02:53:12
39.902,116.4,0,492,39744.1,2008-10-23,02:53:15
"""
WAYS = made_up_walks(30)
PLAN = UseCasePlan(seconds=4, clients=(30,), ramp_s=1)


def test_a_trajectory_is_read_without_places_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "000" / "Trajectory" / "20081023025304.plt"
    path.parent.mkdir(parents=True)
    path.write_text(PLT)
    journey = read_plt(path)
    assert journey.name == "000/20081023025304"
    assert journey.at_s.tolist() == [0, 6, 11]
    assert journey.arrival(2) == (11, 39.902, 116.4)
    assert journey.arrival(3) == (11, 39.9, 116.4), "at its end it jumps back at once"
    assert journey.arrival(4) == (17, 39.901, 116.4)
    more = journeys(3, tmp_path)
    assert [len(each.at_s) for each in more] == [3, 3, 3]
    assert len({each.name for each in more}) == 3


def test_a_broken_trajectory_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.plt"
    path.write_text(PLT + "no,place\n")
    with pytest.raises(PlanError, match="line 11"):
        read_plt(path)


def test_journeys_are_always_the_same() -> None:
    again = made_up_walks(30)
    assert all(np.array_equal(a.lats, b.lats) for a, b in zip(WAYS, again, strict=True))
    begun = WAYS[0].begun_later(100)
    assert begun.at_s[0] == 0
    assert np.all(np.diff(begun.at_s) >= 0)


def test_a_report_is_750_bytes_and_reads_back() -> None:
    report = Report(7, 3, 123456789, 39.9, 116.4)
    assert len(report.to_bytes()) == SIZE == 750
    assert read_report(b"head" + report.to_bytes(), 4) == report


@pytest.fixture(scope="module")
def travelled() -> Travelled:
    return travel(UseCase("geo", 30), PLAN, WAYS)


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


def test_without_places_everybody_hears_everything() -> None:
    found = travel(UseCase("no-geo", 30), PLAN, WAYS)
    published = int((found.operations[:, 2] == 3).sum())
    assert found.received == 30 * published
    assert 0 < found.relevant < found.received
    assert found.unfinished == 0


def test_two_brokers_deliver_as_one(tmp_path: Path) -> None:
    found = travel(UseCase("federated", 30), PLAN, WAYS)
    agreement = check(found, WAYS, local_join, guard_s=1.0)
    assert agreement.holds, agreement
    results = UseCaseResults(tmp_path)
    results.start(PLAN)
    results.keep(found, agreement, "the job's predicate")
    page = write_use_case_report(results, tmp_path).read_text()
    assert "nothing lost, deliveries equal to the oracle's | TARGETS B | holds" in page
    assert (tmp_path / "geobroker-30.png").stat().st_size > 5000


def test_a_plan_without_clients_or_with_an_unknown_system_is_refused() -> None:
    with pytest.raises(PlanError):
        UseCasePlan(clients=())
    with pytest.raises(PlanError, match="rabbit"):
        UseCasePlan(systems=("rabbit",))  # type: ignore[arg-type]
