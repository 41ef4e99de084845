from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zonal.geo import DEFAULT_MAX_CELLS
from zonal_lab.experiment import Outcome, Results, judge, run_trial
from zonal_lab.scale import EXPERIMENT
from zonal_lab.scale.city import BOUNDS, SPARSE, WAYS, WORLD, Declared
from zonal_lab.scale.city_figures import CityFigures, simulate
from zonal_lab.scale.curve import CityCurve
from zonal_lab.scale.growth import measure_growth
from zonal_lab.scale.movement import movement_of
from zonal_lab.scale.occupancy import LevelCells, OccupancyLaw, entire_exponential, mean_levels
from zonal_lab.scale.plan import ScaleCase, ScalePlan
from zonal_lab.scale.trial import ScaleTrial
from zonal_lab.scale.world import (
    MESSAGE_BYTES,
    PUBLISH_S,
    Costs,
    Prediction,
    city_sizes,
    earth,
    predict,
    reached,
)


def city(subscribers: int, share: float) -> CityFigures:
    """Figures that grow with the city in a known way: ten cells of one level an area."""
    through = dict.fromkeys(WAYS, share)
    own = {"distinct": 4.0 * subscribers, "coarse": 3, **dict.fromkeys(BOUNDS, 6)}
    return CityFigures(
        subscribers, 6 * subscribers, share, Declared(own, through),
        Declared(dict.fromkeys(WAYS, 1.0), through), 5.0, dict.fromkeys(WAYS, 1.0),
        (LevelCells(14, 10.0, 5.0, 1e6, 3e5),),
    )  # fmt: skip


CURVE = CityCurve([city(10, 0.1), city(1000, 0.9)])
COSTS = Costs(lambda _: 1e-4, lambda _: 1e-6, 1000.0)


def answer(design: str, subscribers: int = 10_000) -> Prediction:
    return predict(earth(subscribers, 1000, 36.0), design, CURVE, COSTS)


def test_figures_lie_on_straight_lines_between_logarithms() -> None:
    found = CURVE.at(
        np.array([1.0, 10.0, 100.0, 1000.0, 1e6]), lambda each: each.together.let_through["bounded"]
    )
    assert found == pytest.approx([0.01, 0.1, 0.3, 0.9, 0.9])


def test_keys_grow_beyond_the_largest_city_until_nearly_all_are_wanted() -> None:
    sizes = 1000 * np.array([1.0, 10.0, 100.0, 1000.0, 10_000.0])
    known = CURVE.known(sizes)
    assert known[0] == pytest.approx(4000), "it goes through the largest simulated city"
    growth = known[1:] / known[:-1]
    assert (growth > 1).all(), "not constant"
    assert (np.diff(growth) < 0).all(), "the fewer are new the more there are"
    assert growth[-1] < 5, "cells of a city's area, which grows by the square root"
    changes = CURVE.changes(sizes, "distinct")
    assert changes[-1] < changes[0] / 100, "what all want is not declared anew"


def test_unions_do_not_grow_beyond_their_bound() -> None:
    sizes = np.array([1e3, 1e5, 1e8])
    for way, most in BOUNDS.items():
        assert CURVE.up(sizes, way, 0.02).max() <= most
        assert CURVE.down(sizes, way).max() <= most


@pytest.mark.parametrize(("rate", "value"), [(0.0, 0.0), (1.0, 0.796_599_6), (10.0, 2.879_804_9)])
def test_the_entire_exponential_integral(rate: float, value: float) -> None:
    assert entire_exponential(np.array([rate]))[0] == pytest.approx(value, rel=1e-5)
    many = np.array([0.99e5, 1.01e5, 1e9])
    assert entire_exponential(many) == pytest.approx(np.log(many) + np.euler_gamma, rel=1e-6)


def test_the_law_counts_the_cells_of_scattered_areas() -> None:
    """One cell of a grid for each subscriber, around a middle."""
    rng, count, spread_m, side_m = np.random.default_rng(4), 20_000, 1000.0, 25.0
    places = np.floor(rng.normal(0, spread_m, (count, 2)) / side_m)
    law = OccupancyLaw(
        [LevelCells(14, 1.0, 2.0, 0.0, side_m**2)], lambda sizes: np.full_like(sizes, spread_m)
    )
    counts = np.array([float(count)])
    assert law.distinct(counts)[0] == pytest.approx(len(np.unique(places, axis=0)), rel=0.02)
    _, times = np.unique(places, axis=0, return_counts=True)
    assert law.changes(counts)[0] == pytest.approx(2 * (times == 1).sum() / count, rel=0.03)


