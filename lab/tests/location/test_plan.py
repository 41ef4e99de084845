from __future__ import annotations

from collections import Counter

import pytest

from zonal_lab.errors import PlanError
from zonal_lab.location.plan import FalsePositivesCase, LocationCase, LocationPlan
from zonal_lab.location.techniques import TECHNIQUES


def test_the_full_plan_is_the_published_one() -> None:
    plan = LocationPlan()
    assert (plan.rounds, plan.seconds) == (12, 180)
    # 3 published scenarios and 2 of ours × 2 transports × 2 processor shares × 6 techniques × 12
    # rounds, and figure 7.28
    cases = list(plan.cases())
    assert cases[-1] == FalsePositivesCase()
    assert len(cases[:-1]) == 5 * 2 * 2 * 6 * 12 + 12
    assert len({case.name for case in cases}) == len(cases)


def test_techniques_take_turns_and_none_is_always_first() -> None:
    plan = LocationPlan(rounds=6, scenarios=("zoning",), transports=("tcp",), cpu_percents=(100,))
    cases = list(plan.cases_of("zoning"))
    firsts = Counter(cases[number * 6].technique for number in range(6))
    assert firsts == Counter(TECHNIQUES)
    assert len({case.name for case in cases}) == len(cases)


def test_only_what_is_claimed_is_a_part_of_the_whole_in_the_same_order() -> None:
    whole, claimed = (LocationPlan(rounds=2, claimed_only=each) for each in (False, True))
    left = [case for case in claimed.cases() if isinstance(case, LocationCase)]
    assert left == [case for case in whole.cases() if case in left]
    conditions = {(each.scenario, each.transport, each.cpu_percent) for each in left}
    assert ("near-field", "udp", 100) in conditions
    assert ("far-field", "udp", 100) not in conditions
    assert {each[1:] for each in conditions if each[0] == "zoning"} == {("tcp", 100)}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"rounds": 0}, "above 0"),
        ({"techniques": ("s2", "geohash")}, "geohash"),
        ({"transports": ("quic",)}, "quic"),
        ({"cpu_percents": (0,)}, "1 to 100"),
        ({"techniques": ()}, "there are TOPIC"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(wrong: dict[str, object], says: str) -> None:
    with pytest.raises(PlanError, match=says):
        LocationPlan(**wrong)  # type: ignore[arg-type]
