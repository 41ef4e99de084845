"""Our own figures for large networks, as functions of what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal_lab.experiment import OURS, Claim, Unit, change
from zonal_lab.scale.samples import read_measured
from zonal_lab.scale.world import LEVELS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from zonal_lab.experiment import Draw, Results

_APART = 15.0
_CORES = 1.0


def claims(results: Results) -> Iterator[Claim]:
    """Whether the model predicts a real network, and what it says for millions."""
    found, plan = read_measured(results), results.manifest()["plan"]
    rounds = max(map(len, found.cities.values()), default=0)
    for size in plan["network"]:
        rows = found.networks.get(size, [])
        yield Claim(
            OURS, "scale, a real network",
            f"{size} subscribers a city: what arrives is what these areas' union lets through, "
            "within 1 %", "", Unit.CHANGE,
            lambda draw, r=rows: change(draw([each["received"] for each in r]),  # type: ignore[misc] # its own
                                        draw([each["expected"] for each in r])),
            least=-1, most=1,
        )  # fmt: skip
        yield Claim(
            OURS, "scale, a real network",
            f"{size} subscribers a city: the model's share that comes through, of other cities of "
            f"this size, within {_APART:g} %", "", Unit.CHANGE,
            lambda draw, r=rows, n=size: _share_apart(draw, r, found.comes_through(n)),  # type: ignore[misc] # its own
            least=-_APART, most=_APART,
        )  # fmt: skip
    whole = bool(found.router and found.movement and found.cities)
    predicted = [
        each for number in range(rounds if whole else 0) for each in found.predictions(plan, number)
    ]

    def load(design: str, subscribers: int, level: str, name: str) -> Callable[[Draw], float]:
        series = [
            getattr(each.loads[level], name)
            for each in predicted
            if (each.design, each.subscribers) == (design, subscribers)
        ]
        return lambda draw: draw(series)

    for design in ("flat", "bounded"):
        for level in LEVELS:
            yield Claim(
                OURS, "scale, by the model",
                f"10⁶ subscribers, 10⁶ publishers, {design}: the busiest {level} router needs less "
                "than one core", "", Unit.TIMES, load(design, 1_000_000, level, "cores"),
                most=_CORES,
            )  # fmt: skip


def _share_apart(draw: Draw, rows: list[dict[str, float]], predicted: float) -> float:
    return change(predicted, draw([each["received"] / each["sent"] for each in rows]))
