from __future__ import annotations

import pytest

from zonal_lab.scale.small_network import MESSAGES, TIMES, run_networks


@pytest.fixture(scope="module")
def networks() -> dict[str, dict[str, float]]:
    return run_networks(6, seed=2)


@pytest.mark.parametrize("design", ["flat", "bounded"])
def test_a_real_network_lets_through_what_is_declared(
    networks: dict[str, dict[str, float]], design: str
) -> None:
    found = networks[design]
    assert found["received"] == found["expected"] > 0
    assert 0 < found["leaves"] < found["anybody"] < 0.8, "a part is wanted"
    assert found["city_matches"] > TIMES * MESSAGES
    assert found["region_matches"] == pytest.approx(3 * TIMES * MESSAGES * found["leaves"], abs=15)


def test_gateways_keep_a_region_from_knowing_what_every_client_declares(
    networks: dict[str, dict[str, float]],
) -> None:
    flat, bounded = networks["flat"], networks["bounded"]
    assert flat["region_keys"] == flat["city_keys"] > 100, "linked routers know the same"
    assert bounded["city_keys"] < flat["city_keys"]
    assert 0 < bounded["region_changes"] < flat["region_changes"]
    assert bounded["city_changes"] < flat["city_changes"]
