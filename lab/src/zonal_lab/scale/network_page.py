"""What the model said of a small real network, and what was measured there."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from zonal_lab.experiment import table
from zonal_lab.scale.city import SPARSE
from zonal_lab.scale.small_network import CITIES, MESSAGES, NETWORKS, TIMES, moves_of
from zonal_lab.scale.world import World, predict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zonal_lab.scale.samples import Measured


class Compared(NamedTuple):
    """A number of a network that the model predicts.

    Attributes:
        quantity: which, as `QUANTITIES` has it.
        place: where: at the busiest router of a level, or in the whole network.
        predicted: by the model.
        measured: of each round.
    """

    quantity: str
    place: str
    predicted: float
    measured: list[float]


QUANTITIES = {
    "share": "publications that come through",
    "keys": "keys in a router's table",
    "changes": "declarations and their ends that a router is told",
    "publications": "publications that a router passes",
    "processor": "a router's processor time",
    "memory": "memory of a router's table",
}


def compared(found: Measured, subscribers: int, design: str) -> list[Compared]:
    """Model and measurement of a network; nothing that was not measured or cannot be predicted.

    A `LookupError` where no sparse city was simulated.
    """
    rows = [each[design] for each in found.networks.get(subscribers, []) if design in each]
    if not rows:
        return []
    curve, way = found.sparse_curve(), "distinct" if design == "flat" else design
    sizes = np.full(CITIES, float(subscribers))
    world = World(
        sizes,
        publications=np.full(CITIES, float(TIMES * MESSAGES)),
        moves=np.full(CITIES, float(moves_of(subscribers))),
        away=SPARSE.away,
        regions=1,
        continents=1,
    )
    said = predict(world, design, curve, found.costs_or_nothing)

    def measured(name: str) -> list[float]:
        return [each[name] for each in rows]

    lines = [
        Compared("share", "wanted by anybody", float(curve.stays(sizes, "distinct")[0]),
                 measured("anybody")),
        Compared("share", "leaving its city", float(curve.leaves(sizes, way)[0]),
                 measured("leaves")),
    ]  # fmt: skip
    for level, load in said.loads.items():
        cpu = [each[f"{level}_change_cpu_s"] + each[f"{level}_match_cpu_s"] for each in rows]
        lines += [
            Compared("keys", level, load.known, measured(f"{level}_keys")),
            Compared("changes", level, load.changes, measured(f"{level}_changes")),
            Compared("publications", level, load.matches, measured(f"{level}_matches")),
        ]
        if found.router:
            lines += [
                Compared("processor", level, load.cores, cpu),
                Compared(
                    "memory", level, load.memory_mib,
                    [each / 2**20 for each in measured(f"{level}_bytes")],
                ),
            ]  # fmt: skip
    return lines


def network_lines(found: Measured) -> Iterator[str]:
    """The section on real networks."""
    yield "## The model beside a real network"
    yield ""
    yield (
        f"{CITIES} city routers and a region's, real processes; cities are sparse, and "
        f"{SPARSE.away:.0%} of those who want what happens in one live in another. *Flat*: the "
        "routers are linked, and each client declares the cells of its area. *Bounded*: a gateway "
        "stands between a city's router and the region's. *Union*: the routers are linked, and one "
        "client of a city declares its union. *Expected*: what is declared lets through to whoever "
        "wants it."
    )
    yield ""
    yield from table(
        ("subscribers a city", "design", "sent", "expected", "received"),
        (
            (
                f"{size:,}",
                design,
                *(f"{sum(each[design][name] for each in rows):,.0f}"
                  for name in ("sent", "expected", "received")),
            )
            for size, rows in sorted(found.networks.items())
            for design in rows[0]
        ),
        right=2,
    )  # fmt: skip
    if found.sparse:
        yield from _beside(found)


def _beside(found: Measured) -> Iterator[str]:
    yield (
        f"Up to {moves_of(10**6)} subscribers of each city leave their margin, then "
        f"{TIMES * MESSAGES:,} messages are published from all over each. The model is the one "
        "above, told of three equal cities and one region; its cities are others of the same "
        "kind, its costs those measured below. Keys are counted in the routers' admin space. Means "
        "of the rounds; of the cities' routers their mean. *Error*: of the model."
    )
    yield ""
    yield from table(
        ("what", "where", "design", "subscribers a city", "model", "measured", "error"),
        (
            (
                QUANTITIES[each.quantity],
                each.place,
                design,
                f"{size:,}",
                _written(each.quantity, each.predicted),
                _written(each.quantity, fmean(each.measured)),
                _error(each.predicted, fmean(each.measured)),
            )
            for quantity in QUANTITIES
            for design in NETWORKS
            for size in sorted(found.networks)
            for each in compared(found, size, design)
            if each.quantity == quantity
        ),
        right=3,
    )


def _error(predicted: float, measured: float) -> str:
    return f"{100 * (predicted / measured - 1):+.0f} %".replace("-", "−") if measured else "–"


def _written(quantity: str, value: float) -> str:
    match quantity:
        case "share":
            return f"{100 * value:.1f} %"
        case "processor":
            return f"{value:.2f} s"
        case "memory":
            return f"{value:.1f} MiB"
        case _:
            return f"{value:,.0f}"
