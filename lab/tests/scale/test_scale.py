from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from zonal.geo import DEFAULT_MAX_CELLS
from zonal_lab.experiment import Outcome, Results, judge, run_trial
from zonal_lab.scale import EXPERIMENT
from zonal_lab.scale.city import BOUNDS, CityFigures, simulate
from zonal_lab.scale.growth import measure_growth
from zonal_lab.scale.movement import movement_of
from zonal_lab.scale.plan import ScaleCase, ScalePlan
from zonal_lab.scale.small_network import run_network
from zonal_lab.scale.trial import ScaleTrial
from zonal_lab.scale.world import CityCurve, city_sizes, predict


def city(subscribers: int, share: float) -> CityFigures:
    """Figures that grow with the city in a known way."""
    ways = ("distinct", "coarse", *BOUNDS)
    return CityFigures(
        subscribers, 6 * subscribers, 4 * subscribers, dict.fromkeys(BOUNDS, 6), 3,
        share, dict.fromkeys(ways, share), 5.0, dict.fromkeys(ways, 1.0),
    )  # fmt: skip


CURVE = CityCurve([city(10, 0.1), city(1000, 0.9)])


def answer(design: str, subscribers: int = 10_000):  # noqa: ANN201 - a Prediction
    return predict(
        subscribers, design, publishers=1000, curve=CURVE, an_hour=36.0,
        cost_of_change_s=lambda _: 1e-4, cost_of_match_s=lambda _: 1e-6, bytes_a_key=1000.0,
    )  # fmt: skip


def test_figures_lie_on_straight_lines_between_logarithms() -> None:
    found = CURVE.at(np.array([1.0, 10.0, 100.0, 1000.0]), lambda each: each.let_through["bounded"])
    assert found == pytest.approx([0.01, 0.1, 0.3, 0.9])


def test_cities_follow_zipf_and_add_up() -> None:
    sizes = city_sizes(1_000_000)
    assert sizes.sum() == pytest.approx(1_000_000)
    assert sizes[0] / sizes[1] == pytest.approx(2**1.07)


def test_flat_routers_know_everything_and_gateways_a_bounded_part() -> None:
    flat, bounded = answer("flat"), answer("bounded")
    everything = CURVE.at(city_sizes(10_000), lambda each: each.distinct).sum()
    assert flat.loads["continent"].known == pytest.approx(everything)
    assert flat.loads["city"].known == flat.loads["region"].known
    assert bounded.loads["region"].known < bounded.loads["continent"].known <= 2 * 6 * 200
    assert bounded.loads["continent"].changes < flat.loads["continent"].changes
    assert bounded.loads["city"].matches == pytest.approx(flat.loads["city"].matches)
    assert 99 < bounded.spared < 100


def test_costs_follow_from_changes_and_matches() -> None:
    load = answer("bounded").loads["city"]
    assert load.cores == pytest.approx(load.changes * 1e-4 + load.matches * 1e-6)
    assert load.memory_mib == pytest.approx(load.known * 1000 / 2**20)


def test_a_city_declares_less_the_more_its_subscribers_share() -> None:
    found = simulate(200, seed=3)
    assert found.distinct < found.declared <= DEFAULT_MAX_CELLS * 200
    assert found.union["bounded"] <= BOUNDS["bounded"]
    for way in ("distinct", "bounded", "wide", "coarse"):
        assert found.wanted <= found.let_through[way] <= 1, "nothing that is wanted is missed"
        assert found.changes[way] <= found.own_changes + 1


def test_who_moves_declares_the_more_often_the_smaller_the_margin() -> None:
    (rates,) = movement_of(None, None).values()
    assert rates["75"] > rates["250"] > rates["500"] > rates["1250"] > 0


def test_a_real_network_lets_through_what_the_union_says() -> None:
    found = run_network(5, seed=2)
    assert found["received"] == found["expected"] > 0


def test_the_page_shows_limits_and_verdicts(tmp_path: Path) -> None:
    plan = ScalePlan(5, (100, 1000), (10, 50), (5,))
    results = Results(tmp_path)
    results.begin("scale", plan)
    router = {"declare_s": 2e-3, "declare_cpu_s": 1e-4, "bytes_a_key": 5000.0,
              "match_cpu_s": 5e-6, "p50_us": 100.0, "p99_us": 300.0}  # fmt: skip
    movement = {"walks": {"75": 200.0, "250": 70.0, "500": 30.0, "1250": 10.0}}
    grown = dict.fromkeys(
        ("add_us", "move_us", "ask_us", "ask_p99_us", "hits", "bytes_each", "memory_bytes",
         "files", "left"), 1e6,
    )  # fmt: skip
    for case in plan.cases():
        figures = {
            "router": router,
            "movement": movement,
            "city": asdict(city(case.size, 0.5)),
            "network": {"sent": 1500, "expected": 900, "received": 900, "keys": 60},
            **dict.fromkeys(("index", "store", "lake"), grown),
        }[case.part]
        results.add(case, Outcome(figures))
    page = EXPERIMENT.report(results, tmp_path).read_text()
    assert "| 10,000,000 | flat |" in page
    assert "| flat | more than a core |" in page
    exact = next(iter(judge(EXPERIMENT.claims(results))))
    assert exact.words == "holds"
    assert "| 100,000,000 | 1,000,000 | 1,000,000 | 1e+03 ms |" in page
    for name in ("router", "world", "growth"):
        assert (tmp_path / f"scale-{name}.png").stat().st_size > 10_000


def test_a_network_without_simulated_cities_has_a_page_without_the_model(tmp_path: Path) -> None:
    plan = ScalePlan(5, network=(5,), parts=("network",))
    results = Results(tmp_path)
    results.begin("scale", plan)
    for case in plan.cases():
        results.add(case, Outcome({"sent": 1500, "expected": 900, "received": 900, "keys": 60}))
    page = EXPERIMENT.report(results, tmp_path).read_text()
    assert "| 5 | 20 | 7,500 | 4,500 | 4,500 | 60.0 % | – |" in page


@pytest.mark.parametrize("part", ["index", "store"])
def test_what_grows_is_measured_in_a_process_of_its_own(part: str) -> None:
    found = measure_growth(part, 300)
    assert found["hits"] > 1
    assert min(found["add_us"], found["ask_us"], found["bytes_each"]) > 0


def test_a_lake_is_pruned_by_its_list_of_files_alone() -> None:
    found = measure_growth("lake", 4_000_000)
    assert found["files"] == 200
    assert 1 <= found["left"] <= 4  # one day, one region, a district


@pytest.mark.slow
def test_the_whole_experiment_runs(tmp_path: Path) -> None:
    plan = ScalePlan(1, (100, 200), (10, 20), (5,), (100,), (100,), (100_000,))
    assert run_trial("scale", ScaleTrial(plan), Results(tmp_path)) == []
    assert len(Results(tmp_path).records()) == 9
    assert ScaleCase("router", 100).name == "router-000000100-0"
