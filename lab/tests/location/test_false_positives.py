from __future__ import annotations

from zonal_lab.location.false_positives import EXPECTED, count_false_positives


def test_nothing_is_missing_and_sessions_get_no_false_positives() -> None:
    quarter, coarse = count_false_positives((0.25, 0.40))
    assert (quarter.bits, quarter.hashes) == (320, 3)
    assert quarter.false_positives == {}
    for row in (quarter, coarse):
        assert row.delivered == EXPECTED
        for each, least in EXPECTED.items():
            assert row.through_routers[each] >= row.by_filter[each] >= least
    assert sum(coarse.false_positives.values()) > 0