def test_the_law_predicts_a_city_ten_times_larger() -> None:
    """Fitted on cities of 100 and 1,000, held against 10,000."""
    small = [[simulate(size, seed) for seed in (1, 2, 3)] for size in (100, 1000)]
    levels = mean_levels(each.levels for cities in small for each in cities)
    law = OccupancyLaw(levels, WORLD.spread_m)
    held_out = simulate(10_000, seed=4)
    size = np.array([10_000.0])
    assert law.distinct(size)[0] == pytest.approx(held_out.together.keys["distinct"], rel=0.15)
    assert law.changes(size)[0] == pytest.approx(held_out.changes["distinct"], rel=0.25)


def test_cities_follow_zipf_and_add_up() -> None:
    sizes = city_sizes(1_000_000)
    assert sizes.sum() == pytest.approx(1_000_000)
    assert sizes[0] / sizes[1] == pytest.approx(2**1.07)


def test_flat_routers_know_everything_and_gateways_a_bounded_part() -> None:
    flat, bounded = answer("flat"), answer("bounded")
    everything = CURVE.known(city_sizes(10_000)).sum()
    assert flat.loads["continent"].known == pytest.approx(everything)
    assert flat.loads["city"].known == flat.loads["region"].known
    assert bounded.loads["region"].known < bounded.loads["continent"].known <= 257 * 200
    assert bounded.loads["continent"].changes < flat.loads["continent"].changes
    assert bounded.loads["city"].matches == pytest.approx(flat.loads["city"].matches)


def test_the_more_the_busiest_city_has_the_more_its_gateway_knows() -> None:
    known = [answer("bounded", 10**each).loads["city"].known for each in (5, 6, 7)]
    assert known[1] > 1.3 * known[0]
    assert known[2] > 1.3 * known[1]


def test_what_floods_would_send_is_spared_in_bytes() -> None:
    found = answer("flat")
    published = 1000 / PUBLISH_S
    for level, count in (("city", 1000), ("region", 50)):
        travel = found.travel[level]
        assert travel.flooded == pytest.approx(published * count * MESSAGE_BYTES)
        assert 0 < travel.sent < travel.flooded
        assert travel.spared == travel.flooded - travel.sent
    assert set(found.travel) == {"city", "region"}, "continents have nothing above them"


def test_a_publication_reaches_the_more_cities_the_more_want_it() -> None:
    few, many = answer("flat", 1000).travel["city"].sent, answer("flat", 10**6).travel["city"].sent
    assert few < many
    assert reached(np.array([0.0, 1e-9, 1.0, 1e6])) == pytest.approx(
        [0.0, 5e-10, 0.367_879, 1.0], abs=1e-5
    )


def test_costs_follow_from_changes_and_matches() -> None:
    load = answer("bounded").loads["city"]
    assert load.cores == pytest.approx(load.changes * 1e-4 + load.matches * 1e-6)
    assert load.memory_mib == pytest.approx(load.known * 1000 / 2**20)


def test_a_city_declares_less_the_more_its_subscribers_share() -> None:
    found = simulate(200, seed=3)
    together, elsewhere = found.together, found.elsewhere
    assert together.keys["distinct"] < found.declared <= DEFAULT_MAX_CELLS * 200
    assert together.keys["bounded"] <= BOUNDS["bounded"]
    for way in WAYS:
        assert found.wanted <= together.let_through[way] <= 1, "nothing that is wanted is missed"
        assert elsewhere.let_through[way] < together.let_through[way]
        assert found.changes[way] <= found.own_changes + 1
    assert sum(each.an_area for each in found.levels) == pytest.approx(found.declared / 200)
    assert sum(each.a_move for each in found.levels) == pytest.approx(found.own_changes)


def test_in_a_sparse_city_a_part_is_wanted() -> None:
    found = simulate(60, seed=3, setting=SPARSE)
    assert 0.2 < found.wanted < 0.8
    assert 0.1 < found.elsewhere.let_through["distinct"] < 0.5


def test_stored_figures_are_read_back() -> None:
    found = simulate(20, seed=1)
    assert CityFigures.read(json.loads(json.dumps(asdict(found)))) == found


