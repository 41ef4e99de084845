"""Our own figures for large networks, as functions of what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal_lab.experiment import OURS, Claim, Unit, change
from zonal_lab.scale.network_page import QUANTITIES, compared
from zonal_lab.scale.samples import read_measured
from zonal_lab.scale.small_network import NETWORKS
from zonal_lab.scale.world import LEVELS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from zonal_lab.experiment import Draw, Results
    from zonal_lab.scale.network_page import Compared
    from zonal_lab.scale.samples import Measured

_MANY = 1_000_000
_CORES = 1.0
_HELD_OUT = 15.0
APART = {
    "share": 15.0,
    "keys": 15.0,
    "changes": 25.0,
    "publications": 15.0,
    "processor": 50.0,
    "memory": 50.0,
}
"""How far the model may be from a real network, in per cent, at any size and place."""


def claims(results: Results) -> Iterator[Claim]:
    """Whether the model predicts a real network, and what it says for millions."""
    found, plan = read_measured(results), results.manifest()["plan"]
    yield from _arrivals(found, plan["network"])
    yield from _predictions(found, plan["network"])
    yield _law(found)
    yield from _cores(found, plan)


def _arrivals(found: Measured, sizes: Sequence[int]) -> Iterator[Claim]:
    for size in sizes:
        rows = found.networks.get(size, [])
        yield Claim(
            OURS, "scale, a real network",
            f"{size} subscribers a city: what arrives is what is declared lets through, within 1 %",
            "", Unit.CHANGE,
            lambda draw, r=rows: change(draw(_summed(r, "received")),  # type: ignore[misc] # its own
                                        draw(_summed(r, "expected"))),
            least=-1, most=1,
        )  # fmt: skip


def _summed(rows: list[dict[str, dict[str, float]]], name: str) -> list[float]:
    return [sum(design[name] for design in each.values()) for each in rows]


def _predictions(found: Measured, sizes: Sequence[int]) -> Iterator[Claim]:
    for design in NETWORKS:
        sides = [each for n in sizes for each in compared(found, n, design)] if found.sparse else []
        for quantity, most in APART.items():
            mine = [each for each in sides if each.quantity == quantity]
            yield Claim(
                OURS, "scale, the model beside a real network",
                f"{design}: {QUANTITIES[quantity]}: the model is at most {most:g} % off, at every "
                "size and place", "", Unit.SHARE,
                lambda draw, m=mine: _furthest(draw, m),  # type: ignore[misc] # its own
                most=most,
            )  # fmt: skip


def _furthest(draw: Draw, sides: list[Compared]) -> float:
    """By how much per cent the model is off where it is off most."""
    if not sides:
        raise LookupError("nothing was measured, or nothing is there to predict it")
    return max(abs(change(each.predicted, draw(each.measured))) for each in sides)


def _cores(found: Measured, plan: dict[str, Any]) -> Iterator[Claim]:
    whole = found.router and found.movement and found.cities
    rounds = range(max(map(len, found.cities.values()))) if whole else ()
    for design in ("flat", "bounded"):
        loads = [found.predicted(plan, _MANY, design, number).loads for number in rounds]
        for level in LEVELS:
            cores = [each[level].cores for each in loads]
            yield Claim(
                OURS, "scale, by the model",
                f"10⁶ subscribers, 10⁶ publishers, {design}: the busiest {level} router needs less "
                "than one core", "", Unit.TIMES,
                lambda draw, c=cores: draw(c),  # type: ignore[misc] # its own
                most=_CORES,
            )  # fmt: skip


def _law(found: Measured) -> Claim:
    """The law is told of smaller cities than the one that it predicts."""
    rounds = len(found.cities[max(found.cities)]) if len(found.cities) > 1 else 0
    pairs = [found.held_out(number) for number in range(rounds)]
    return Claim(
        OURS, "scale, the law of occupancy",
        "different keys of the largest simulated city, by the law and the smaller ones: at most "
        f"{_HELD_OUT:g} % off", "", Unit.CHANGE,
        lambda draw: change(draw([law for law, _ in pairs]), draw([keys for _, keys in pairs])),
        least=-_HELD_OUT, most=_HELD_OUT,
    )  # fmt: skip
