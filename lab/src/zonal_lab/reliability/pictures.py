"""Losses and round trips of bursts (Barón 2024, figures 5.9 and 5.10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from zonal_lab.experiment import COLOURS, new_figure, panels, save_figure
from zonal_lab.reliability.plan import TITLES, TRANSPORTS

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from zonal_lab.reliability.plan import ReliabilityCase
    from zonal_lab.reliability.samples import Figures

_COLOURS = {name: COLOURS["ours" if name == "session" else name] for name in TITLES}


def draw_bursts(bursts: Figures, path: Path) -> None:
    """Losses above, round trips below; TCP left, UDP right, of those that were run."""
    there = [each for each in TRANSPORTS if any(case.transport == each for case in bursts)]
    figure = new_figure(6.5 * len(there), 7)
    axes = panels(figure, 2, len(there))
    for column, transport in enumerate(there):
        mine = sorted((c for c in bursts if c.transport == transport), key=lambda c: c.name)
        _draw_losses(axes[column], mine, bursts)
        _draw_round_trips(axes[len(there) + column], mine, bursts)
        axes[column].set_title(transport.upper(), fontsize=10)
    save_figure(figure, path)


def _draw_losses(axis: Axes, cases: list[ReliabilityCase], found: Figures) -> None:
    for place, case in enumerate(cases):
        lost = [100 * each for each in found[case].lost]
        axis.bar(place, float(np.mean(lost)), color=_COLOURS[case.stack], alpha=0.6)
        axis.plot([place] * len(lost), lost, ".", color="black", ms=3)
    axis.set_ylabel("lost (%)")
    axis.set_xticks([])


def _draw_round_trips(axis: Axes, cases: list[ReliabilityCase], found: Figures) -> None:
    for place, case in enumerate(cases):
        spread = found[case].round_trips
        if spread is not None:
            axis.plot([place, place], [spread.p0_5, spread.p99_5], color="black", lw=0.8)
            colour = _COLOURS[case.stack]
            axis.bar(place, spread.p75 - spread.p25, bottom=spread.p25, color=colour)
            axis.plot(place, spread.median, "_", color="black", ms=9)
    labels = [f"{c.size} B {c.guarantees}" for c in cases]
    axis.set_xticks(range(len(cases)), labels, rotation=90, fontsize=6)
    axis.set_yscale("log")
    axis.set_ylabel("round trip (ms)")
    for stack, colour in _COLOURS.items():
        if any(case.stack == stack for case in cases):
            axis.plot([], [], "s", color=colour, label=TITLES[stack])
    axis.legend(fontsize=7)
