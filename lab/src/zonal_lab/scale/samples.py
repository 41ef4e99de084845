"""The figures of a run, read back: costs of a router, curves of cities, the model's answers."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from zonal_lab.scale.city import RADII_M, SHARES, CityFigures
from zonal_lab.scale.world import DESIGNS, CityCurve, Prediction, predict

if TYPE_CHECKING:
    from zonal_lab.experiment import Results


@dataclass(frozen=True)
class Measured:
    """Everything that was measured."""

    router: dict[int, dict[str, float]]
    """By keys that the router knew."""
    movement: dict[str, dict[str, float]]
    cities: dict[int, list[CityFigures]]
    """By subscribers, a round each."""
    networks: dict[int, list[dict[str, float]]]
    growth: dict[str, dict[int, dict[str, float]]]
    """Of index, store and lake, by their size."""

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

    def curve(self, number: int | None = None) -> CityCurve:
        """The figures of cities: of one round, or of all."""
        rows = [
            each
            for rounds in self.cities.values()
            for at, each in enumerate(rounds)
            if number in {None, at}
        ]
        by_size: dict[int, list[CityFigures]] = defaultdict(list)
        for row in rows:
            by_size[row.subscribers].append(row)
        return CityCurve([_mean(each) for each in by_size.values()])

    def comes_through(self, subscribers: int) -> float:
        """The share of a city's publications that a bounded union lets through, by the model.

        A `LookupError` where no city was simulated.
        """
        if not self.cities:
            raise LookupError("no city was simulated")
        size = np.array([subscribers], dtype=np.float64)
        return float(self.curve().at(size, lambda city: city.let_through["bounded"])[0])

    def predictions(self, plan: dict[str, Any], number: int | None = None) -> list[Prediction]:
        """The model's answers for every number of subscribers and design."""
        curve = self.curve(number)
        memory = fmean(each["bytes_a_key"] for each in self.router.values())
        return [
            predict(
                subscribers, design,
                publishers=plan["publishers"],
                curve=curve,
                an_hour=self.an_hour,
                cost_of_change_s=lambda known: self.cost_s("declare_cpu_s", known),
                cost_of_match_s=lambda known: self.cost_s("match_cpu_s", known),
                bytes_a_key=memory,
            )
            for design in DESIGNS
            for subscribers in plan["world"]
        ]  # fmt: skip


def _mean(rows: list[CityFigures]) -> CityFigures:
    def mean(values: list[Any]) -> Any:
        if isinstance(values[0], dict):
            return {key: mean([each[key] for each in values]) for key in values[0]}
        return fmean(values)

    fields = {name: mean([vars(row)[name] for row in rows]) for name in vars(rows[0])}
    return CityFigures(**{**fields, "subscribers": rows[0].subscribers})


def read_measured(results: Results) -> Measured:
    """What a run measured so far."""
    router: dict[int, dict[str, float]] = {}
    movement: dict[str, dict[str, float]] = {}
    cities: dict[int, list[CityFigures]] = defaultdict(list)
    networks: dict[int, list[dict[str, float]]] = defaultdict(list)
    growth: dict[str, dict[int, dict[str, float]]] = defaultdict(dict)
    for record in results.records():
        part, size = record.case["part"], record.case["size"]
        if part == "router":
            router[size] = record.figures
        elif part == "movement":
            movement = record.figures
        elif part == "city":
            cities[size].append(CityFigures(**record.figures))
        elif part == "network":
            networks[size].append(record.figures)
        else:
            growth[part][size] = record.figures
    return Measured(router, movement, dict(cities), dict(networks), dict(growth))
