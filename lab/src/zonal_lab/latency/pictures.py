"""Box plots of round trips, drawn as Barón 2024 draws them (figures 5.3 to 5.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt

from zonal_lab.latency.scenarios import SCENARIOS
from zonal_lab.latency.summary import THEIRS

if TYPE_CHECKING:
    from pathlib import Path

    from zonal_lab.latency.summary import EchoSummary

COLOURS = {"zenoh": "#1f77b4", "session": "#d62728", "mqtt": "#7f7f7f", "broker": "#ff7f0e"}


def draw_scenario(summary: EchoSummary, scenario: str, path: Path) -> None:
    """Quartiles, median, mean (circle), whiskers over 99 % of the echoes; × is Barón 2024."""
    rows = summary.stacks(scenario)
    figure, axis = plt.subplots(figsize=(max(5.0, 1.05 * len(rows)), 4.2), layout="constrained")
    boxes = [
        {
            "med": row.median,
            "q1": row.quartiles[0],
            "q3": row.quartiles[1],
            "whislo": row.range99[0],
            "whishi": row.range99[1],
            "mean": row.mean,
            "fliers": [],
        }
        for row in rows
    ]
    mean = {"marker": "o", "markerfacecolor": "white", "markeredgecolor": "black", "markersize": 5}
    drawn = axis.bxp(boxes, showmeans=True, meanprops=mean, patch_artist=True, widths=0.6)
    for row, box, line in zip(rows, drawn["boxes"], drawn["medians"], strict=True):
        box.set_facecolor(COLOURS[row.stack.partition("-")[0]])
        box.set_alpha(0.55)
        line.set_color("black")
    known = [(at, THEIRS[key]) for at, row in enumerate(rows, 1)
             if (key := (scenario, row.stack)) in THEIRS]  # fmt: skip
    axis.plot(*zip(*known, strict=True), "x", color="black", ms=7, label="thesis, median")
    axis.set_xticks(range(1, len(rows) + 1), [row.stack.replace("-", "\n", 1) for row in rows])
    axis.tick_params(axis="x", labelsize=8)
    axis.set_yscale("log")
    axis.set_ylabel("round trip (ms)")
    axis.set_title(f"{SCENARIOS[scenario].sign}: {SCENARIOS[scenario].title}", fontsize=10)
    axis.legend(fontsize=8, loc="upper left")
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)
    plt.close(figure)
