"""Pictures of peers: how many times ours each figure of theirs is."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from zonal_lab.experiment import COLOURS, new_figure, panels, save_figure
from zonal_lab.peers.plan import NAMES
from zonal_lab.peers.samples import METRICS, OURS

if TYPE_CHECKING:
    from pathlib import Path

    from zonal_lab.peers.samples import Compared


def draw_ratios(found: Compared, work: str, path: Path) -> None:
    """A row a figure, a point a system: to the right of the line it is better than ours."""
    systems = [each for each in found.systems(work) if each != OURS]
    metrics = [
        each
        for each in METRICS
        if each.work == work and any(found.ratios(each, system) for system in systems)
    ]
    figure = new_figure(10, 1.2 + 0.3 * len(metrics))
    (axes,) = panels(figure, 1, 1)
    for number, system in enumerate(systems):
        points = []
        for row, metric in enumerate(metrics):
            if ratios := found.ratios(metric, system):
                times = median(ratios)
                points.append((times if metric.more else 1 / max(times, 1e-9), row))
        shift = 0.5 * (number / (len(systems) - 1) - 0.5) if len(systems) > 1 else 0.0
        axes.plot(
            [x for x, _ in points],
            [y + shift for _, y in points],
            "o",
            markersize=5,
            label=NAMES[system],
        )
    axes.axvline(1, color=COLOURS["ours"], linewidth=1)
    axes.set_xscale("log")
    axes.set_yticks(range(len(metrics)), [each.title for each in metrics])
    axes.set_ylim(max(len(metrics), 1) - 0.5, -0.5)
    axes.set_xlabel("times as good as ours (the line), median of the rounds")
    if systems:
        figure.legend(fontsize=8, loc="outside right upper")
    save_figure(figure, path)
