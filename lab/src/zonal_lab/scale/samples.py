"""The figures of a run, read back: costs of a router, curves of cities, the model's answers."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from zonal_lab.scale.city import RADII_M, SHARES, SPARSE, WORLD, Declared, Setting
from zonal_lab.scale.city_figures import CityFigures
from zonal_lab.scale.curve import CityCurve
from zonal_lab.scale.occupancy import mean_levels
from zonal_lab.scale.world import DESIGNS, Costs, Prediction, earth, predict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zonal_lab.experiment import Results

    Cities = dict[int, list[CityFigures]]


@dataclass(frozen=True)
class Measured:
    """Everything that was measured."""

    router: dict[int, dict[str, float]]
    """By keys that the router knew."""
    movement: dict[str, dict[str, float]]
    cities: Cities
    """By subscribers, a round each."""
    networks: dict[int, list[dict[str, dict[str, float]]]]
    """By subscribers of a city, a round each, by design."""
    growth: dict[str, dict[int, dict[str, float]]]
    """Of index, broker, store and lake, by their size."""
    sparse: Cities = field(default_factory=dict)
    """Cities like those of the networks."""

    @property
    def an_hour(self) -> float:
        """How often who is under way declares anew: the mean of all kinds and radii."""
        shares = dict(zip((f"{radius / 4:g}" for radius in RADII_M), SHARES, strict=True))
        return fmean(
            sum(share * kind[margin] for margin, share in shares.items())
            for kind in self.movement.values()
        )

    def cost_s(self, name: str, known: float) -> float:
        """A cost of the router at so many keys, on a straight line between logarithms.

        Beyond what was measured it grows as between the last two points.
        """
        sizes = np.array(sorted(self.router), dtype=np.float64)
        values = np.array([max(self.router[int(each)][name], 1e-9) for each in sizes])
        x, xs, ys = np.log(max(known, 1.0)), np.log(sizes), np.log(values)
        if x <= xs[-1] or len(xs) < 2:
            return float(np.exp(np.interp(x, xs, ys)))
        slope = max((ys[-1] - ys[-2]) / (xs[-1] - xs[-2]), 0.0)
        return float(np.exp(ys[-1] + slope * (x - xs[-1])))

    @property
    def costs(self) -> Costs:
        """What a router needs; a `LookupError` where none was measured."""
        if not self.router:
            raise LookupError("no router was measured")
        return Costs(
            lambda known: self.cost_s("declare_cpu_s", known),
            lambda known: self.cost_s("match_cpu_s", known),
            fmean(each["bytes_a_key"] for each in self.router.values()),
        )

    @property
    def costs_or_nothing(self) -> Costs:
        """… that nothing costs, where none was measured: tables and flows need no costs."""
        return self.costs if self.router else Costs(lambda _: 0.0, lambda _: 0.0, 0.0)

    def curve(self, number: int | None = None) -> CityCurve:
        """The figures of cities: of one round, or of all."""
        return _curve(self.cities, WORLD, number)

    def sparse_curve(self) -> CityCurve:
        """… of those like the networks'."""
        return _curve(self.sparse, SPARSE, None)

    def held_out(self, number: int) -> tuple[float, float]:
        """Different keys of a round's largest city: by the law of smaller ones, and as simulated.

        There must be two sizes of cities at least.
        """
        largest = max(self.cities)
        smaller = {size: rows for size, rows in self.cities.items() if size != largest}
        known = _curve(smaller, WORLD, None).known(np.array([float(largest)]))
        return float(known[0]), self.cities[largest][number].together.keys["distinct"]

    def predictions(self, plan: dict[str, Any]) -> list[Prediction]:
        """The model's answers for every number of subscribers and design."""
        return [
            self.predicted(plan, subscribers, design)
            for design in DESIGNS
            for subscribers in plan["world"]
        ]

    def predicted(
        self, plan: dict[str, Any], subscribers: int, design: str, number: int | None = None
    ) -> Prediction:
        """The model's answer by the cities of one round, or of all."""
        world = earth(subscribers, plan["publishers"], self.an_hour)
        return predict(world, design, self.curve(number), self.costs)


def _curve(cities: Cities, setting: Setting, number: int | None) -> CityCurve:
    """One of one round, or of all; a `LookupError` where no city was simulated."""
    rows = {
        size: [each for at, each in enumerate(rounds) if number in {None, at}]
        for size, rounds in cities.items()
    }
    means = [_mean(each) for each in rows.values() if each]
    if not means:
        raise LookupError("no city was simulated")
    return CityCurve(means, setting)


def _mean(rows: Sequence[CityFigures]) -> CityFigures:
    def mean_of(values: Sequence[dict[str, float]]) -> dict[str, float]:
        return {key: fmean(each[key] for each in values) for key in values[0]}

    def declared(values: Sequence[Declared]) -> Declared:
        return Declared(
            mean_of([each.keys for each in values]), mean_of([each.let_through for each in values])
        )

    return CityFigures(
        rows[0].subscribers,
        fmean(each.declared for each in rows),
        fmean(each.wanted for each in rows),
        declared([each.together for each in rows]),
        declared([each.elsewhere for each in rows]),
        fmean(each.own_changes for each in rows),
        mean_of([each.changes for each in rows]),
        mean_levels([each.levels for each in rows]),
    )


def read_measured(results: Results) -> Measured:
    """What a run measured so far."""
    router: dict[int, dict[str, float]] = {}
    movement: dict[str, dict[str, float]] = {}
    cities: dict[str, Cities] = {"city": defaultdict(list), "sparse": defaultdict(list)}
    networks: dict[int, list[dict[str, dict[str, float]]]] = defaultdict(list)
    growth: dict[str, dict[int, dict[str, float]]] = defaultdict(dict)
    for record in results.records():
        part, size = record.case["part"], record.case["size"]
        if part == "router":
            router[size] = record.figures
        elif part == "movement":
            movement = record.figures
        elif part in cities:
            cities[part][size].append(CityFigures.read(record.figures))
        elif part == "network":
            networks[size].append(_by_design(record.figures))
        else:
            growth[part][size] = record.figures
    return Measured(
        router, movement, dict(cities["city"]), dict(networks), dict(growth),
        dict(cities["sparse"]),
    )  # fmt: skip


def _by_design(figures: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Runs of before had one design: linked routers, a union for each city."""
    return figures if "flat" in figures else {"union": figures}