def test_who_moves_declares_the_more_often_the_smaller_the_margin() -> None:
    (rates,) = movement_of(None, None).values()
    assert rates["75"] > rates["250"] > rates["500"] > rates["1250"] > 0


def network(scale: float) -> dict[str, float]:
    figures = {"sent": 3000.0, "expected": 900.0, "received": 900.0, "anybody": 0.5 * scale,
               "leaves": 0.5 * scale, "moves": 15.0}  # fmt: skip
    names = ("keys", "changes", "matches", "change_cpu_s", "match_cpu_s", "bytes")
    return figures | {
        f"{level}_{name}": 1e3 * scale for level in ("city", "region") for name in names
    }


ROUTER = {"declare_s": 2e-3, "declare_cpu_s": 1e-4, "bytes_a_key": 5000.0,
          "match_cpu_s": 5e-6, "p50_us": 100.0, "p99_us": 300.0}  # fmt: skip
FIGURES = {
    "router": ROUTER,
    "movement": {"walks": {"75": 200.0, "250": 70.0, "500": 30.0, "1250": 10.0}},
    "network": {"flat": network(1.0), "bounded": network(2.0)},
    **dict.fromkeys(("index", "broker", "store", "lake"), dict.fromkeys(
        ("add_us", "move_us", "ask_us", "ask_p99_us", "hits", "bytes_each", "memory_bytes",
         "files", "left", "connections", "publish_cpu_us"), 1e6,
    )),
}  # fmt: skip


def run(folder: Path, plan: ScalePlan, **others: dict[str, Any]) -> Results:
    """Results of a plan, all of whose cases gave these figures."""
    results = Results(folder)
    results.begin("scale", plan)
    for case in plan.cases():
        figures = {
            **FIGURES,
            "city": asdict(city(case.size, 0.5)),
            "sparse": asdict(city(case.size, 0.5)),
            **others,
        }[case.part]
        results.add(case, Outcome(figures))
    return results


def test_the_page_shows_limits_and_verdicts(tmp_path: Path) -> None:
    results = run(tmp_path, ScalePlan(5, (100, 1000), (10, 50), (10, 50), (5,)))
    page = EXPERIMENT.report(results, tmp_path).read_text()
    assert "| 10,000,000 * | flat |" in page
    assert "from 303 subscribers on" in page
    assert "| flat | more than a core |" in page
    assert (
        "| publications that come through | wanted by anybody | flat | 5 | 25.0 % | 50.0 % |"
        in page
    )
    assert "| 100,000,000 | 1,000,000 | 1,000,000 | 1e+03 ms |" in page
    assert "| subscriptions of one broker |" in page
    for name in ("router", "world", "growth"):
        assert (tmp_path / f"scale-{name}.png").stat().st_size > 10_000
    told = {each.claim.text: each.words for each in judge(EXPERIMENT.claims(results))}
    exact = "5 subscribers a city: what arrives is what is declared lets through, within 1 %"
    assert told[exact] == "holds"
    share = "publications that come through: the model is at most 15 % off, at every size and place"
    assert told[f"flat: {share}"] == told[f"bounded: {share}"] == "does not hold"


def test_a_network_without_simulated_cities_has_a_page_without_the_model(tmp_path: Path) -> None:
    results = run(tmp_path, ScalePlan(5, network=(5,), parts=("network",)))
    page = EXPERIMENT.report(results, tmp_path).read_text()
    assert "| 5 | bounded | 15,000 | 4,500 | 4,500 |" in page
    assert "cannot be told" in page


def test_networks_of_before_are_still_read(tmp_path: Path) -> None:
    before = {"sent": 1500, "expected": 900, "received": 900, "keys": 60}
    results = run(tmp_path, ScalePlan(5, network=(5,), parts=("network",)), network=before)
    assert (
        "| 5 | union | 7,500 | 4,500 | 4,500 |" in EXPERIMENT.report(results, tmp_path).read_text()
    )


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
    plan = ScalePlan(1, (100, 200), (10, 20), (10, 20), (5,), (100,), (100,), (100_000,))
    assert run_trial("scale", ScaleTrial(plan), Results(tmp_path)) == []
    assert len(Results(tmp_path).records()) == 12
    assert ScaleCase("router", 100).name == "router-000000100-0"
